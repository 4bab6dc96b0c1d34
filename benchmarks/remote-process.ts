import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** The functions of another process, by name. Before the process is killed, `close` ends its connections. */
type Duties = Readonly<Record<string, (...args: never[]) => Promise<unknown>>> & {
  close(): Promise<void>;
};

interface Order {
  readonly duty: string;
  readonly args: readonly unknown[];
}

type Answer = { readonly value: unknown } | { readonly failure: string };

type ResultOf<D extends Duties, Name extends keyof D> = Awaited<ReturnType<D[Name]>>;

const FROM_SOURCES = ['--import', 'tsx'];

/** Another process whose functions are called from here, one at a time. It never outlives this process. */
export class RemoteProcess<D extends Duties> implements AsyncDisposable {
  readonly #child: ChildProcess;
  #settle: (answer: Answer) => void = () => undefined;

  /** @param file - A program that calls {@link serve}. */
  constructor(file: URL, nodeArgs: readonly string[] = FROM_SOURCES) {
    this.#child = fork(file, { execArgv: [...nodeArgs] });
    this.#child.on('message', (answer) => {
      this.#settle(answer as Answer);
    });
    this.#child.on('error', (error) => {
      this.#settle({ failure: String(error) });
    });
    // Its last messages may arrive after its exit; the end of the channel comes after all of them.
    this.#child.on('disconnect', () => {
      this.#settle({ failure: 'the process ended before it answered' });
    });
  }

  async ask<Name extends keyof D & string>(
    duty: Name,
    ...args: Parameters<D[Name]>
  ): Promise<ResultOf<D, Name>> {
    const answer = await new Promise<Answer>((resolve) => {
      this.#settle = resolve;
      // The callback takes the error of a channel that is closed already.
      this.#child.send({ duty, args }, (error) => {
        if (error !== null) resolve({ failure: String(error) });
      });
    });
    if ('failure' in answer) throw new Error(`${duty}: ${answer.failure}`);
    return answer.value as ResultOf<D, Name>;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.ask('close', ...([] as unknown as Parameters<D['close']>)).catch(() => undefined);
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}

/** Several processes of one program. */
export class RemoteTeam<D extends Duties> implements AsyncDisposable {
  readonly members: readonly RemoteProcess<D>[];

  constructor(count: number, file: URL) {
    this.members = Array.from({ length: count }, () => new RemoteProcess<D>(file));
  }

  /** The answers of all members, or of the first `count` of them. */
  async askAll<Name extends keyof D & string>(
    duty: Name,
    args: Parameters<D[Name]>,
    count?: number,
  ): Promise<readonly ResultOf<D, Name>[]> {
    return await Promise.all(this.members.slice(0, count).map((member) => member.ask(duty, ...args)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.members.map((member) => member[Symbol.asyncDispose]()));
  }
}

/** The other end of a {@link RemoteProcess}, in the process itself. */
export function serve(duties: Duties): void {
  const obey = async ({ duty, args }: Order): Promise<Answer> => {
    const work = duties[duty];
    if (work === undefined) throw new Error(`this process does not know ${duty}`);
    return { value: (await work(...(args as never[]))) ?? null };
  };
  process.on('message', (order) => {
    void obey(order as Order)
      .catch((error: unknown): Answer => {
        const failure = error instanceof Error ? (error.stack ?? error.message) : String(error);
        return { failure };
      })
      .then((answer) => process.send?.(answer));
  });
  const end = (): never => process.exit(1);
  process.on('disconnect', end);
  if (!process.connected) end();
}
