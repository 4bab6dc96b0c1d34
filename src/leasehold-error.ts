/** The stable `code` of every {@link LeaseholdError}. */
export type LeaseholdErrorCode =
  | 'ACQUIRE_TIMEOUT'
  | 'LOCK_LOST'
  | 'LOCK_KIND_MISMATCH'
  | 'LOCK_MODE'
  | 'SEMAPHORE_LIMIT_MISMATCH'
  | 'QUEUE_FULL'
  | 'CORRUPT_LOCK_DOCUMENT'
  | 'PROVIDER_CLOSED'
  | 'STORE_UNAVAILABLE'
  | 'UNSUPPORTED_SERVER'
  | 'STALE_TOKEN'
  | 'DEADLOCK'
  | 'JOB_NOT_STARTED'
  | 'QUORUM';

/** The base class of all errors of this library. A wrong argument causes a `TypeError` or a `RangeError` instead. */
export abstract class LeaseholdError extends Error {
  /**
   * Identifies the kind of failure. The code also works between two copies of this package, where `instanceof` does
   * not.
   */
  abstract readonly code: LeaseholdErrorCode;

  /** The lock that the error is about; `null` if the error is not about one lock. */
  readonly lockName: string | null;

  /** @internal */
  constructor(lockName: string | null, message: string, options?: ErrorOptions) {
    super(message, options);
    this.lockName = lockName;
    this.name = new.target.name;
  }
}
