import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { build } from 'tsup';
import type { Place } from './connections.js';
import type { Duties } from './program.js';
import type { Answer, Order } from './serve.js';

type DutyName = keyof Duties;
type ResultOf<Name extends DutyName> = Awaited<ReturnType<Duties[Name]>>;

const pathOf = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

/** Inside the project, so that the built program finds the packages of the project. */
const BUILT_FOLDER = pathOf('../../.cache/benchmarks/');

/** The libraries that are measured as peers have a folder of their own. */
const PEERS_PACKAGES = pathOf('../peers/node_modules');

/**
 * Builds the program as the package is built. Processes do not run the sources: the loader of sources names every function
 * again, which takes 350 bytes for each closure of a hold (measured).
 */
async function buildProgram(): Promise<string> {
  await build({
    entry: { program: pathOf('program.ts') },
    format: 'esm',
    target: 'node20',
    outDir: BUILT_FOLDER,
    skipNodeModulesBundle: true,
    config: false,
    silent: true,
  });
  return `${BUILT_FOLDER}program.js`;
}

let built: Promise<string> | undefined;

/** Another process whose functions are called from here, one at a time. It never outlives this process. */
export class RemoteProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  #settle: (answer: Answer) => void = () => undefined;

  private constructor(file: string) {
    const env = { ...process.env, NODE_PATH: PEERS_PACKAGES };
    this.#child = fork(file, { env, execArgv: ['--expose-gc'], serialization: 'advanced' });
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

  static async start(place: Place): Promise<RemoteProcess> {
    built ??= buildProgram();
    const started = new RemoteProcess(await built);
    await started.ask('connect', place);
    return started;
  }

  /** `undefined` if the process could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  async ask<Name extends DutyName>(duty: Name, ...args: Parameters<Duties[Name]>): Promise<ResultOf<Name>> {
    const order: Order = { duty, args };
    const answer = await new Promise<Answer>((resolve) => {
      this.#settle = resolve;
      // The callback takes the error of a channel that is closed already.
      this.#child.send(order, (error) => {
        if (error !== null) resolve({ failure: String(error) });
      });
    });
    if ('failure' in answer) throw new Error(`${duty}: ${answer.failure}`);
    return answer.value as ResultOf<Name>;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.ask('close').catch(() => undefined);
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}

/** Several such processes. */
export class RemoteTeam implements AsyncDisposable {
  readonly members: readonly RemoteProcess[];
  readonly place: Place;

  private constructor(members: readonly RemoteProcess[], place: Place) {
    this.members = members;
    this.place = place;
  }

  static async start(count: number, place: Place): Promise<RemoteTeam> {
    const members = Array.from({ length: count }, () => RemoteProcess.start(place));
    return new RemoteTeam(await Promise.all(members), place);
  }

  /** The answers of all members, or of the first `count` of them. */
  async askAll<Name extends DutyName>(
    duty: Name,
    args: Parameters<Duties[Name]>,
    count?: number,
  ): Promise<readonly ResultOf<Name>[]> {
    return await Promise.all(this.members.slice(0, count).map((member) => member.ask(duty, ...args)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.members.map((member) => member[Symbol.asyncDispose]()));
  }
}
