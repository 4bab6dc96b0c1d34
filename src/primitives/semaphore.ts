import { inspect } from 'node:util';
import { keepAlive } from '../keep-alive.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import { PermitLeaseHandle } from '../lease/holding/permit-handle.js';
import type { PermitHandle } from '../lease/holding/permit-handle.js';
import type { LeaseTerms } from '../options/provider-options.js';
import { parseLimit, parsePermitOptions } from '../options/request-options.js';
import type { ParsedSemaphoreOptions, PermitOptions } from '../options/request-options.js';
import { portrait } from '../portrait.js';
import { semaphoreSeats } from '../protocol/kinds/semaphore-seats.js';
import type { LockSnapshot } from '../protocol/replies/snapshot.js';
import type { Requester, Target } from './requester.js';
import { SemaphoreLimit } from './semaphore-limit.js';

/**
 * So many permits, given in the order of the requests: the first one in the queue enters when its permits are free, and
 * nobody passes it, so that a large request is not starved by small ones.
 *
 * The limit is stored with the lock, and what is stored counts for everybody. Not reentrant, as a {@link Mutex} is not;
 * what that says about clocks holds here, too. Permits do not fence: several of their tokens are live at a time.
 */
export interface Semaphore {
  /** As it was given to `createSemaphore`. */
  readonly name: string;

  /** How many permits there are, as it was last seen in the store; before that, as it was given. */
  readonly limit: number;

  /**
   * Waits until the permits are granted, all of them together.
   *
   * @throws As `acquire` of a {@link Mutex}; `RangeError` for more permits than the known limit;
   *   {@link SemaphoreLimitMismatchError} if another limit is stored while the semaphore is in use and `whenLimitDiffers`
   *   is `throw`, or if the stored limit is, or has become, less than the permits asked for. After any error nothing is
   *   held.
   */
  acquire(options?: PermitOptions): Promise<PermitHandle>;

  /** Like `acquire`, with one try unless `timeoutMs` says otherwise; `null` where that would time out. */
  tryAcquire(options?: PermitOptions): Promise<PermitHandle | null>;

  /**
   * Acquires, works, releases; the release is awaited also if the work fails.
   *
   * @throws What the work throws; {@link LockLostError} if the hold was lost before the work ended.
   */
  use<T>(work: (lock: PermitHandle) => T | Promise<T>, options?: PermitOptions): Promise<T>;

  /**
   * Sets the stored limit. More permits go to whoever waits, in the same update. Fewer take effect as permits come back:
   * none is taken away. Requests that wait for more than the new limit get a {@link SemaphoreLimitMismatchError}. Where
   * nothing is stored yet, it is the limit that this object will store.
   *
   * @param limit - 1 to 2^31 − 1.
   * @returns Resolves when the limit is stored, and when no copy of the request can come to the server any more: if an
   *   answer was lost, that is up to `storeTimeoutMs` later.
   * @throws `TypeError`, `RangeError`; {@link LockKindMismatchError}, {@link CorruptLockDocumentError},
   *   {@link ProviderClosedError}; {@link StoreUnavailableError} if the store does not answer within `storeTimeoutMs`.
   */
  resize(limit: number): Promise<void>;

  /**
   * How many permits nobody holds, by a majority's read; never negative, though a resize may have left more out than
   * there are. Whoever waits comes first, so a request may wait all the same.
   *
   * @throws {@link LockKindMismatchError}, and as `inspect` of the provider.
   */
  available(): Promise<number>;

  /** What the semaphore looks like now; `null` if it has never been used, or not for the retention time. */
  inspect(): Promise<LockSnapshot | null>;
}

/** @internal */
export class SemaphoreFace implements Semaphore {
  readonly name: string;
  readonly #requester: Requester;
  readonly #terms: LeaseTerms;
  readonly #keepMs: number;
  readonly #limit: SemaphoreLimit;

  constructor(
    requester: Requester,
    name: string,
    limit: number,
    { terms, keepMs, whenLimitDiffers }: ParsedSemaphoreOptions,
  ) {
    this.name = name;
    this.#requester = requester;
    this.#terms = terms;
    this.#keepMs = keepMs;
    this.#limit = new SemaphoreLimit(requester.context, name, limit, whenLimitDiffers);
  }

  get limit(): number {
    return this.#limit.known;
  }

  belongsTo(requester: Requester): boolean {
    return this.#requester === requester;
  }

  async acquire(options?: PermitOptions): Promise<PermitHandle> {
    const { permits, request } = parsePermitOptions(options, this.limit, 'acquire');
    return await this.#requester.acquire(this.#target(permits), request);
  }

  async tryAcquire(options?: PermitOptions): Promise<PermitHandle | null> {
    const { permits, request } = parsePermitOptions(options, this.limit, 'tryAcquire');
    return await this.#requester.tryAcquire(this.#target(permits), request);
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

  #target(permits: number): Target<PermitHandle> {
    return {
      name: this.name,
      terms: this.#terms,
      keepMs: this.#keepMs,
      seats: semaphoreSeats,
      demand: () => this.#limit.demand(permits),
      onReply: (reply) => {
        this.#limit.note(reply);
      },
      makeHandle: (hold, holds) => new PermitLeaseHandle(hold, holds),
      // Others may give back theirs; what the chain itself holds it cannot give back while it waits.
      isHopeless: (held) => permitsOf(held) + permits > this.limit,
    };
  }
}

const permitsOf = (held: readonly LockHandle[]): number =>
  held.reduce((sum, handle) => sum + (handle instanceof PermitLeaseHandle ? handle.permits : 0), 0);
