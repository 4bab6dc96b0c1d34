import type { MongoClient } from 'mongodb';
import type { Pass } from './floor.js';
import type { Hold, Order, Report, SentCommand, Span } from './handover-messages.js';
import { WorkerProcess, monotonicMs, sleep } from './worker-process.js';
import type { Workbench } from './workbench.js';

/** Before a block is measured, everybody waits and every stream is open. */
const WARM_UP_MS = 500;

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
export interface Bouncing {
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

export interface CommandCount {
  readonly handOvers: number;
  /** Sent between a release call and the grant that followed, on the average. */
  readonly writesBetween: number;
  readonly polls: number;
  readonly perHandOver: string;
}

/** The processes between which the lock goes around. */
export class Ring {
  readonly #members: readonly Member[];
  readonly #observer: MongoClient;

  private constructor(members: readonly Member[], observer: MongoClient) {
    this.#members = members;
    this.#observer = observer;
  }

  static async start(count: number, bench: Workbench): Promise<Ring> {
    const members = Array.from({ length: count }, () => new Member());
    const { uri, dbName } = bench;
    await Promise.all(members.map((member) => member.ask({ type: 'connect', uri, dbName })));
    return new Ring(members, bench.client());
  }

  async bounce(pace: Pace): Promise<Bouncing> {
    const { processes, holdMs } = pace;
    const members = this.#members.slice(0, processes);
    await Promise.all(
      members.map((member, self) =>
        member.ask({ type: 'listen', turns: { self, next: (self + 1) % processes, holdMs } }),
      ),
    );
    const span = spanOf(pace);
    const looking = pace.countsStreams === true ? this.#countStreams(span) : undefined;
    const reports = await Promise.all(
      members.map((member, index) => member.ask({ type: 'bounce', span, begins: index === 0 })),
    );
    const bounced = reports.filter((report) => report.type === 'bounced');
    return { tookMs: flightsOf(bounced, span), streams: await looking };
  }

  async contend(pace: Pace): Promise<Contention> {
    const { processes, holdMs, thinkMs, countsCommands = false } = pace;
    const span = spanOf(pace);
    const looking = pace.countsStreams === true ? this.#countStreams(span) : undefined;
    const reports = await Promise.all(
      this.#members
        .slice(0, processes)
        .map((member) => member.ask({ type: 'contend', span, holdMs, thinkMs, countsCommands })),
    );
    const contended = reports.filter((report) => report.type === 'contended');
    const holdsEach = contended.map(({ holds }) =>
      holds.filter(({ grantedMs }) => isWithin(span, grantedMs)),
    );
    const handOvers = handOversOf(holdsEach);
    return {
      handOversMs: handOvers.map(({ from, to }) => to.grantedMs - from.releasedMs),
      waitsMs: holdsEach.flat().map(({ askedMs, grantedMs }) => grantedMs - askedMs),
      grantsEach: holdsEach.map((holds) => holds.length),
      commands: countCommands(
        contended.flatMap(({ holds }) => holds),
        handOvers,
        contended.flatMap(({ commands }) => commands.filter(({ atMs }) => isWithin(span, atMs))),
      ),
      streams: await looking,
    };
  }

  async end(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.end()));
  }

  /** How many change streams the server has in the middle of a block; `undefined` if it does not tell us. */
  async #countStreams({ fromMs }: Span): Promise<number | undefined> {
    await sleep(fromMs - monotonicMs());
    const cursors = this.#observer
      .db('admin')
      .aggregate([
        { $currentOp: { idleCursors: true, allUsers: true } },
        { $match: { 'cursor.originatingCommand.pipeline.0.$changeStream': { $exists: true } } },
        { $group: { _id: '$cursor.cursorId' } },
      ]);
    return await cursors.toArray().then(
      (found) => found.length,
      () => undefined,
    );
  }
}

/** One process, which is asked one thing at a time. */
class Member {
  readonly #process = new WorkerProcess<Order, Report>(new URL('handover-process.ts', import.meta.url));

  async ask(order: Order): Promise<Report> {
    const answered = new Promise<Report>((resolve) => {
      this.#process.onReport(resolve);
    });
    this.#process.order(order);
    const report = await Promise.race([answered, this.#process.ended]);
    if (!('type' in report)) throw new Error('a process ended before its answer');
    if (report.type === 'failed') throw new Error(report.message);
    return report;
  }

  async end(): Promise<void> {
    await this.ask({ type: 'end' }).catch(() => {
      this.#process.kill();
    });
    await this.#process.ended;
  }
}

function spanOf({ blockMs }: Pace): Span {
  const fromMs = monotonicMs() + WARM_UP_MS;
  return { fromMs, toMs: fromMs + blockMs };
}

const isWithin = ({ fromMs, toMs }: Span, atMs: number): boolean => atMs >= fromMs && atMs < toMs;

interface Bounced {
  readonly passed: readonly Pass[];
  readonly received: readonly Pass[];
}

function flightsOf(bounced: readonly Bounced[], span: Span): readonly number[] {
  const passedAtMs = new Map(
    bounced.flatMap(({ passed }) => passed.map(({ n, atMs }) => [n, atMs] as const)),
  );
  return bounced
    .flatMap(({ received }) => received)
    .filter(({ atMs }) => isWithin(span, atMs))
    .map(({ n, atMs }) => atMs - (passedAtMs.get(n) ?? NaN));
}

interface HandOver {
  readonly from: Hold;
  readonly to: Hold;
}

/** Pairs of holds of different processes, of which the second was waiting when the first ended. */
function handOversOf(holdsEach: readonly (readonly Hold[])[]): readonly HandOver[] {
  const owned = holdsEach.flatMap((holds, owner) => holds.map((hold) => ({ owner, hold })));
  owned.sort((a, b) => a.hold.token - b.hold.token);
  return owned.flatMap(({ owner, hold: to }, index) => {
    const before = owned[index - 1];
    if (before === undefined || before.owner === owner || to.askedMs > before.hold.releasedMs) return [];
    return [{ from: before.hold, to }];
  });
}

const WRITES: ReadonlySet<string> = new Set(['findAndModify', 'insert', 'update', 'delete']);
const READS: ReadonlySet<string> = new Set(['find', 'aggregate']);

function countCommands(
  holds: readonly Hold[],
  handOvers: readonly HandOver[],
  commands: readonly SentCommand[],
): CommandCount {
  const writes = commands.filter(({ name }) => WRITES.has(name));
  const isBetween = ({ from, to }: HandOver, atMs: number): boolean =>
    atMs >= from.releasedMs && atMs < to.grantedMs;
  // A request that happens to come meanwhile is no part of the hand-over.
  const undisturbed = handOvers.filter(
    (handOver) => !holds.some(({ askedMs }) => isBetween(handOver, askedMs)),
  );
  const between = undisturbed.map(
    (handOver) => writes.filter(({ atMs }) => isBetween(handOver, atMs)).length,
  );
  const names = [...new Set(commands.map(({ name }) => name))].sort();
  const perHandOver = names.map((name) => {
    const count = commands.filter((command) => command.name === name).length;
    return `${name} ${(count / handOvers.length).toFixed(2)}`;
  });
  return {
    handOvers: undisturbed.length,
    writesBetween: between.reduce((sum, count) => sum + count, 0) / between.length,
    polls: commands.filter(({ name }) => READS.has(name)).length,
    perHandOver: perHandOver.join(', '),
  };
}
