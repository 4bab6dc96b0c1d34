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

/**
 * Marks the errors of all copies of this package in a process. A process may load the ES modules beside the CommonJS
 * files, or two versions.
 */
const BRAND = Symbol.for('leasehold.error');

/** The base class of all errors of this library. A wrong argument causes a `TypeError` or a `RangeError` instead. */
export abstract class LeaseholdError extends Error {
  /**
   * The code of all errors of a class. The base class has none. A class that an application derives inherits the code.
   *
   * @internal
   */
  static readonly codeOfAll: LeaseholdErrorCode | undefined = undefined;

  /** Identifies the kind of failure. */
  abstract readonly code: LeaseholdErrorCode;

  /** The lock that the error is about; `null` if the error is not about one lock. */
  readonly lockName: string | null;

  /** @internal */
  constructor(lockName: string | null, message: string, options?: ErrorOptions) {
    super(message, options);
    this.lockName = lockName;
    this.name = new.target.name;
  }

  /** @internal */
  // eslint-disable-next-line @typescript-eslint/class-literal-property-style -- a field would be shown with each error
  get [BRAND](): true {
    return true;
  }

  /**
   * `instanceof` also recognises the errors of another copy of this package, by their code. For a class that an
   * application derives from an error class, `instanceof` recognises only the instances of the derived class.
   *
   * @internal
   */
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (Function.prototype[Symbol.hasInstance].call(this, value)) return true;
    if (typeof value !== 'object' || value === null || !(BRAND in value)) return false;
    if (!Object.hasOwn(this, 'codeOfAll')) return false;
    return this.codeOfAll === undefined || this.codeOfAll === (value as Partial<LeaseholdError>).code;
  }
}
