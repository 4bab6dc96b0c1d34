/**
 * The value of the attribute `error.type`: the `name` of the error, because it has few different values, unlike the
 * message. For a thrown value that is no `Error`, the result of `typeof`.
 */
export const errorTypeOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error);
