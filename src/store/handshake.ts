import { momentNow } from '../clock.js';
import type { Clock } from '../clock.js';
import { UnsupportedServerError } from '../errors.js';
import type { Settings } from '../options/provider-options.js';
import type { Outcome } from './outcome.js';
import type { ServerClock } from './server-clock.js';
import type { StoreCalls } from './store-calls.js';

/** The wire version of MongoDB 5.0, the oldest server that the library supports. */
const MIN_WIRE_VERSION = 13;

/**
 * The error codes of a command that is forbidden: to this user (13; 8000 in Atlas), or by the client's strict API
 * version (323).
 */
const FORBIDDEN_CODES: ReadonlySet<number> = new Set([13, 323, 8000]);

export interface ServerKind {
  /** Only members of a replica set and routers have change streams. */
  readonly hasChangeStreams: boolean;
  readonly isRouter: boolean;
}

/**
 * Finds out the kind of the server, before the first request for a lock is sent. Refuses a server older than MongoDB
 * 5.0, and a capped collection.
 */
export class Handshake {
  readonly #calls: StoreCalls;
  readonly #serverClock: ServerClock;
  readonly #settings: Settings;
  readonly #clock: Clock;
  #serverKind: ServerKind | undefined;
  #running: Promise<Outcome<ServerKind>> | undefined;

  constructor(calls: StoreCalls, serverClock: ServerClock, settings: Settings, clock: Clock) {
    this.#calls = calls;
    this.#serverClock = serverClock;
    this.#settings = settings;
    this.#clock = clock;
  }

  get isDone(): boolean {
    return this.#serverKind !== undefined;
  }

  get foundRouter(): boolean {
    return this.#serverKind?.isRouter === true;
  }

  /** Only one handshake is sent at a time. A successful answer is remembered. */
  async run(): Promise<Outcome<ServerKind>> {
    if (this.#serverKind !== undefined) {
      return { type: 'done', value: this.#serverKind, sentAt: momentNow(this.#clock) };
    }
    this.#running ??= this.#sendHello().finally(() => (this.#running = undefined));
    return await this.#running;
  }

  async #sendHello(): Promise<Outcome<ServerKind>> {
    const { collectionName, storeTimeoutMs } = this.#settings;
    const [outcome, capped] = await Promise.all([
      this.#calls.run('hello', null, () => ({ hello: 1 }), storeTimeoutMs),
      this.#isCapped(),
    ]);
    if (outcome.type !== 'done') return outcome;
    if (capped.type !== 'done') return capped;
    if (capped.value) {
      const error = new UnsupportedServerError(null, `The collection ${collectionName} is capped`);
      return { type: 'refused', error, byServer: true };
    }
    const { maxWireVersion, setName, msg, localTime } = outcome.value as Readonly<Record<string, unknown>>;
    if (typeof maxWireVersion === 'number' && maxWireVersion < MIN_WIRE_VERSION) {
      const error = new UnsupportedServerError(null, 'The server is older than MongoDB 5.0');
      return { type: 'refused', error, byServer: true };
    }
    if (localTime instanceof Date) this.#serverClock.learn(localTime.getTime(), outcome.sentAt.ms);
    const isRouter = msg === 'isdbgrid';
    this.#serverKind = { hasChangeStreams: typeof setName === 'string' || isRouter, isRouter };
    return { ...outcome, value: this.#serverKind };
  }

  /**
   * Whether the collection is capped. A capped collection deletes old documents, also those of held locks (S2). The
   * check needs a privilege that locks do not need. If the server refuses the check, the collection counts as not
   * capped.
   */
  async #isCapped(): Promise<Outcome<boolean>> {
    const { collectionName, storeTimeoutMs } = this.#settings;
    const command = { listCollections: 1, filter: { name: collectionName, 'options.capped': true } };
    const outcome = await this.#calls.run('hello', null, () => command, storeTimeoutMs, {
      expected: FORBIDDEN_CODES,
    });
    if (outcome.type === 'refused') return { type: 'done', value: false, sentAt: momentNow(this.#clock) };
    if (outcome.type !== 'done') return outcome;
    const { firstBatch } = outcome.value['cursor'] as { firstBatch: readonly unknown[] };
    return { ...outcome, value: firstBatch.length > 0 };
  }
}
