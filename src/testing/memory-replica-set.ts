import type { Db } from 'mongodb';
import { systemChance } from '../chance.js';
import { goBy, keepAlive } from '../keep-alive.js';
import { integer, number, wrongType } from '../options/checks.js';
import { simulatedSurroundingsOf } from '../surroundings.js';
import type { Surroundings } from '../surroundings.js';
import { Servers } from './commands/servers.js';
import type { Command } from './commands/command.js';
import type { Deployment } from './driver/deployment.js';
import { SimulatedClient } from './driver/simulated-client.js';
import { History } from './judge/history.js';
import type { StoredDocument, StoredVersion } from './judge/history.js';
import { violationsIn } from './judge/violations.js';
import type { Violation } from './judge/violations.js';
import { MAX_MS, parseKeys, parseSeed, parseStepDown, parseTime } from './memory-options.js';
import type { MemoryReplicaSetOptions, StepDownOptions } from './memory-options.js';
import { SimulatedProcess } from './processes/simulated-process.js';
import { ReplicaSet } from './replica-set/replica-set.js';
import { isApplied } from './replica-set/reply.js';
import type { Reply } from './replica-set/reply.js';
import { RealTime } from './time/real-time.js';
import { SeededChance } from './time/seeded-chance.js';
import type { Time } from './time/time.js';

const SET_NAME = 'memory';

/**
 * A MongoDB replica set of three members in the memory of this process, for tests of code that uses this library. It
 * needs no server and no driver. It knows the commands that the library sends (except those of a transaction). It also
 * knows a few others, such as simple inserts, deletes and drops. Any other command fails with an error that names it.
 *
 * In virtual time, a test decides when time passes, so a test does not wait for timers. Runs with the same seed then
 * have the same effects, if the code under test depends on nothing else that differs between runs.
 *
 * @example
 *   const set = new MemoryReplicaSet({ time: 'virtual', seed: 7 });
 *   const locks = new LockProvider(set.db('app'));
 *   const lock = await locks.createMutex('invoice:42').acquire();
 *   await set.advance(30_000);
 */
export class MemoryReplicaSet {
  /** The seed that repeats this run. */
  readonly seed: number;
  readonly #time: Time;
  readonly #set: ReplicaSet;
  readonly #servers: Servers;
  readonly #history = new History();
  readonly #clients = new Map<Surroundings, SimulatedClient>();
  readonly #deployment: Deployment;
  #repliesToLose = 0;
  #replyDelayMs = 0;

  constructor(options?: MemoryReplicaSetOptions<MemoryReplicaSet>) {
    const { time, seed } = parseKeys(options);
    this.seed = parseSeed(seed, () => systemChance.number());
    this.#time = parseTime(time, this.seed, (set) => (isSet(set) ? set.#time : undefined));
    const chance = new SeededChance(this.seed, 'members');
    this.#set = new ReplicaSet(this.#time, chance, SET_NAME, {
      changed: () => {
        for (const client of this.#clients.values()) client.membersChanged();
      },
      committed: (primary) => {
        this.#history.record(primary);
      },
    });
    this.#servers = new Servers(this.#set, this.#time, SET_NAME);
    this.#deployment = {
      setName: SET_NAME,
      roles: () => this.#set.roles,
      run: (address, command, answer) => {
        this.#servers.run(address, command, answer);
      },
      fateOfReply: (command, reply) => this.#fateOfReply(command, reply),
    };
  }

  /** The time of the set, without the moves of `skewClock`. */
  now(): Date {
    return new Date(Math.floor(this.#time.wallMs()));
  }

  /**
   * A database for one more process. This process has its own client and its own network. `db.client.db(name)` gives
   * another database to the same process.
   *
   * @param name - The name of the database. Default: `test`.
   */
  db(name = 'test'): Db {
    const number = this.#clients.size + 1;
    const seesCollections = this.#time instanceof RealTime;
    const chance = new SeededChance(this.seed, `process ${String(number)}`, seesCollections);
    const process = new SimulatedProcess(this.#time, chance, `simulated:${String(number)}`);
    const client = new SimulatedClient(process, this.#deployment);
    this.#clients.set(process, client);
    goBy(process.over);
    return client.db(name) as unknown as Db;
  }

  /**
   * Lets `ms` milliseconds pass. In virtual time, resolves when everything that falls due in this time has happened, in
   * order. In real time, resolves after `ms` milliseconds. Several calls may overlap: each of them resolves when its
   * own time has passed.
   *
   * @throws RangeError if `ms` is not from 0 to 315,360,000,000 (ten years).
   */
  async advance(ms: number): Promise<void> {
    await this.#time.advance(number('ms', ms, 0, MAX_MS));
  }

  /**
   * A pause of the code under test, for example of a job: resolves when `ms` milliseconds have passed. Unlike
   * `advance`, this call does not let virtual time pass. So in virtual time, the pause ends only when other calls have
   * let these milliseconds pass.
   *
   * With `db`, the pause belongs to the process of this database: while that process stands still (`freeze`), the pause
   * does not end. Without `db`, no `freeze` affects the pause. After `close()` no pause ends.
   *
   * @throws RangeError if `ms` is not from 0 to 315,360,000,000 (ten years).
   * @throws TypeError if the database is not of this set.
   */
  async sleep(ms: number, db?: Db): Promise<void> {
    const checkedMs = number('ms', ms, 0, MAX_MS);
    const clock = db === undefined ? this.#time : this.#clientOf(db).process.clock;
    await keepAlive(
      new Promise<void>((resolve) => {
        clock.at(clock.nowMs() + checkedMs, resolve);
      }),
    );
  }

  /**
   * Resolves when nothing more can happen until time passes. Messages on their way arrive first, except the replies
   * that `delayReplies` delays, and the news that the members have changed, which a client hears after 2 to 31 ms.
   *
   * In virtual time, a call during an `advance` resolves together with that `advance`; during several, with the first
   * of them that ends.
   */
  async settle(): Promise<void> {
    await this.#time.settle();
  }

  /** Stops all members. Connections break, and new ones are refused. */
  stop(): void {
    this.#set.stop();
    this.#servers.disconnectAll();
    for (const client of this.#clients.values()) client.disconnected();
  }

  /** Starts the members again, with everything that they had. If there is no primary, they elect one 200 ms later. */
  start(): void {
    this.#set.start();
  }

  /**
   * Makes the primary step down. The other members elect one of them after `electionMs`. The old primary can be elected
   * again only if fewer than two other members take part. While there is no primary, this call has no effect.
   *
   * @throws TypeError if an option is unknown or has a wrong type.
   * @throws RangeError if `electionMs` is not from 0 to 315,360,000,000 (ten years).
   */
  stepDown(options?: StepDownOptions): void {
    const { electionMs, losesUnacknowledged } = parseStepDown(options);
    if (losesUnacknowledged) this.#set.losePrimary(electionMs);
    else this.#set.stepDown(electionMs);
  }

  /**
   * Moves the clock of the primary by `ms`, added to earlier moves. Each member has its own clock, so a later primary
   * is not affected. While there is no primary, this call moves the clock of the first member.
   *
   * @throws RangeError if `ms` is not from -315,360,000,000 to 315,360,000,000 (ten years).
   */
  skewClock(ms: number): void {
    const member = this.#set.primary ?? this.#set.members[0];
    if (member !== undefined) member.skewMs += number('ms', ms, -MAX_MS, MAX_MS);
  }

  /**
   * From now on every reply takes `ms` milliseconds longer; 0 ends the delay. In virtual time, a delayed reply arrives
   * only if `advance` lets its delay pass.
   *
   * @throws RangeError if `ms` is not from 0 to 315,360,000,000 (ten years).
   */
  delayReplies(ms: number): void {
    this.#replyDelayMs = number('ms', ms, 0, MAX_MS);
  }

  /**
   * Loses the replies to the next `count` writes that are applied. This count replaces that of an earlier call. A write
   * that matches no document counts as applied. A write that is refused is answered and does not count. Builds of
   * indexes do not count either.
   *
   * @throws RangeError if `count` is not an integer from 0 to 2^53 - 1.
   */
  loseReplies(count: number): void {
    this.#repliesToLose = integer('count', count, 0, Number.MAX_SAFE_INTEGER);
  }

  /** Breaks all open change streams. */
  breakStreams(): void {
    this.#servers.breakStreams();
  }

  /**
   * Stops the process of this database: its timers do not fire, and the process reads no message that arrives.
   *
   * @throws TypeError if the database is not of this set.
   */
  freeze(db: Db): void {
    this.#clientOf(db).process.freeze();
  }

  /**
   * Lets the process of this database go on: timers that are due fire, and the process reads the messages that have
   * arrived.
   *
   * @throws TypeError if the database is not of this set.
   */
  thaw(db: Db): void {
    this.#clientOf(db).process.thaw();
  }

  /**
   * Cuts off the process of this database: the process goes on, but reaches no member.
   *
   * @throws TypeError if the database is not of this set.
   */
  cut(db: Db): void {
    this.#clientOf(db).cut();
  }

  /**
   * Lets the process of this database reach the members again.
   *
   * @throws TypeError if the database is not of this set.
   */
  heal(db: Db): void {
    this.#clientOf(db).heal();
  }

  /** Copies of all documents, as a majority has them. */
  documents(): readonly StoredDocument[] {
    return this.#history.documents;
  }

  /**
   * Every version that a majority has had, of every document, in the order in which they were written. The list does
   * not grow: ask for it again after a change.
   */
  get versions(): readonly StoredVersion[] {
    return this.#history.versions;
  }

  /**
   * How many cursors of change streams the members have open. A provider that was never cut off, and is closed while it
   * reaches the members, leaves none open.
   */
  get openCursors(): number {
    return this.#servers.openCursors;
  }

  /** The broken invariants of the locks, judged from all versions; empty if there are none. */
  violations(): readonly Violation[] {
    return violationsIn(this.#history.ownVersions);
  }

  /**
   * Ends the set. All its connections are closed. No timer fires and no message arrives any more, not even in other
   * sets that share its time. A call of the library that still needs a timer or a message never settles. When all sets
   * are closed, such calls do not keep the process of the test alive, unless the test has also made a provider of a
   * real `Db`.
   */
  async close(): Promise<void> {
    this.#servers.disconnectAll();
    await Promise.all([...this.#clients.values()].map((client) => client.close()));
    this.#time.close();
  }

  #clientOf(db: Db): SimulatedClient {
    const surroundings = simulatedSurroundingsOf(db);
    const client = surroundings && this.#clients.get(surroundings);
    if (client === undefined) throw wrongType('db', 'a Db of this MemoryReplicaSet', db);
    return client;
  }

  #fateOfReply({ isWrite, name }: Command, reply: Reply): ReturnType<Deployment['fateOfReply']> {
    const isCounted = isWrite && name !== 'createIndexes' && isApplied(reply);
    const isLost = isCounted && this.#repliesToLose > 0;
    if (isLost) this.#repliesToLose -= 1;
    return { isLost, delayMs: this.#replyDelayMs };
  }
}

const isSet = (value: unknown): value is MemoryReplicaSet => value instanceof MemoryReplicaSet;
