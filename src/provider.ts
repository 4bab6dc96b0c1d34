import { randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { hostname } from 'node:os';
import type { EventEmitter } from 'eventemitter3';
import type { Db } from 'mongodb';
import { Inspector } from './admin/inspector.js';
import type { RevokeResult } from './admin/inspector.js';
import { systemClock } from './clock.js';
import type { Clock, Timer } from './clock.js';
import { ProviderClosedError, StoreUnavailableError } from './errors.js';
import { IsolatedEmitter } from './events.js';
import type { LockProviderEvents, Report } from './events.js';
import type { AcquisitionContext } from './lease/attempt.js';
import { Holds } from './lease/holds.js';
import { LeaseMonitor } from './lease/lease-monitor.js';
import type { LockHandle } from './lease/lock-handle.js';
import { Poller } from './lease/poller.js';
import { ReleaseQueue } from './lease/release-queue.js';
import { WaitingRoom } from './lease/waiting-room.js';
import {
  parseDrain,
  parseListFilter,
  parseName,
  parsePrimitiveOptions,
  parseProviderOptions,
  parseRevokeOptions,
} from './options.js';
import type {
  AcquireOptions,
  ListFilter,
  LockProviderOptions,
  PrimitiveOptions,
  RevokeOptions,
  Settings,
} from './options.js';
import { MutexFace } from './primitives/mutex.js';
import type { Mutex } from './primitives/mutex.js';
import { Requester } from './primitives/requester.js';
import { mutexSeats } from './protocol/mutex-seats.js';
import type { Seats } from './protocol/seats.js';
import type { LockSnapshot } from './protocol/snapshot.js';
import { Combiner } from './store/combiner.js';
import { LockCollection } from './store/lock-collection.js';
import { PurgeIndex } from './store/purge-index.js';
import { WakeStream } from './store/wake-stream.js';

/** The primitives that a document may hold. */
const KINDS: readonly Seats[] = [mutexSeats];

/**
 * Binds one collection of a MongoDB database and makes locks on it.
 *
 * One provider serves a whole process: all its locks share one change stream for wake-ups and one monitor that extends
 * every lease. It sends nothing until the first lock is asked for. Its write concern (majority, journal), read
 * preference and BSON options are its own, whatever the client's are; pool size, server selection and socket timeouts
 * are the client's.
 *
 * @example
 *   await using locks = new LockProvider(client.db('app'));
 *   await using lock = await locks.createMutex('invoice:42').acquire({ timeoutMs: 5_000 });
 */
export class LockProvider extends IsolatedEmitter<LockProviderEvents> implements AsyncDisposable {
  /** `host:pid:random`, stored with every lease and waiter of this provider. */
  readonly processId: string;
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #collection: LockCollection;
  readonly #monitor: LeaseMonitor;
  readonly #holds: Holds;
  readonly #releases: ReleaseQueue;
  readonly #room: WaitingRoom;
  readonly #wakeStream: WakeStream;
  readonly #poller: Poller;
  readonly #requester: Requester;
  readonly #inspector: Inspector;
  readonly #purgeIndex: PurgeIndex;
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;

  /**
   * @throws `TypeError` or `RangeError` naming the option, the rule and the value; also for a client whose pool has
   *   room for one connection only where a change stream is demanded.
   */
  constructor(db: Db, options?: LockProviderOptions) {
    super();
    this.#settings = settingsFor(db, parseProviderOptions(options));
    this.processId = newProcessId();
    // Every request listens for the end of the provider; that many are no leak.
    setMaxListeners(0, this.#closing.signal);
    this.#clock = systemClock;
    const [settings, clock, processId] = [this.#settings, this.#clock, this.processId];
    const report: Report = (event, ...payload) => {
      this.emit(event, ...(payload as EventEmitter.EventArgs<LockProviderEvents, typeof event>));
    };
    this.#collection = new LockCollection(db, settings, clock, report);
    this.#purgeIndex = new PurgeIndex(this.#collection, clock, report);
    const combiner = new Combiner(this.#collection, processId, (name, answer, sentAt) => {
      this.#room.answered(name, answer, sentAt);
    });
    this.#releases = new ReleaseQueue(combiner, clock);
    this.#monitor = new LeaseMonitor(this.#collection, KINDS, processId, settings, clock, report);
    this.#holds = new Holds(settings, clock, report, this.#monitor, this.#releases);
    this.#room = new WaitingRoom(combiner, processId, clock, {
      unclaimed: (name, seats, id, leaseMs) =>
        void this.#releases.giveBack({ name, seats, id, untilMs: clock.nowMs() + leaseMs }),
      told: (id) => void this.#holds.look(id),
      vanished: (name) => {
        this.#holds.lookAt(name);
      },
    });
    this.#poller = new Poller(this.#collection, KINDS, processId, settings, clock, this.#room);
    this.#wakeStream = new WakeStream(this.#collection, processId, settings, clock, report, this.#room);
    this.#room.wakeBy(this.#wakeStream, this.#poller);
    this.#inspector = new Inspector(this.#collection, combiner, KINDS, report);
    const context: AcquisitionContext = {
      settings,
      process: processId,
      clock,
      report,
      collection: this.#collection,
      combiner,
      room: this.#room,
      releases: this.#releases,
      closing: this.#closing.signal,
    };
    this.#requester = new Requester(
      context,
      (grant, waitedMs) => {
        if (settings.createIndexes) this.#purgeIndex.wanted();
        return this.#holds.take(grant, waitedMs);
      },
      (name) => this.inspect(name),
    );
  }

  /**
   * A mutex of this name. Sends nothing; any number of objects of one name are the same lock.
   *
   * @param name - 1 to 1,024 bytes of UTF-8; any character, case-sensitive, not normalised.
   * @throws `TypeError` for a name that is no string or not well-formed, `RangeError` for one that is empty or longer.
   */
  createMutex(name: string, options?: PrimitiveOptions): Mutex {
    const checkedName = parseName(name);
    return new MutexFace(this.#requester, checkedName, parsePrimitiveOptions(this.#settings, options));
  }

  /** `createMutex(name).acquire(options)`. */
  async acquireMutex(name: string, options?: AcquireOptions): Promise<LockHandle> {
    return await this.createMutex(name).acquire(options);
  }

  /** `createMutex(name).tryAcquire(options)`. */
  async tryAcquireMutex(name: string, options?: AcquireOptions): Promise<LockHandle | null> {
    return await this.createMutex(name).tryAcquire(options);
  }

  /** `createMutex(name).use(work, options)`. */
  async useMutex<T>(
    name: string,
    work: (lock: LockHandle) => T | Promise<T>,
    options?: AcquireOptions,
  ): Promise<T> {
    return await this.createMutex(name).use(work, options);
  }

  /**
   * What a lock of any kind looks like now, by a majority's read; `null` if it is not stored.
   *
   * @throws {@link CorruptLockDocumentError}, {@link StoreUnavailableError}, {@link ProviderClosedError}.
   */
  async inspect(name: string): Promise<LockSnapshot | null> {
    this.#assertOpen();
    return await this.#inspector.inspect(parseName(name));
  }

  /**
   * All stored locks in the order of their names, as `inspect` shows each. A corrupt one is reported as a `storeError`
   * event and left out.
   *
   * @throws {@link StoreUnavailableError}, {@link ProviderClosedError}.
   */
  async *list(filter?: ListFilter): AsyncGenerator<LockSnapshot> {
    this.#assertOpen();
    yield* this.#inspector.list(parseListFilter(filter));
  }

  /**
   * Asks the holders of a lock to release: their `releaseRequested` aborts, and their leases are not extended any more,
   * so that each seat ends at its release or expiry. A holder whose provider has no change stream open hears of it at its
   * next extension. With `force` the seats are emptied at once, and until the old
   * holders hear of it only tokens protect.
   */
  async revoke(name: string, options?: RevokeOptions): Promise<RevokeResult> {
    this.#assertOpen();
    const result = await this.#inspector.revoke(parseName(name), parseRevokeOptions(options));
    await Promise.all([...result.asked, ...result.evicted].map((id) => this.#holds.look(id)));
    return result;
  }

  /**
   * Makes the index that purges lock documents which nobody has used for the retention time. Also done in the
   * background after the first grant; locks work without it.
   *
   * @throws {@link StoreUnavailableError} if the server refuses or does not answer.
   */
  async ensureIndexes(): Promise<void> {
    this.#assertOpen();
    const outcome = await this.#collection.ensureIndex();
    if (outcome.type === 'done') return;
    throw new StoreUnavailableError(null, outcome.type === 'refused', outcome.error);
  }

  /**
   * Ends the provider. New requests and waiters get {@link ProviderClosedError}; `releaseRequested` of every hold
   * aborts; it resolves as soon as all are released. After `drainMs` (default 5,000) the signals of those still held
   * abort, and their leases are left to expire: a lock is never given away under a running owner. Then streams, timers
   * and listeners are gone. May be called again.
   */
  async close(options?: { drainMs?: number | undefined }): Promise<void> {
    const drainMs = parseDrain(options);
    this.#closed ??= this.#close(drainMs);
    await this.#closed;
  }

  /** `close()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(drainMs: number): Promise<void> {
    this.#closing.abort();
    this.#holds.requestReleaseOfAll();
    let timer: Timer | undefined;
    const drained = new Promise<void>((resolve) => {
      // Whoever awaits the close may have closed the client before, and then nothing else keeps the process going.
      timer = this.#clock.at(this.#clock.nowMs() + drainMs, resolve, true);
    });
    await Promise.race([this.#released(), drained]);
    timer?.cancel();
    this.#holds.loseAll();
    this.#monitor.close();
    this.#releases.close();
    this.#poller.close();
    this.#room.close();
    await Promise.all([this.#wakeStream.close(), this.#purgeIndex.close()]);
    this.removeAllListeners();
  }

  async #released(): Promise<void> {
    await this.#holds.emptied();
    await this.#releases.drained();
  }

  #assertOpen(): void {
    if (this.#closing.signal.aborted) throw new ProviderClosedError(null);
  }
}

/** `host:pid:random`: readable by a person, unique by its random part. */
function newProcessId(): string {
  const host = hostname()
    .replaceAll(/[^\w.-]/g, '_')
    .slice(0, 64);
  return `${host}:${String(process.pid)}:${randomBytes(8).toString('hex')}`;
}

/** A change stream occupies a connection: in a pool of one, nothing else would ever be sent (E36). */
function settingsFor(db: Db, settings: Settings): Settings {
  if (typeof (db as Partial<Db> | null | undefined)?.command !== 'function') {
    throw new TypeError("db must be a Db of the driver, as client.db('name') gives it");
  }
  const { maxPoolSize } = db.client.options;
  if (maxPoolSize !== 1 || settings.wakeups === 'polling') return settings;
  if (settings.wakeups === 'change-stream') {
    throw new RangeError("wakeups: 'change-stream' needs a client with maxPoolSize of at least 2, got 1");
  }
  return { ...settings, wakeups: 'polling', pollingWhy: 'the client has a pool of one connection' };
}
