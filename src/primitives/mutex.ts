import { inspect } from 'node:util';
import { LeaseHandle } from '../lease/holding/lease-handle.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import type { LeaseDurations } from '../options/provider-options.js';
import type { AcquireOptions, ParsedKeeping } from '../options/request-options.js';
import { portrait } from '../portrait.js';
import { mutexRules } from '../protocol/kinds/mutex-rules.js';
import type { LockSnapshot } from '../protocol/replies/snapshot.js';
import type { Requester, Target } from './requester.js';

/**
 * A lock with a single holder, granted in the order of the requests. The options `keepMs` and `passes` allow bounded
 * exceptions.
 *
 * A mutex is not reentrant: a holder that requests the lock again waits for itself. Inside `use`, such a request
 * without a timeout gets a {@link DeadlockError}.
 *
 * Two processes can both believe that they hold the lock only in these cases, in which the fencing token protects the
 * resource:
 *
 * - The server's clock jumps forward by more than `clockAllowanceMs`, for example at a failover.
 * - The clock of a process falls behind by more than `clockAllowanceMs`, and the library does not notice. For example,
 *   the clock stands still while a virtual machine is paused.
 * - A process continues past its deadline without a check.
 * - A revocation by force has given the lock to another process, and the old holder has not learned of the revocation.
 * - Other software than this library has changed, dropped or restored the lock document.
 */
export interface Mutex {
  /** The name that was given to `createMutex`. */
  readonly name: string;

  /**
   * Waits until the lock is granted. After any error nothing is held.
   *
   * @throws {@link AcquireTimeoutError} when `timeoutMs` is up (by default there is no bound); the reason of
   *   `options.signal` when that signal aborts; `TypeError` or `RangeError` for a wrong option;
   *   {@link ProviderClosedError}, {@link QueueFullError}, {@link LockKindMismatchError},
   *   {@link CorruptLockDocumentError}, {@link DeadlockError}, {@link UnsupportedServerError}; and
   *   {@link StoreUnavailableError} if the store refuses, or if a try (`timeoutMs` 0) gets no answer within
   *   `storeTimeoutMs`. A longer wait continues while the store does not answer.
   */
  acquire(options?: AcquireOptions): Promise<LockHandle>;

  /** Like `acquire`, but makes one try unless `timeoutMs` is given. Resolves with `null` instead of timing out. */
  tryAcquire(options?: AcquireOptions): Promise<LockHandle | null>;

  /**
   * Acquires the lock, calls `work`, and releases the lock, even if `work` fails. Settles after the release.
   *
   * @throws As `acquire`; what `work` throws; {@link LockLostError} if the hold was lost before `work` ended.
   */
  use<T>(work: (lock: LockHandle) => T | Promise<T>, options?: AcquireOptions): Promise<T>;

  /**
   * Reads the present state of the lock of this name, of whatever kind it is; `null` if none is stored, for example
   * because it was never used, or was purged after the retention time.
   */
  inspect(): Promise<LockSnapshot | null>;
}

/** @internal */
export class MutexFace implements Mutex {
  readonly name: string;
  readonly target: Target<LockHandle>;
  readonly #requester: Requester;

  constructor(requester: Requester, name: string, durations: LeaseDurations, keeping: ParsedKeeping) {
    this.name = name;
    this.#requester = requester;
    this.target = {
      name,
      durations,
      keeping,
      rules: mutexRules,
      demand: () => ({}),
      makeHandle: (hold, holds) => new LeaseHandle(hold, holds),
    };
  }

  belongsTo(requester: Requester): boolean {
    return this.#requester === requester;
  }

  acquire(options?: AcquireOptions): Promise<LockHandle> {
    return this.#requester.acquire(this.target, options);
  }

  tryAcquire(options?: AcquireOptions): Promise<LockHandle | null> {
    return this.#requester.tryAcquire(this.target, options);
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
