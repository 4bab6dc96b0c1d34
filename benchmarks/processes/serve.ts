/** Functions that another process may call, by name. */
type Duties = Readonly<Record<string, (...args: never[]) => Promise<unknown>>>;

export interface Order {
  readonly duty: string;
  readonly args: readonly unknown[];
}

export type Answer = { readonly value: unknown } | { readonly failure: string };

/** Answers the calls of the process that started this one, and ends with it. */
export function serve(duties: Duties): void {
  const answer = async ({ duty, args }: Order): Promise<Answer> => {
    try {
      return { value: await duties[duty]?.(...(args as never[])) };
    } catch (error) {
      return { failure: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    }
  };
  process.on('message', (order) => {
    void answer(order as Order).then((answered) => process.send?.(answered));
  });
  const end = (): never => process.exit(1);
  process.on('disconnect', end);
  if (!process.connected) end();
}
