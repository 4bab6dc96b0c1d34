/** The value of `error.type`: the name of the class, which has few values, unlike the message. */
export const errorTypeOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error);
