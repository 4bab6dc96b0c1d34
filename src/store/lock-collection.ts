import type { ChangeStream, ClientSession, Db, Document } from 'mongodb';
import { momentNow } from '../clock.js';
import type { Clock } from '../clock.js';
import { UnsupportedServerError } from '../errors.js';
import type { Report } from '../events.js';
import type { Settings } from '../options/provider-options.js';
import type { Fields, Stage } from '../protocol/expressions.js';
import { BSON_OPTIONS, StoreCalls } from './store-calls.js';
import type { Outcome } from './outcome.js';
import { ServerClock } from './server-clock.js';
import { readWhole } from './whole-read.js';

/** Whatever the client's own are (E20): a lock that a failover could roll back is none. */
const WRITE_CONCERN = { w: 'majority', j: true } as const;

/** Names are compared byte by byte, also in a collection that was made with another collation. */
const COLLATION = { locale: 'simple' } as const;

/** How long an idle change stream lets the server wait before it answers that nothing has happened. */
export const AWAIT_MS = 1_000;

/** MongoDB 5.0: `$setField`, `$dateTrunc`, and updates that the oplog holds as differences. */
const MIN_WIRE_VERSION = 13;

/** Unauthorized, in words of several servers. */
const MAY_NOT_ASK: ReadonlySet<number> = new Set([13, 323, 8000]);

/** How long a client gives one call. */
interface Bounds {
  readonly socketTimeoutMS?: number | undefined;
  readonly timeoutMS?: number | undefined;
}

/** One transition of a lock document. */
export interface Update {
  readonly pipeline: readonly Stage[];
  /** What is shown of the document that it leaves behind. */
  readonly fields: Fields;
  /** Whether it makes a document where there is none. */
  readonly upsert: boolean;
}

/** What one `hello` tells. */
export interface ServerKind {
  /** Whether the server has change streams: a replica set member or a router. */
  readonly hasChangeStreams: boolean;
}

/** The gateway to the collection of lock documents: concerns, bounded calls, three-valued outcomes. */
export class LockCollection {
  readonly name: string;
  readonly serverClock: ServerClock;
  readonly #db: Db;
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #calls: StoreCalls;
  #serverKind: ServerKind | undefined;
  #meeting: Promise<Outcome<ServerKind>> | undefined;

  constructor(db: Db, settings: Settings, clock: Clock, report: Report) {
    this.name = settings.collectionName;
    this.#db = db;
    this.#settings = settings;
    this.#clock = clock;
    this.#calls = new StoreCalls(db, this.name, clock, report);
    this.serverClock = new ServerClock(clock);
  }

  /** The time that a call has. */
  get boundMs(): number {
    return this.#settings.storeTimeoutMs;
  }

  /** After the last call. */
  close(): void {
    this.#calls.close();
  }

  /**
   * Applies one update to one document and returns what it left behind; `null` if there is none.
   *
   * @param make - Called when its turn to be sent has come, if it ever does.
   */
  async transition(name: string, make: () => Update): Promise<Outcome<Document | null>> {
    const command = (): Document => {
      const { pipeline, fields, upsert } = make();
      return {
        findAndModify: this.name,
        query: { _id: name },
        update: pipeline,
        new: true,
        upsert,
        fields,
        collation: COLLATION,
        writeConcern: WRITE_CONCERN,
      };
    };
    const outcome = await this.#calls.run('transition', name, command, this.#settings.storeTimeoutMs);
    if (outcome.type !== 'done') return outcome;
    const value = (outcome.value['value'] ?? null) as Document | null;
    return { ...outcome, value };
  }

  /** Applies one pipeline to each of these documents. */
  async updateMany(
    names: readonly string[],
    pipeline: readonly Stage[],
    boundMs: number,
  ): Promise<Outcome<null>> {
    const command = {
      update: this.name,
      updates: [{ q: { _id: { $in: names } }, u: pipeline, multi: true, collation: COLLATION }],
      writeConcern: WRITE_CONCERN,
    };
    const outcome = await this.#calls.run('extension', null, () => command, boundMs);
    return outcome.type === 'done' ? { ...outcome, value: null } : outcome;
  }

  /** Reads these documents, all of those that are there. */
  async read(
    names: readonly string[],
    projection: Fields,
    level: 'local' | 'majority',
    boundMs: number = this.#settings.storeTimeoutMs,
  ): Promise<Outcome<readonly Document[]>> {
    const endMs = this.#clock.nowMs() + boundMs;
    return await readWhole(names, (unseen) => {
      const filter = { _id: { $in: unseen } };
      const find = { filter, projection, limit: unseen.length, readConcern: { level } };
      return this.#find(find, Math.max(endMs - this.#clock.nowMs(), 1));
    });
  }

  async #find(find: Document & { limit: number }, boundMs: number): Promise<Outcome<readonly Document[]>> {
    const command = {
      find: this.name,
      ...find,
      batchSize: find.limit,
      singleBatch: true,
      collation: COLLATION,
    };
    const outcome = await this.#calls.run('read', null, () => command, boundMs);
    if (outcome.type !== 'done') return outcome;
    const { firstBatch } = outcome.value['cursor'] as { firstBatch: readonly Document[] };
    return { ...outcome, value: firstBatch };
  }

  /** Makes the index that purges unused documents. Correctness must not depend on it, so a failure is an event. */
  async ensureIndex(): Promise<Outcome<null>> {
    const command = {
      createIndexes: this.name,
      indexes: [{ key: { purgeAt: 1 }, name: 'purgeAt_1', expireAfterSeconds: 0 }],
      writeConcern: WRITE_CONCERN,
    };
    // A build waits for transactions that use the collection, which may take longer than a call of ours.
    const outcome = await this.#calls.run('index', null, () => command, 10 * this.#settings.storeTimeoutMs);
    return outcome.type === 'done' ? { ...outcome, value: null } : outcome;
  }

  /** Whether `handshake` has had its answer. */
  get isMet(): boolean {
    return this.#serverKind !== undefined;
  }

  /** What kind of server this is and what time it has there. Asked once; an answer is remembered. */
  async handshake(): Promise<Outcome<ServerKind>> {
    if (this.#serverKind !== undefined) {
      return { type: 'done', value: this.#serverKind, sentAt: momentNow(this.#clock) };
    }
    this.#meeting ??= this.#meet().finally(() => (this.#meeting = undefined));
    return await this.#meeting;
  }

  async #meet(): Promise<Outcome<ServerKind>> {
    const [outcome, capped] = await Promise.all([
      this.#calls.run('hello', null, () => ({ hello: 1 }), this.#settings.storeTimeoutMs),
      this.#isCapped(),
    ]);
    if (outcome.type !== 'done') return outcome;
    if (capped.type !== 'done') return capped;
    if (capped.value) {
      const error = new UnsupportedServerError(null, `The collection ${this.name} is capped`);
      return { type: 'refused', error, byServer: true };
    }
    const { maxWireVersion, setName, msg, localTime } = outcome.value as Readonly<Record<string, unknown>>;
    if (typeof maxWireVersion === 'number' && maxWireVersion < MIN_WIRE_VERSION) {
      const error = new UnsupportedServerError(null, 'The server is older than MongoDB 5.0');
      return { type: 'refused', error, byServer: true };
    }
    if (localTime instanceof Date) this.serverClock.learn(localTime.getTime(), outcome.sentAt.ms);
    this.#serverKind = { hasChangeStreams: typeof setName === 'string' || msg === 'isdbgrid' };
    return { ...outcome, value: this.#serverKind };
  }

  /**
   * A capped collection throws documents away with whoever holds their locks (S2). Who may not ask what the collection
   * is like does without this check: it asks for a privilege that locks do not need.
   */
  async #isCapped(): Promise<Outcome<boolean>> {
    const command = { listCollections: 1, filter: { name: this.name, 'options.capped': true } };
    const outcome = await this.#calls.run(
      'hello',
      null,
      () => command,
      this.#settings.storeTimeoutMs,
      MAY_NOT_ASK,
    );
    if (outcome.type === 'refused') return { type: 'done', value: false, sentAt: momentNow(this.#clock) };
    if (outcome.type !== 'done') return outcome;
    const { firstBatch } = outcome.value['cursor'] as { firstBatch: readonly unknown[] };
    return { ...outcome, value: firstBatch.length > 0 };
  }

  /**
   * A change stream over the collection, opened at its first use, and its session, which has to be ended after it. Of
   * our own: the driver ends one that it has made as soon as an answer finds the stream closed, and then no longer sends
   * what kills the cursor, if that still waits for a connection (R1).
   */
  watch(pipeline: Document[]): { readonly stream: ChangeStream; readonly session: ClientSession } {
    // Some versions of the driver bound every call by `timeoutMS`, others have it no more.
    const { socketTimeoutMS, timeoutMS } = this.#db.client.options as Bounds;
    // The server answers an idle stream after this long; a client that gives up sooner would break it each time (E37).
    const bounds = [socketTimeoutMS ?? 0, timeoutMS ?? 0].filter((bound) => bound > 0);
    const maxAwaitTimeMS = Math.min(AWAIT_MS, ...bounds.map((bound) => bound / 2));
    const session = this.#db.client.startSession({ causalConsistency: false });
    try {
      const stream = this.#db.collection(this.name).watch(pipeline, {
        ...{ session, maxAwaitTimeMS, readPreference: 'primary', readConcern: { level: 'majority' } },
        ...BSON_OPTIONS,
      });
      return { stream, session };
    } catch (error) {
      void session.endSession();
      throw error;
    }
  }

  /** Calls back once when another primary follows the one of now. Returns what ends that. */
  onFollowed(callback: (error: Error) => void): () => void {
    return this.#calls.onFollowed(callback);
  }

  /** The lock documents that this selects, in the order of their names, at most `limit` of them. */
  async page(filter: Document, projection: Fields, limit: number): Promise<Outcome<readonly Document[]>> {
    return await this.#find(
      { filter, projection, sort: { _id: 1 }, limit, readConcern: { level: 'majority' } },
      this.#settings.storeTimeoutMs,
    );
  }

  /** That the store has not answered within so long, or until now, and why not, as far as the driver knows. */
  unanswered(boundMs?: number): Error {
    return this.#calls.unanswered(boundMs);
  }

  /** The error as it is told: short, and with what a user lacks who may not do this. */
  brief(error: unknown, actions: string): unknown {
    return this.#calls.brief(error, actions);
  }
}
