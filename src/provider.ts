import type { EventEmitter } from 'eventemitter3';
import type { Db } from 'mongodb';
import type { RevokeResult } from './admin/inspector.js';
import { parseElectionOptions } from './election/election-options.js';
import type { LeaderElectionOptions } from './election/election-options.js';
import { LeaderElection } from './election/leader-election.js';
import { Engine } from './engine.js';
import { IsolatedEmitter, PROVIDER_SAYINGS } from './events.js';
import type { LockProviderEvents, Report } from './events.js';
import { keepAlive } from './keep-alive.js';
import type { LockHandle } from './lease/holding/lock-handle.js';
import { parseDrain, parseListFilter, parseRevokeOptions } from './options/admin-options.js';
import type { ListFilter, RevokeOptions } from './options/admin-options.js';
import { parseName } from './options/checks.js';
import { parseProviderOptions } from './options/provider-options.js';
import type { LockProviderOptions } from './options/provider-options.js';
import {
  parseLimit,
  parsePrimitiveOptions,
  parseSemaphoreOptions,
  refuseKeepMs,
} from './options/request-options.js';
import type { AcquireOptions, PrimitiveOptions, SemaphoreOptions } from './options/request-options.js';
import { acquireAll } from './primitives/all-or-nothing.js';
import type { LockRequest } from './primitives/lock-request.js';
import type { CompositeHandle } from './primitives/composite-handle.js';
import { MutexFace } from './primitives/mutex.js';
import type { Mutex } from './primitives/mutex.js';
import { ReaderWriterLockFace } from './primitives/reader-writer-lock.js';
import type { ReaderWriterLock } from './primitives/reader-writer-lock.js';
import { nullAtTimeout } from './primitives/requester.js';
import { SemaphoreFace } from './primitives/semaphore.js';
import type { Semaphore } from './primitives/semaphore.js';
import type { LockSnapshot } from './protocol/replies/snapshot.js';
import { parseJobOptions } from './schedule/job-options.js';
import type { ScheduledJobOptions } from './schedule/job-options.js';
import { ScheduledJob } from './schedule/scheduled-job.js';
import { isKnown } from './store/outcome.js';
import { unavailable } from './store/unavailable.js';

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
  readonly #engine: Engine;
  #closed: Promise<void> | undefined;

  /**
   * @throws `TypeError` or `RangeError` naming the option, the rule and the value; also for a client whose pool has
   *   room for one connection only where a change stream is demanded.
   */
  constructor(db: Db, options?: LockProviderOptions) {
    super(PROVIDER_SAYINGS);
    const report: Report = (event, ...payload) => {
      this.emit(event, ...(payload as EventEmitter.EventArgs<LockProviderEvents, typeof event>));
    };
    this.#engine = new Engine(db, parseProviderOptions(options), report);
    this.processId = this.#engine.processId;
  }

  /**
   * A mutex of this name. Sends nothing; any number of objects of one name are the same lock.
   *
   * @param name - 1 to 1,024 bytes of UTF-8; any character, case-sensitive, not normalised.
   * @throws `TypeError` for a name that is no string or not well-formed, `RangeError` for one that is empty or longer.
   */
  createMutex(name: string, options?: PrimitiveOptions): Mutex {
    const { requester, settings } = this.#engine;
    const checkedName = parseName(name);
    const { terms, keepMs } = parsePrimitiveOptions(settings, 'createMutex', options);
    return new MutexFace(requester, checkedName, terms, keepMs);
  }

  /**
   * A reader-writer lock of this name. Sends nothing; any number of objects of one name are the same lock.
   *
   * @throws As `createMutex`.
   */
  createReaderWriterLock(name: string, options?: PrimitiveOptions): ReaderWriterLock {
    const { requester, settings } = this.#engine;
    const checkedName = parseName(name);
    const { terms, keepMs } = parsePrimitiveOptions(settings, 'createReaderWriterLock', options);
    // Its seats are not kept: who may enter beside whom is for the server to say.
    refuseKeepMs(keepMs, 'a reader-writer lock');
    return new ReaderWriterLockFace(requester, checkedName, terms);
  }

  /**
   * A semaphore of this name. Sends nothing; any number of objects of one name are the same semaphore.
   *
   * @param limit - How many permits there are: 1 to 2^31 − 1. Stored with the lock at its first use; afterwards the
   *   stored one counts (see {@link SemaphoreOptions}).
   * @throws As `createMutex`; `TypeError` or `RangeError` for a wrong limit.
   */
  createSemaphore(name: string, limit: number, options?: SemaphoreOptions): Semaphore {
    const { requester, settings } = this.#engine;
    const checkedName = parseName(name);
    const parsed = parseSemaphoreOptions(settings, 'createSemaphore', options);
    return new SemaphoreFace(requester, checkedName, parseLimit(limit), parsed);
  }

  /**
   * A candidate of the election of this name. Sends nothing before its start; any number of objects of one name, here
   * and elsewhere, are candidates of the same election.
   *
   * @throws As `createMutex`; for a wrong option.
   */
  createLeaderElection(name: string, options?: LeaderElectionOptions): LeaderElection {
    const { elections, settings } = this.#engine;
    return new LeaderElection(
      elections,
      parseName(name),
      parseElectionOptions(settings, this.processId, options),
    );
  }

  /**
   * A job that the leader of an election runs, of this name unless another one is given. Sends nothing before its start;
   * any number of objects of one name in other processes are the same job, and should have the same options.
   *
   * @throws As `createMutex`; for a wrong option.
   */
  createScheduledJob(name: string, options: ScheduledJobOptions): ScheduledJob {
    const parsed = parseJobOptions(options);
    return new ScheduledJob(this.#engine.elections, parseName(name), parsed, options.election);
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
   * Acquires all of these locks, or none. They are taken one after the other in the order of their names, whatever the
   * order in which they are given, so that callers who want the same locks never wait for each other in a circle; that
   * does not cover what is upgraded later. `timeoutMs` and `signal` are those of the whole.
   *
   * @param requests - Locks of this provider, each once: `{ mutex }`, `{ read }`, `{ write }`, `{ upgradeableRead }` or
   *   `{ semaphore, permits? }`.
   * @returns One handle for all; `handles` are in the order of the requests.
   * @throws `TypeError` for an empty list, a lock that is named twice or of another provider; what the acquire of each
   *   throws. Before that everything taken is given back; if the store is silent, the error comes at most a second later,
   *   and giving back goes on in the background.
   */
  async acquireAll<const R extends readonly LockRequest[]>(
    requests: R,
    options?: AcquireOptions,
  ): Promise<CompositeHandle<R>> {
    return await acquireAll(this.#engine.requester, requests, options, 'acquireAll');
  }

  /** Like `acquireAll`, with one try of each unless `timeoutMs` says otherwise; `null` where that would time out. */
  async tryAcquireAll<const R extends readonly LockRequest[]>(
    requests: R,
    options?: AcquireOptions,
  ): Promise<CompositeHandle<R> | null> {
    return await nullAtTimeout(acquireAll(this.#engine.requester, requests, options, 'tryAcquireAll'));
  }

  /**
   * What a lock of any kind looks like now, by a majority's read; `null` if it is not stored.
   *
   * @throws {@link CorruptLockDocumentError}, {@link StoreUnavailableError}, {@link UnsupportedServerError}, {@link ProviderClosedError}.
   */
  async inspect(name: string): Promise<LockSnapshot | null> {
    this.#engine.assertOpen();
    return await this.#engine.inspect(parseName(name));
  }

  /**
   * All stored locks in the order of their names, as `inspect` shows each. A corrupt one is reported as a `storeError`
   * event and left out.
   *
   * @throws {@link StoreUnavailableError}, {@link UnsupportedServerError}, {@link ProviderClosedError}.
   */
  async *list(filter?: ListFilter): AsyncGenerator<LockSnapshot> {
    this.#engine.assertOpen();
    yield* this.#engine.inspector.list(parseListFilter(filter));
  }

  /**
   * Asks the holders of a lock to release: their `releaseRequested` aborts with an error that says who revoked and why,
   * and their leases are not extended any more, so that each seat ends at its release or expiry. A holder whose provider
   * has its change stream open hears of it at once, any other one at its next extension: within `extendEveryMs`, a third of
   * a lease by default.
   *
   * With `force` the seats are emptied at once, and until the old holders hear of it, as late as that, only tokens protect.
   * A hold that ends by its revocation, either way, is lost as `revoked`. If several revocations concern one lease, the
   * first one says why, unless a later one uses `force`.
   *
   * @throws `TypeError` or `RangeError` for a wrong option; as `inspect`.
   */
  async revoke(name: string, options?: RevokeOptions): Promise<RevokeResult> {
    this.#engine.assertOpen();
    const result = await this.#engine.inspector.revoke(parseName(name), parseRevokeOptions(options));
    const looks = [...result.asked, ...result.evicted].map((id) => this.#engine.look(id));
    await keepAlive(Promise.all(looks));
    return result;
  }

  /**
   * Makes the index that purges lock documents which nobody has used for the retention time. Also done in the
   * background after the first grant; locks work without it.
   *
   * @throws {@link StoreUnavailableError}, {@link UnsupportedServerError} if the server refuses or does not answer.
   */
  async ensureIndexes(): Promise<void> {
    this.#engine.assertOpen();
    const outcome = await keepAlive(this.#engine.ensureIndex());
    if (outcome.type === 'done') return;
    throw unavailable(null, isKnown(outcome), outcome.error);
  }

  /**
   * Ends the provider. New requests and waiters get {@link ProviderClosedError}; `releaseRequested` of every hold
   * aborts; it resolves as soon as all are released. After `drainMs` (default 5,000) the signals of those still held
   * abort, and their leases are left to expire: a lock is never given away under a running owner. Then streams, timers
   * and listeners are gone. May be called again.
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

  /** `close()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
