// Folder `src`: the entry to the library. provider.ts checks arguments and creates locks, engine.ts connects the parts
// behind the locks, and the other files of this folder serve all parts: errors, events, warnings, clocks.

import type { EventEmitter } from 'eventemitter3';
import type { RevokeResult } from './admin/inspector.js';
import type { DriverDb } from './driver-types.js';
import { parseElectionOptions } from './election/election-options.js';
import type { LeaderElectionOptions } from './election/election-options.js';
import { LeaderElection } from './election/leader-election.js';
import { keepEngine } from './engine-of.js';
import { Engine } from './engine.js';
import { PROVIDER_WARNINGS } from './events.js';
import { keepObservable } from './observation.js';
import { IsolatedEmitter } from './isolated-emitter.js';
import type { LockProviderEvents, Report } from './events.js';
import type { LockProviderHealth } from './health.js';
import { keepAlive } from './keep-alive.js';
import type { LockHandle } from './lease/holding/lock-handle.js';
import { parseDrain, parseListFilter, parseRevokeOptions } from './options/admin-options.js';
import type { ListFilter, RevokeOptions } from './options/admin-options.js';
import { parseName } from './options/checks.js';
import { parseProviderOptions } from './options/provider-options.js';
import type { LockProviderOptions } from './options/provider-options.js';
import type { AcquireOptions, PrimitiveOptions, SemaphoreOptions } from './options/request-options.js';
import { acquireAll } from './primitives/all-or-nothing.js';
import { LockFactory } from './primitives/lock-factory.js';
import type { LockRequest } from './primitives/lock-request.js';
import type { CompositeHandle } from './primitives/composite-handle.js';
import type { Mutex } from './primitives/mutex.js';
import type { ReaderWriterLock } from './primitives/reader-writer-lock.js';
import { nullAtTimeout } from './primitives/requester.js';
import type { Semaphore } from './primitives/semaphore.js';
import { WebLocksFace } from './primitives/web-locks.js';
import type { WebLocks } from './primitives/web-locks.js';
import type { LockSnapshot } from './protocol/replies/snapshot.js';
import { parseJobOptions } from './schedule/job-options.js';
import type { ScheduledJobOptions } from './schedule/job-options.js';
import { ScheduledJob } from './schedule/scheduled-job.js';
import { isKnown } from './store/outcome.js';
import { unavailable } from './store/unavailable.js';

/**
 * Creates locks that are stored in one collection of a MongoDB database.
 *
 * One provider serves a whole program: all its locks share one change stream for wake-ups and one monitor that extends
 * every lease. The provider sends nothing before the first call that needs the store. The provider sets its own write
 * concern (majority, journal), read preference and BSON options, whatever the options of the client are. Pool size,
 * server selection and socket timeouts are those of the client.
 *
 * @example
 *   await using locks = new LockProvider(client.db('app'));
 *   await using lock = await locks.createMutex('invoice:42').acquire({ timeoutMs: 5_000 });
 */
export class LockProvider extends IsolatedEmitter<LockProviderEvents> implements AsyncDisposable {
  /** `host:pid:random`, stored with every lease and waiter of this provider. */
  readonly processId: string;
  readonly #engine: Engine;
  readonly #factory: LockFactory;
  #closed: Promise<void> | undefined;

  /**
   * @throws `TypeError` or `RangeError` for a wrong `db` or a wrong option; `RangeError` if `wakeups` is
   *   `change-stream` and the client's pool has room for one connection only.
   */
  constructor(db: DriverDb, options?: LockProviderOptions) {
    super(PROVIDER_WARNINGS);
    const report: Report = (event, ...payload) => {
      this.emit(event, ...(payload as EventEmitter.EventArgs<LockProviderEvents, typeof event>));
    };
    this.#engine = new Engine(db, parseProviderOptions(options), report);
    this.processId = this.#engine.processId;
    keepEngine(this, this.#engine);
    const { observation, requester } = this.#engine;
    this.#factory = new LockFactory(requester);
    keepObservable(this, {
      clock: requester.context.clock,
      observe: (observer) => observation.add(observer),
      streams: () => this.#engine.health().streams,
    });
  }

  /**
   * Creates a mutex object of this name. Sends nothing. All objects of one name are the same lock.
   *
   * @param name - 1 to 1,024 bytes of UTF-8; any character, case-sensitive, not normalised.
   * @throws `TypeError` if the name is not a string or not well-formed; `RangeError` if the name is empty or too long;
   *   one of the two errors for a wrong option.
   */
  createMutex(name: string, options?: PrimitiveOptions): Mutex {
    return this.#factory.mutex(name, options);
  }

  /**
   * Creates a reader-writer lock object of this name. Sends nothing. All objects of one name are the same lock. With
   * `keepMs`, the readers of this provider share one seat, until a request or an upgrade has to wait.
   *
   * @throws As `createMutex`.
   */
  createReaderWriterLock(name: string, options?: PrimitiveOptions): ReaderWriterLock {
    return this.#factory.readerWriterLock(name, options);
  }

  /**
   * Creates a semaphore object of this name. Sends nothing. All objects of one name are the same semaphore.
   *
   * @param limit - The number of permits: 1 to 2^31 − 1. The limit is stored with the lock at the first use. Afterwards
   *   the stored limit counts (see {@link SemaphoreOptions}).
   * @throws As `createMutex`; `TypeError` or `RangeError` for a wrong limit.
   */
  createSemaphore(name: string, limit: number, options?: SemaphoreOptions): Semaphore {
    return this.#factory.semaphore(name, limit, options);
  }

  /**
   * Creates a candidate of the election of this name. Sends nothing. All objects of one name, in this process and in
   * others, are candidates of the same election.
   *
   * @throws As `createMutex`.
   */
  createLeaderElection(name: string, options?: LeaderElectionOptions): LeaderElection {
    const { elections, settings } = this.#engine;
    const checkedName = parseName(name);
    const parsed = parseElectionOptions(settings, this.processId, options);
    return new LeaderElection(elections, checkedName, parsed);
  }

  /**
   * Creates a job of this name. The leader of the election of the same name runs the job, unless the options name
   * another election. Sends nothing. Objects of one name in other processes are the same job, and should have the same
   * options.
   *
   * @throws As `createMutex`.
   */
  createScheduledJob(name: string, options: ScheduledJobOptions): ScheduledJob {
    const parsed = parseJobOptions(options);
    return new ScheduledJob(this.#engine.elections, parseName(name), parsed, options.election);
  }

  /** Same as `createMutex(name).acquire(options)`. */
  async acquireMutex(name: string, options?: AcquireOptions): Promise<LockHandle> {
    return await this.createMutex(name).acquire(options);
  }

  /** Same as `createMutex(name).tryAcquire(options)`. */
  async tryAcquireMutex(name: string, options?: AcquireOptions): Promise<LockHandle | null> {
    return await this.createMutex(name).tryAcquire(options);
  }

  /** Same as `createMutex(name).use(work, options)`. */
  async useMutex<T>(
    name: string,
    work: (lock: LockHandle) => T | Promise<T>,
    options?: AcquireOptions,
  ): Promise<T> {
    return await this.createMutex(name).use(work, options);
  }

  /**
   * Acquires all of these locks, or none.
   *
   * Unless `timeoutMs` is 0, all locks are asked for at once. If one is not free, the call keeps the locks whose names
   * precede the name of that lock, and gives the others back. The call then acquires one lock after the other in the
   * order of their names, whatever the order of `requests`. So callers that want the same locks never wait for each
   * other in a circle. Later upgrades keep no order, so they may wait for each other in a circle. A lock that the call
   * gives back on the way is reported as acquired and released. `timeoutMs` and `signal` apply to the whole call. With
   * `timeoutMs` 0, the call makes one try for each lock, one after the other, and fails at the first lock that is not
   * free.
   *
   * @param requests - Locks of this provider, each once: `{ mutex }`, `{ read }`, `{ write }`, `{ upgradeableRead }` or
   *   `{ semaphore, permits? }`.
   * @returns One handle for all locks; its `handles` are in the order of the requests.
   * @throws `TypeError` for an empty list, for a lock that is named twice and for a lock of another provider; every
   *   error that the acquire of one lock throws. All locks that were acquired are given back before the error is
   *   thrown. If the store is silent, the call waits for the releases for at most a second, and the releases go on in
   *   the background.
   */
  async acquireAll<const R extends readonly LockRequest[]>(
    requests: R,
    options?: AcquireOptions,
  ): Promise<CompositeHandle<R>> {
    return await acquireAll(this.#engine.requester, requests, options, 'acquireAll');
  }

  /**
   * Like `acquireAll`, but makes one try for each lock unless `timeoutMs` is given. Resolves with `null` instead of
   * timing out.
   */
  async tryAcquireAll<const R extends readonly LockRequest[]>(
    requests: R,
    options?: AcquireOptions,
  ): Promise<CompositeHandle<R> | null> {
    return await nullAtTimeout(acquireAll(this.#engine.requester, requests, options, 'tryAcquireAll'));
  }

  /**
   * Reads the present state of a lock of any kind, with read concern majority; `null` if the lock is not stored.
   *
   * @throws `TypeError` or `RangeError` for a wrong name; {@link CorruptLockDocumentError},
   *   {@link StoreUnavailableError}, {@link UnsupportedServerError}, {@link ProviderClosedError}.
   */
  async inspect(name: string): Promise<LockSnapshot | null> {
    this.#engine.assertOpen();
    return await this.#engine.inspect(parseName(name));
  }

  /**
   * Reads the stored locks that `filter` selects, by default all. Yields them in the order of their names, each as
   * `inspect` shows it. A corrupt lock is left out, and causes a `storeError` event.
   *
   * @throws `TypeError` or `RangeError` for a wrong filter; {@link StoreUnavailableError},
   *   {@link UnsupportedServerError}, {@link ProviderClosedError}.
   */
  async *list(filter?: ListFilter): AsyncGenerator<LockSnapshot> {
    this.#engine.assertOpen();
    yield* this.#engine.inspector.list(parseListFilter(filter));
  }

  /**
   * Asks the holders of a lock to release it. The signal `releaseRequested` of each hold aborts with an error that says
   * which provider revoked the hold, and why. The leases are not extended any more, so each seat becomes free at its
   * release or at its expiry. If the provider of a holder has its change stream open, the stream tells the holder of
   * the revocation. Any other holder learns of the revocation at its next extension at the latest: within
   * `extendEveryMs`, a third of a lease by default.
   *
   * With `force` the seats are emptied at once. The old holders learn of the revocation in the same way, and until then
   * only tokens protect the resource. A hold that ends by a revocation, with or without `force`, is lost as `revoked`.
   * If several revocations concern one lease, the first one gives the reason, unless a later one uses `force`.
   *
   * @throws `TypeError` or `RangeError` for a wrong option; otherwise as `inspect`.
   */
  async revoke(name: string, options?: RevokeOptions): Promise<RevokeResult> {
    this.#engine.assertOpen();
    const result = await this.#engine.inspector.revoke(parseName(name), parseRevokeOptions(options));
    const confirmed = [...result.asked, ...result.evicted].map((id) => this.#engine.confirmLease(id));
    await keepAlive(Promise.all(confirmed));
    return result;
  }

  /**
   * Returns an object that is used like `navigator.locks` of the Web Locks API. A name stands for a reader-writer lock.
   * Sends nothing.
   */
  webLocks(): WebLocks {
    return new WebLocksFace(this.#engine.requester, this);
  }

  /** Returns the present health of this provider, as far as the provider knows. Sends nothing and never throws. */
  health(): LockProviderHealth {
    return this.#engine.health();
  }

  /**
   * Creates the index that purges lock documents which were not used for the retention time. The provider also creates
   * this index in the background after the first grant, unless `createIndexes` is false. Locks work without the index.
   *
   * @throws {@link StoreUnavailableError} if the server refuses or does not answer; {@link UnsupportedServerError},
   *   {@link ProviderClosedError}.
   */
  async ensureIndexes(): Promise<void> {
    this.#engine.assertOpen();
    const outcome = await keepAlive(this.#engine.ensureIndex());
    if (outcome.type === 'done') return;
    throw unavailable(null, isKnown(outcome), outcome.error);
  }

  /**
   * Ends the provider. New requests and waiting requests are rejected with {@link ProviderClosedError}, candidates and
   * jobs are stopped, and the signal `releaseRequested` of every hold aborts. The provider waits until all holds are
   * released and the claims of node-cron tasks are answered, for at most `drainMs` (0 to 24 h, default 5,000). After
   * that, the signals of the remaining holds abort, and the provider lets their leases expire: the owners may still be
   * working, so no other process gets these locks earlier. When the promise resolves, no stream or listener is left,
   * and no timer keeps the process alive. A further call waits for the same end, and its `drainMs` has no effect.
   *
   * @throws `TypeError` or `RangeError` for a wrong option. Such a call closes nothing.
   */
  async close(options?: { drainMs?: number | undefined }): Promise<void> {
    const drainMs = parseDrain('close', options);
    this.#closed ??= this.#engine.close(drainMs).then(() => {
      this.retire();
    });
    await keepAlive(this.#closed);
  }

  override toJSON(): object {
    const { processId } = this;
    return {
      processId,
      collection: this.#engine.settings.collectionName,
      closed: this.#closed !== undefined,
    };
  }

  /** Same as `close()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
