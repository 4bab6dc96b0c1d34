import type { ChangeStream, ClientSession, Db, Document, RunCommandOptions } from 'mongodb';
import { momentNow } from '../clock.js';
import type { Clock, Timer } from '../clock.js';
import { UnsupportedServerError } from '../errors.js';
import type { Report } from '../events.js';
import type { Settings } from '../options/provider-options.js';
import type { Fields, Stage } from '../protocol/expressions.js';
import { legalProjection } from '../protocol/extension.js';
import type { Seats } from '../protocol/seats.js';
import { codeOf, outcomeOfError } from './outcome.js';
import type { Outcome } from './outcome.js';
import { PrimaryWatch } from './primary-watch.js';
import { ServerClock } from './server-clock.js';

/** Whatever the client's own are (E20): a lock that a failover could roll back is none. */
const WRITE_CONCERN = { w: 'majority', j: true } as const;

/** Names are compared byte by byte, also in a collection that was made with another collation. */
const COLLATION = { locale: 'simple' } as const;

/** What replies are read with, whatever the client's own BSON options are. */
const BSON_OPTIONS = {
  promoteLongs: true,
  promoteValues: true,
  promoteBuffers: false,
  useBigInt64: false,
  bsonRegExp: false,
  raw: false,
  serializeFunctions: false,
  ignoreUndefined: false,
  checkKeys: false,
} as const;

/** `db.command` takes none of the client's options, and is never retried by the driver: our own repeat by id is. */
const COMMAND_OPTIONS = { ...BSON_OPTIONS, readPreference: 'primary' } as const satisfies RunCommandOptions;

/** How long an idle change stream lets the server wait before it answers that nothing has happened. */
export const AWAIT_MS = 1_000;

/** MongoDB 5.0: `$setField`, `$dateTrunc`, and updates that the oplog holds as differences. */
const MIN_WIRE_VERSION = 13;

const NONE: ReadonlySet<number> = new Set();

/** Unauthorized, in words of several servers. */
const MAY_NOT_ASK: ReadonlySet<number> = new Set([13, 323, 8000]);

/** How long a client gives one call. */
interface Bounds {
  readonly socketTimeoutMS?: number | undefined;
  readonly timeoutMS?: number | undefined;
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
  readonly #report: Report;
  readonly #primary: PrimaryWatch;
  #serverKind: ServerKind | undefined;
  #meeting: Promise<Outcome<ServerKind>> | undefined;

  constructor(db: Db, settings: Settings, clock: Clock, report: Report) {
    this.name = settings.collectionName;
    this.#db = db;
    this.#settings = settings;
    this.#clock = clock;
    this.#report = report;
    this.serverClock = new ServerClock(clock);
    this.#primary = PrimaryWatch.join(db.client);
  }

  /** After the last call. */
  close(): void {
    this.#primary.leave();
  }

  /** Applies one pipeline to one document and returns what it left behind; `null` if there is none. */
  async transition(
    name: string,
    pipeline: readonly Stage[],
    fields: Fields,
    upsert: boolean,
  ): Promise<Outcome<Document | null>> {
    const command = {
      findAndModify: this.name,
      query: { _id: name },
      update: pipeline,
      new: true,
      upsert,
      fields,
      collation: COLLATION,
      writeConcern: WRITE_CONCERN,
    };
    const outcome = await this.#call('transition', name, command, this.#settings.storeTimeoutMs);
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
    const outcome = await this.#call('extension', null, command, boundMs);
    return outcome.type === 'done' ? { ...outcome, value: null } : outcome;
  }

  /** Reads these documents, in one batch. */
  async read(
    names: readonly string[],
    projection: Fields,
    level: 'local' | 'majority',
    boundMs: number = this.#settings.storeTimeoutMs,
  ): Promise<Outcome<readonly Document[]>> {
    const filter = { _id: { $in: names } };
    return await this.#find({ filter, projection, limit: names.length, readConcern: { level } }, boundMs);
  }

  async #find(find: Document & { limit: number }, boundMs: number): Promise<Outcome<readonly Document[]>> {
    const command = {
      find: this.name,
      ...find,
      batchSize: find.limit,
      singleBatch: true,
      collation: COLLATION,
    };
    const outcome = await this.#call('read', null, command, boundMs);
    if (outcome.type !== 'done') return outcome;
    const { firstBatch } = outcome.value['cursor'] as { firstBatch: readonly Document[] };
    return { ...outcome, value: firstBatch };
  }

  /** Whether every document of this name is a legal one of these seats; true if there is none. */
  async isLegal(name: string, seats: Seats): Promise<Outcome<boolean>> {
    const outcome = await this.read([name], legalProjection(seats), 'local');
    if (outcome.type !== 'done') return outcome;
    return { ...outcome, value: outcome.value.every((document) => document['legal'] === true) };
  }

  /** Makes the index that purges unused documents. Correctness must not depend on it, so a failure is an event. */
  async ensureIndex(): Promise<Outcome<null>> {
    const command = {
      createIndexes: this.name,
      indexes: [{ key: { purgeAt: 1 }, name: 'purgeAt_1', expireAfterSeconds: 0 }],
      writeConcern: WRITE_CONCERN,
    };
    // A build waits for transactions that use the collection, which may take longer than a call of ours.
    const outcome = await this.#call('index', null, command, 10 * this.#settings.storeTimeoutMs);
    return outcome.type === 'done' ? { ...outcome, value: null } : outcome;
  }

  /** Whether `meet` has had its answer. */
  get isMet(): boolean {
    return this.#serverKind !== undefined;
  }

  /** What kind of server this is and what time it has there. Asked once; an answer is remembered. */
  async meet(): Promise<Outcome<ServerKind>> {
    if (this.#serverKind !== undefined) {
      return { type: 'done', value: this.#serverKind, sentAt: momentNow(this.#clock) };
    }
    this.#meeting ??= this.#meet().finally(() => (this.#meeting = undefined));
    return await this.#meeting;
  }

  async #meet(): Promise<Outcome<ServerKind>> {
    const [outcome, capped] = await Promise.all([
      this.#call('hello', null, { hello: 1 }, this.#settings.storeTimeoutMs),
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
    const outcome = await this.#call('hello', null, command, this.#settings.storeTimeoutMs, MAY_NOT_ASK);
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
    return this.#primary.asking(callback);
  }

  /** The lock documents that this selects, in the order of their names, at most `limit` of them. */
  async page(filter: Document, projection: Fields, limit: number): Promise<Outcome<readonly Document[]>> {
    return await this.#find(
      { filter, projection, sort: { _id: 1 }, limit, readConcern: { level: 'majority' } },
      this.#settings.storeTimeoutMs,
    );
  }

  /**
   * Runs one command, bounded by a timer of our own: a driver waits for ever on a stopped primary (socketTimeoutMS
   * is 0 by default), and `maxTimeMS` alone binds only a server that runs. It also ends when another primary follows.
   */
  async #call(
    during: string,
    lockName: string | null,
    command: Document,
    boundMs: number,
    expected: ReadonlySet<number> = NONE,
  ): Promise<Outcome<Document>> {
    const giveUp = new AbortController();
    const sentAt = momentNow(this.#clock);
    let timer: Timer | undefined;
    let unwatch: (() => void) | undefined;
    const unanswered = new Promise<never>((_, reject) => {
      const end = (error: Error): void => {
        reject(error);
        giveUp.abort(error);
      };
      timer = this.#clock.at(sentAt.ms + boundMs, () => {
        end(new Error(`no answer within ${String(Math.round(boundMs))} ms`));
      });
      unwatch = this.#primary.asking(end);
    });
    try {
      const running = this.#db.command(
        { ...command, ...(during === 'hello' ? {} : { maxTimeMS: Math.ceil(boundMs) }) },
        { ...COMMAND_OPTIONS, signal: giveUp.signal },
      );
      // Whichever loses the race must not be an unhandled rejection (R2).
      running.catch(() => undefined);
      unanswered.catch(() => undefined);
      const reply = await Promise.race([running, unanswered]);
      throwReported(reply);
      return { type: 'done', value: reply, sentAt };
    } catch (error) {
      if (!expected.has(codeOf(error) ?? 0)) this.#report('storeError', { lockName, during, error });
      return outcomeOfError(error);
    } finally {
      timer?.cancel();
      unwatch?.();
    }
  }
}

/** A command may succeed and still report that a majority did not follow, or that a document could not be written. */
function throwReported(reply: Document): void {
  const { writeConcernError, writeErrors } = reply as {
    writeConcernError?: { code?: number; errmsg?: string };
    writeErrors?: readonly { code?: number; errmsg?: string }[];
  };
  if (writeConcernError !== undefined) {
    throw Object.assign(new Error(writeConcernError.errmsg), { name: 'MongoWriteConcernError' });
  }
  const [first] = writeErrors ?? [];
  if (first !== undefined) {
    throw Object.assign(new Error(first.errmsg), { name: 'MongoServerError', code: first.code });
  }
}
