import { ParentProcess, WorkerProcess } from './worker-process.js';

/** What a process of ours can be asked to do, by name. */
type Duties = Readonly<Record<string, (...args: never[]) => Promise<unknown>>>;

interface Order {
  readonly duty: string;
  readonly args: readonly unknown[];
}

type Answer = { readonly value: unknown } | { readonly failure: string };

/** A process of our own whose functions are called from here, one at a time. It is killed in the end. */
export class RemoteProcess<D extends Duties> implements AsyncDisposable {
  readonly #process: WorkerProcess<Order, Answer>;

  /** @param file - Which calls `serve`. */
  constructor(file: URL, nodeArgs?: readonly string[]) {
    this.#process = new WorkerProcess<Order, Answer>(file, [], nodeArgs);
  }

  async ask<Name extends keyof D & string>(
    duty: Name,
    ...args: Parameters<D[Name]>
  ): Promise<Awaited<ReturnType<D[Name]>>> {
    const answered = new Promise<Answer>((resolve) => {
      this.#process.onReport(resolve);
    });
    this.#process.order({ duty, args });
    const answer = await Promise.race([answered, this.#process.ended]);
    if ('value' in answer) return answer.value as Awaited<ReturnType<D[Name]>>;
    if ('failure' in answer) throw new Error(answer.failure);
    throw new Error(`a process ended before it had answered ${duty}`);
  }

  async end(): Promise<void> {
    this.#process.kill();
    await this.#process.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }
}

/** The other end of a {@link RemoteProcess}, in the process itself. */
export function serve(duties: Duties): void {
  const obey = async ({ duty, args }: Order): Promise<Answer> => {
    const work = duties[duty];
    if (work === undefined) throw new Error(`this process does not know ${duty}`);
    return { value: (await work(...(args as never[]))) ?? null };
  };
  const parent = new ParentProcess<Order, Answer>((order) => {
    obey(order).then(
      (answer) => {
        parent.report(answer);
      },
      (error: unknown) => {
        const failure = error instanceof Error ? (error.stack ?? error.message) : String(error);
        parent.report({ failure });
      },
    );
  });
}
