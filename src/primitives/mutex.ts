import { inspect } from 'node:util';
import { LeaseHandle } from '../lease/holding/lock-handle.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import type { LeaseTerms } from '../options/provider-options.js';
import type { AcquireOptions } from '../options/request-options.js';
import { portrait } from '../portrait.js';
import { mutexSeats } from '../protocol/kinds/mutex-seats.js';
import type { LockSnapshot } from '../protocol/replies/snapshot.js';
import type { Requester, Target } from './requester.js';

/**
 * A lock with a single holder, granted in the order of the requests.
 *
 * Not reentrant: a holder that asks again waits for itself. Two believe to hold it only if clocks differ at a failover
 * by more than `clockAllowanceMs`, or if a process goes on past a deadline without looking; the fencing token protects
 * beyond that.
 */
export interface Mutex {
  /** As it was given to `createMutex`. */
  readonly name: string;

  /**
   * Waits until the lock is granted.
   *
   * @throws {@link AcquireTimeoutError} when `timeoutMs` is up (by default there is no bound); the reason of
   *   `options.signal` when it aborts; {@link ProviderClosedError}, {@link QueueFullError},
   *   {@link LockKindMismatchError}, {@link CorruptLockDocumentError}, {@link DeadlockError}; and
   *   {@link StoreUnavailableError} if the store refuses, or, of a single try, does not answer within
   *   `storeTimeoutMs`. A longer wait rides out trouble of the store. After any of them nothing is held.
   */
  acquire(options?: AcquireOptions): Promise<LockHandle>;

  /** Like `acquire`, with one try unless `timeoutMs` says otherwise; `null` where that would time out. */
  tryAcquire(options?: AcquireOptions): Promise<LockHandle | null>;

  /**
   * Acquires, works, releases; the release is awaited also if the work fails.
   *
   * @throws What the work throws; {@link LockLostError} if the hold was lost before the work ended.
   */
  use<T>(work: (lock: LockHandle) => T | Promise<T>, options?: AcquireOptions): Promise<T>;

  /** What the lock looks like now; `null` if it has never been used, or not for the retention time. */
  inspect(): Promise<LockSnapshot | null>;
}

/** @internal */
export class MutexFace implements Mutex {
  readonly name: string;
  readonly #requester: Requester;
  readonly #target: Target<LockHandle>;

  constructor(requester: Requester, name: string, terms: LeaseTerms, keepMs: number) {
    this.name = name;
    this.#requester = requester;
    this.#target = {
      name,
      terms,
      keepMs,
      seats: mutexSeats,
      demand: () => ({}),
      makeHandle: (hold, owner) => new LeaseHandle(hold, owner),
    };
  }

  belongsTo(requester: Requester): boolean {
    return this.#requester === requester;
  }

  acquire(options?: AcquireOptions): Promise<LockHandle> {
    return this.#requester.acquire(this.#target, options);
  }

  tryAcquire(options?: AcquireOptions): Promise<LockHandle | null> {
    return this.#requester.tryAcquire(this.#target, options);
  }

  use<T>(work: (lock: LockHandle) => T | Promise<T>, options?: AcquireOptions): Promise<T> {
    return this.#requester.use(() => this.acquire(options), work);
  }

  inspect(): Promise<LockSnapshot | null> {
    return this.#requester.inspect(this.name);
  }

  toJSON(): object {
    return { name: this.name, kind: 'mutex' };
  }

  [inspect.custom](): object {
    return portrait('Mutex', this.toJSON());
  }
}
