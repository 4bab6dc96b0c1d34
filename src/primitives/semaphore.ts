import { inspect } from 'node:util';
import { keepAlive } from '../keep-alive.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import { PermitLeaseHandle } from '../lease/holding/permit-handle.js';
import type { PermitHandle } from '../lease/holding/permit-handle.js';
import type { LeaseDurations } from '../options/provider-options.js';
import { parseLimit, parsePermitOptions } from '../options/request-options.js';
import type { ParsedKeeping, ParsedSemaphoreOptions, PermitOptions } from '../options/request-options.js';
import { portrait } from '../portrait.js';
import { semaphoreRules } from '../protocol/kinds/semaphore-rules.js';
import type { LockSnapshot } from '../protocol/replies/snapshot.js';
import type { Requester, Target } from './requester.js';
import { SemaphoreLimit } from './semaphore-limit.js';

/**
 * A number of permits that are granted in the order of the requests. The first request in the queue enters when its
 * permits are free. No later request overtakes it, so small requests do not starve a large one. The options `keepMs`
 * and `passes` allow bounded exceptions.
 *
 * The limit is stored with the lock, and the stored limit counts for all processes. A semaphore is not reentrant. In
 * the cases that {@link Mutex} lists, processes can believe that they hold more permits than the limit. Permits do not
 * fence, because several of their tokens can be live at a time.
 */
export interface Semaphore {
  /** The name that was given to `createSemaphore`. */
  readonly name: string;

  /**
   * The limit as an answer to a request of this object last showed it, or as `resize` of this object last set it.
   * Before both, the limit given to `createSemaphore`.
   */
  readonly limit: number;

  /**
   * Waits until the permits are granted, all of them together. After any error nothing is held.
   *
   * @throws As `acquire` of a {@link Mutex}; `RangeError` for more permits than the known limit;
   *   {@link SemaphoreLimitMismatchError} if another limit is stored while the semaphore is in use, `whenLimitDiffers`
   *   is `throw`, and this object has not yet seen the two limits agree; the same error if the stored limit is, or
   *   becomes, less than the number of permits in the request.
   */
  acquire(options?: PermitOptions): Promise<PermitHandle>;

  /** Like `acquire`, but makes one try unless `timeoutMs` is given. Resolves with `null` instead of timing out. */
  tryAcquire(options?: PermitOptions): Promise<PermitHandle | null>;

  /**
   * Acquires permits, calls `work`, and releases the permits, even if `work` fails. Settles after the release.
   *
   * @throws As `acquire`; what `work` throws; {@link LockLostError} if the hold was lost before `work` ended.
   */
  use<T>(work: (lock: PermitHandle) => T | Promise<T>, options?: PermitOptions): Promise<T>;

  /**
   * Sets the stored limit. After a raise, the same update grants the waiting requests that now fit. A lower limit takes
   * no permit away, and takes effect as permits come back; a request that waits for more than the new limit gets a
   * {@link SemaphoreLimitMismatchError}. If there is no document yet, the resize creates none: a later request of this
   * object that creates the document stores the new limit.
   *
   * @param limit - 1 to 2^31 − 1.
   * @returns Resolves when the limit is stored (if there is a document) and no copy of the resize can take effect any
   *   more. If an answer was lost, that is up to about `storeTimeoutMs` later.
   * @throws `TypeError`, `RangeError`; {@link LockKindMismatchError}, {@link CorruptLockDocumentError},
   *   {@link ProviderClosedError}, {@link UnsupportedServerError}; {@link StoreUnavailableError} if the store refuses,
   *   or does not answer within `storeTimeoutMs`.
   */
  resize(limit: number): Promise<void>;

  /**
   * Reads how many permits are free, with read concern majority. The number is never negative, although a resize may
   * have left more permits taken than the limit. A new request may have to wait even if permits are free, because
   * waiters come first.
   *
   * @throws {@link LockKindMismatchError}; the errors of `inspect` of the provider.
   */
  available(): Promise<number>;

  /**
   * Reads the present state of the lock of this name, of whatever kind it is; `null` if none is stored, for example
   * because it was never used, or was purged after the retention time.
   */
  inspect(): Promise<LockSnapshot | null>;
}

/** @internal */
export class SemaphoreFace implements Semaphore {
  readonly name: string;
  readonly #requester: Requester;
  readonly #durations: LeaseDurations;
  readonly #keeping: ParsedKeeping;
  readonly #limit: SemaphoreLimit;

  constructor(
    requester: Requester,
    name: string,
    limit: number,
    { durations, keeping, whenLimitDiffers }: ParsedSemaphoreOptions,
  ) {
    this.name = name;
    this.#requester = requester;
    this.#durations = durations;
    this.#keeping = keeping;
    this.#limit = new SemaphoreLimit(requester.context, name, limit, whenLimitDiffers);
  }

  get limit(): number {
    return this.#limit.known;
  }

  belongsTo(requester: Requester): boolean {
    return this.#requester === requester;
  }

  target(permits: number): Target<PermitHandle> {
    return {
      name: this.name,
      durations: this.#durations,
      keeping: this.#keeping,
      rules: semaphoreRules,
      demand: () => this.#limit.demand(permits),
      onReply: (reply) => {
        this.#limit.note(reply);
      },
      makeHandle: (hold, holds) => new PermitLeaseHandle(hold, holds),
      // Other holders may give back their permits. The caller's own chain of calls usually gives back none while the
      // caller waits.
      isHopeless: (held) => permitsOf(held) + permits > this.limit,
    };
  }

  async acquire(options?: PermitOptions): Promise<PermitHandle> {
    const { permits, request } = parsePermitOptions(options, this.limit, 'acquire');
    return await this.#requester.acquire(this.target(permits), request);
  }

  async tryAcquire(options?: PermitOptions): Promise<PermitHandle | null> {
    const { permits, request } = parsePermitOptions(options, this.limit, 'tryAcquire');
    return await this.#requester.tryAcquire(this.target(permits), request);
  }

  use<T>(work: (lock: PermitHandle) => T | Promise<T>, options?: PermitOptions): Promise<T> {
    return this.#requester.use(() => this.acquire(options), work);
  }

  async resize(limit: number): Promise<void> {
    await keepAlive(this.#limit.resize(parseLimit(limit)));
  }

  async available(): Promise<number> {
    return this.#limit.availableIn(await this.inspect());
  }

  inspect(): Promise<LockSnapshot | null> {
    return this.#requester.inspect(this.name);
  }

  toJSON(): object {
    return { name: this.name, kind: 'semaphore', limit: this.limit };
  }

  [inspect.custom](): object {
    return portrait('Semaphore', this.toJSON());
  }
}

const permitsOf = (held: readonly LockHandle[]): number =>
  held.reduce((sum, handle) => sum + (handle instanceof PermitLeaseHandle ? handle.permits : 0), 0);
