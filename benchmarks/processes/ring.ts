import { sleep } from '../measure.js';
import { RemoteTeam } from '../remote-process.js';
import type { Workbench } from '../workbench.js';
import { grantsWithin, msOf, spanAfter, waitsWithin } from './contended.js';
import type { Pace } from './contended.js';
import { countCommands, flightsOf, handOversOf } from './ring-figures.js';
import type { CommandCount } from './ring-figures.js';
import type { RingDuties } from './ring-process.js';

/** By the end of the warm-up, every process waits and every stream is open. */
const WARM_UP_MS = 500;

/** How long a keeper stays idle before another process asks for its lock. */
const IDLE_MS = 20;

interface BlockPace extends Pace {
  /** How many of the processes take part. */
  readonly processes: number;
  readonly blockMs: number;
  readonly countsCommands?: boolean;
}

/** The figures of a block of contention. */
export interface Contention {
  /** From just before the release call in one process to the grant in another. */
  readonly handOversMs: readonly number[];
  readonly waitsMs: readonly number[];
  readonly grantsEach: readonly number[];
  readonly commands: CommandCount;
}

/** The processes among which the lock goes round. */
export class Ring implements AsyncDisposable {
  readonly #team: RemoteTeam<RingDuties>;

  private constructor(count: number) {
    this.#team = new RemoteTeam(count, new URL('ring-process.ts', import.meta.url));
  }

  static async start(count: number, bench: Workbench): Promise<Ring> {
    const ring = new Ring(count);
    await ring.#team.askAll('connect', [bench.uri, bench.dbName]);
    return ring;
  }

  /** From just before each bare write in one process to its event in another, in ms. */
  async bounce(pace: BlockPace): Promise<readonly number[]> {
    const { processes, holdMs, blockMs } = pace;
    const members = this.#team.members.slice(0, processes);
    await Promise.all(
      members.map((member, self) => member.ask('listen', { self, next: (self + 1) % processes, holdMs })),
    );
    const span = spanAfter(WARM_UP_MS, blockMs);
    const bounced = await Promise.all(
      members.map((member, index) => member.ask('bounce', span, index === 0)),
    );
    return flightsOf(bounced, span);
  }

  async contend(pace: BlockPace): Promise<Contention> {
    const { processes, holdMs, thinkMs, blockMs, countsCommands = false } = pace;
    const span = spanAfter(WARM_UP_MS, blockMs);
    const contended = await this.#team.askAll(
      'contend',
      [span, { holdMs, thinkMs }, countsCommands],
      processes,
    );
    const holdsEach = contended.map(({ holds }) => holds);
    const handOvers = handOversOf(holdsEach, span);
    return {
      handOversMs: handOvers.map(msOf),
      waitsMs: waitsWithin(holdsEach, span),
      grantsEach: grantsWithin(holdsEach, span),
      commands: countCommands(contended, handOvers, span),
    };
  }

  /** The processes take turns at a lock whose seat the previous process keeps; how long each request took, in ms. */
  async takeKept(requests: number, keepMs: number): Promise<readonly number[]> {
    const { members } = this.#team;
    const tookMs: number[] = [];
    for (let turn = 0; turn < members.length + requests; turn += 1) {
      const ms = (await members[turn % members.length]?.ask('takeKept', keepMs)) ?? NaN;
      // The first turn of each process opens its stream, and finds no keeper.
      if (turn >= members.length) tookMs.push(ms);
      await sleep(IDLE_MS);
    }
    await this.#team.askAll('letGo', []);
    return tookMs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#team[Symbol.asyncDispose]();
  }
}
