// Folder `store`: the only folder of the library that sends commands for locks to MongoDB. The command line also opens
// change streams of its own, and `leasehold doctor` sends commands that examine the deployment.

import type { Document } from 'mongodb';
import type { Clock } from '../clock.js';
import type { DriverDb } from '../driver-types.js';
import type { Report } from '../events.js';
import type { Settings } from '../options/provider-options.js';
import type { Fields, Stage } from '../protocol/expressions.js';
import type { StoredFields } from '../protocol/kind-rules.js';
import type { AnswerLog } from './answer-log.js';
import { changeStream } from './change-stream.js';
import type { ChangeStream } from './change-stream.js';
import { Handshake } from './handshake.js';
import type { ServerKind } from './handshake.js';
import { StoreCalls } from './store-calls.js';
import type { Outcome } from './outcome.js';
import { ServerClock } from './server-clock.js';
import { readWhole } from './whole-read.js';

/**
 * Every write waits for a majority with journal, whatever the options of the client are: a lock that a failover can
 * roll back protects nothing (E20).
 */
const WRITE_CONCERN = { w: 'majority', j: true } as const;

/** Names are compared byte by byte, even if the collection was created with another collation. */
const COLLATION = { locale: 'simple' } as const;

export interface Update {
  readonly pipeline: readonly Stage[];
  /** The projection of the updated document in the reply. */
  readonly fields: Fields;
  readonly upsert: boolean;
}

/** Creates a document with these fields if there is none, and leaves a stored one as it is. */
export interface Creation {
  readonly $setOnInsert: StoredFields;
}

export interface NamedUpdate {
  readonly names: readonly string[];
  readonly update: readonly Stage[] | Creation;
  readonly upsert: boolean;
}

export interface Changes {
  /** How many documents were changed or created, except those that a `Creation` created. */
  readonly count: number;
  /**
   * False if an update failed: the server does not count the documents that this update had changed before it failed.
   */
  readonly isExact: boolean;
}

/**
 * The shortest bound of a read that follows an update, in ms. Without the read, the process does not learn what the
 * update did. So the read gets this time even after a slow update.
 */
const MIN_READ_MS = 50;

/**
 * Reads and changes the collection of lock documents. Sets the read or write concern and the time bound of each
 * command, and returns one of three outcomes.
 */
export class LockCollection {
  readonly name: string;
  readonly serverClock: ServerClock;
  readonly #db: DriverDb;
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #calls: StoreCalls;
  readonly #handshake: Handshake;

  constructor(db: DriverDb, settings: Settings, clock: Clock, report: Report) {
    this.name = settings.collectionName;
    this.#db = db;
    this.#settings = settings;
    this.#clock = clock;
    this.#calls = new StoreCalls(db, this.name, clock, report, settings.storeTimeoutMs);
    this.serverClock = new ServerClock(clock);
    this.#handshake = new Handshake(this.#calls, this.serverClock, settings, clock);
  }

  /** When the store last answered, and whether it answers now. */
  get answers(): AnswerLog {
    return this.#calls.answers;
  }

  /** The time bound of an ordinary call, in ms. */
  get boundMs(): number {
    return this.#settings.storeTimeoutMs;
  }

  /** Stops observing the client. No call to the store may follow. */
  close(): void {
    this.#calls.close();
  }

  /**
   * Applies one update to one document and returns the updated document; `null` if there is no document.
   *
   * @param make - Makes the update just before the driver gets it. Not called if the call ends while it waits for its
   *   turn.
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

  /**
   * Applies each update to its documents, by one command. An update that fails does not stop the others, and may have
   * changed some of its own documents.
   *
   * @param make - Makes the updates just before the driver gets them.
   */
  async updateEach(make: () => readonly NamedUpdate[], boundMs: number): Promise<Outcome<Changes>> {
    let updates: readonly NamedUpdate[] = [];
    const command = (): Document => {
      updates = make();
      return {
        update: this.name,
        updates: updates.map(statementOf),
        ordered: false,
        writeConcern: WRITE_CONCERN,
      };
    };
    const outcome = await this.#calls.run('transition', null, command, boundMs, { mayFailInPart: true });
    if (outcome.type !== 'done') return outcome;
    const {
      nModified,
      upserted = [],
      writeErrors,
    } = outcome.value as {
      readonly nModified: number;
      readonly upserted?: readonly { readonly index: number }[];
      readonly writeErrors?: readonly unknown[];
    };
    const created = upserted.filter(({ index }) => !isCreation(updates[index]));
    const count = nModified + created.length;
    return { ...outcome, value: { count, isExact: writeErrors === undefined } };
  }

  async updateMany(
    names: readonly string[],
    pipeline: readonly Stage[],
    boundMs: number,
  ): Promise<Outcome<null>> {
    const command = {
      update: this.name,
      updates: [statementOf({ names, update: pipeline, upsert: false })],
      writeConcern: WRITE_CONCERN,
    };
    const outcome = await this.#calls.run('extension', null, () => command, boundMs);
    return outcome.type === 'done' ? { ...outcome, value: null } : outcome;
  }

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

  /**
   * Reads the named documents after an update of them. A majority has acknowledged that update, so a local read is
   * enough. A majority read might still show an older state.
   *
   * @param endMs - When the time for the update and this read together ends, on the clock of this process. The read
   *   gets at least `MIN_READ_MS`.
   */
  async readAfterUpdate(
    names: readonly string[],
    projection: Fields,
    endMs: number,
  ): Promise<Outcome<readonly Document[]>> {
    return await this.read(names, projection, 'local', Math.max(endMs - this.#clock.nowMs(), MIN_READ_MS));
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

  /** Creates the TTL index that purges unused documents. Locks are correct without it. */
  async ensureIndex(): Promise<Outcome<null>> {
    const command = {
      createIndexes: this.name,
      indexes: [{ key: { purgeAt: 1 }, name: 'purgeAt_1', expireAfterSeconds: 0 }],
      writeConcern: WRITE_CONCERN,
    };
    // An index build waits for transactions that use the collection, so it may take longer than a normal call.
    const outcome = await this.#calls.run('index', null, () => command, 10 * this.#settings.storeTimeoutMs);
    return outcome.type === 'done' ? { ...outcome, value: null } : outcome;
  }

  get isServerKnown(): boolean {
    return this.#handshake.isDone;
  }

  /** False until a handshake has found out that the collection is behind a router of a sharded cluster. */
  get isSharded(): boolean {
    return this.#handshake.foundRouter;
  }

  async handshake(): Promise<Outcome<ServerKind>> {
    return await this.#handshake.run();
  }

  /** See `changeStream`: the caller must end the session after the stream. */
  watch(pipeline: Document[]): ChangeStream {
    return changeStream(this.#db, this.name, pipeline);
  }

  /** Calls back once, when another primary replaces the present one. The returned function unsubscribes. */
  onFollowed(callback: (error: Error) => void): () => void {
    return this.#calls.onFollowed(callback);
  }

  async page(filter: Document, projection: Fields, limit: number): Promise<Outcome<readonly Document[]>> {
    return await this.#find(
      { filter, projection, sort: { _id: 1 }, limit, readConcern: { level: 'majority' } },
      this.#settings.storeTimeoutMs,
    );
  }

  /**
   * The error for a store that has not answered within `boundMs`; without `boundMs`, for a store that has not answered
   * so far. The message tells the reason, if the driver knows one.
   */
  unanswered(boundMs?: number): Error {
    return this.#calls.unanswered(boundMs);
  }

  /**
   * Gives some errors of the driver and the server a short message, and returns any other error as it is. If the user
   * is not authorized, the message names the needed `actions`.
   */
  shortened(error: unknown, actions: string): unknown {
    return this.#calls.shortened(error, actions);
  }
}

const statementOf = ({ names, update, upsert }: NamedUpdate): Document => ({
  q: { _id: names.length === 1 ? names[0] : { $in: names } },
  ...{ u: update, upsert, multi: names.length > 1, collation: COLLATION },
});

const isCreation = (update: NamedUpdate | undefined): boolean =>
  update !== undefined && '$setOnInsert' in update.update;
