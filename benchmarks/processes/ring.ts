import { RemoteProcess } from '../remote-process.js';
import type { ServerLoad } from '../server-load.js';
import type { Workbench } from '../workbench.js';
import { monotonicMs, sleep } from '../worker-process.js';
import { countCommands, flightsOf, handOversOf } from './ring-figures.js';
import type { CommandCount } from './ring-figures.js';
import type { RingDuties, Span } from './ring-process.js';

/** Before a block is measured, everybody waits and every stream is open. */
const WARM_UP_MS = 500;

/** For so long a keeper is left idle before somebody asks for its lock. */
const IDLE_MS = 20;

export interface Pace {
  /** How many of the processes take part. */
  readonly processes: number;
  readonly holdMs: number;
  readonly thinkMs: number;
  readonly blockMs: number;
  readonly countsCommands?: boolean;
  readonly countsStreams?: boolean;
}

/** What a block of bare turns gave. */
interface Bouncing {
  /** From just before the write in one process to its event in another. */
  readonly tookMs: readonly number[];
  readonly streams: number | undefined;
}

/** What a block of contention gave. */
export interface Contention {
  /** From just before the release call in one process to the grant in another. */
  readonly handOversMs: readonly number[];
  readonly waitsMs: readonly number[];
  readonly grantsEach: readonly number[];
  readonly commands: CommandCount;
  readonly streams: number | undefined;
}

/** The processes between which the lock goes around. */
export class Ring implements AsyncDisposable {
  readonly #members: readonly RemoteProcess<RingDuties>[];
  readonly #load: ServerLoad;

  private constructor(members: readonly RemoteProcess<RingDuties>[], load: ServerLoad) {
    this.#members = members;
    this.#load = load;
  }

  static async start(count: number, bench: Workbench): Promise<Ring> {
    const file = new URL('ring-process.ts', import.meta.url);
    const members = Array.from({ length: count }, () => new RemoteProcess<RingDuties>(file));
    await Promise.all(members.map((member) => member.ask('connect', bench.uri, bench.dbName)));
    return new Ring(members, bench.load);
  }

  async bounce(pace: Pace): Promise<Bouncing> {
    const { processes, holdMs } = pace;
    const members = this.#members.slice(0, processes);
    await Promise.all(
      members.map((member, self) => member.ask('listen', { self, next: (self + 1) % processes, holdMs })),
    );
    const span = spanOf(pace);
    const looking = this.#lookAtStreams(pace, span);
    const bounced = await Promise.all(
      members.map((member, index) => member.ask('bounce', span, index === 0)),
    );
    return { tookMs: flightsOf(bounced, span), streams: await looking };
  }

  async contend(pace: Pace): Promise<Contention> {
    const { processes, holdMs, thinkMs, countsCommands = false } = pace;
    const span = spanOf(pace);
    const looking = this.#lookAtStreams(pace, span);
    const contended = await Promise.all(
      this.#members
        .slice(0, processes)
        .map((member) => member.ask('contend', { span, holdMs, thinkMs, countsCommands })),
    );
    const { handOvers, holdsEach } = handOversOf(contended, span);
    return {
      handOversMs: handOvers.map(({ from, to }) => to.grantedMs - from.releasedMs),
      waitsMs: holdsEach.flat().map(({ askedMs, grantedMs }) => grantedMs - askedMs),
      grantsEach: holdsEach.map((holds) => holds.length),
      commands: countCommands(contended, handOvers, span),
      streams: await looking,
    };
  }

  /** The processes take turns at a lock that the one before keeps; how long each request took, in ms. */
  async takeKept(requests: number, keepMs: number): Promise<readonly number[]> {
    const tookMs: number[] = [];
    for (let request = -this.#members.length; request < requests; request += 1) {
      const member = this.#members[(request + this.#members.length) % this.#members.length];
      const ms = (await member?.ask('takeKept', keepMs)) ?? NaN;
      // The first turn of each opens its stream, and finds nobody who keeps the lock.
      if (request >= 0) tookMs.push(ms);
      await sleep(IDLE_MS);
    }
    await Promise.all(this.#members.map((member) => member.ask('letGo')));
    return tookMs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#members.map((member) => member.ask('disconnect')));
    await Promise.all(this.#members.map((member) => member.end()));
  }

  /** In the middle of a block. */
  async #lookAtStreams({ countsStreams }: Pace, { fromMs }: Span): Promise<number | undefined> {
    if (countsStreams !== true) return undefined;
    await sleep(fromMs - monotonicMs());
    return await this.#load.countStreams();
  }
}

function spanOf({ blockMs }: Pace): Span {
  const fromMs = monotonicMs() + WARM_UP_MS;
  return { fromMs, toMs: fromMs + blockMs };
}
