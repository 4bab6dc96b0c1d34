/** A hold of one lock or of several, until it is released or lost. */
export interface Hold extends AsyncDisposable {
  /**
   * Aborts once, with a {@link LockLostError} as its reason, when the hold is lost: the server answers that the lease
   * is gone, the local deadline passes (even if the server does not answer), or the provider ends the hold as it
   * closes. A release does not abort the signal, with one exception: the signal of a leader's term aborts before the
   * term is given back.
   */
  readonly signal: AbortSignal;

  /**
   * Aborts when the holder is asked to release the lock: by `revoke`, or because its provider closes. The lock is still
   * held then. After a revocation, the reason of the signal is an error. Its message names the provider that revoked
   * and the reason that was given, if they are known.
   */
  readonly releaseRequested: AbortSignal;

  /** Whether the caller can rely on the hold at this instant, by the local clock. Does not wait for the server. */
  readonly isHeld: boolean;

  /**
   * The time for which the caller can rely on the hold without another extension, in ms; 0 when the hold is over or
   * doubtful.
   */
  readonly remainingMs: number;

  /**
   * Throws {@link LockLostError} unless the caller can rely on the hold at this instant. The check promises nothing
   * about the next instant, so a write that must not come after a loss needs the fencing token as well.
   */
  assertHeld(): void;

  /**
   * Asks the server whether the lock is still held, and extends the lease unless the lease was revoked.
   *
   * @throws {@link LockLostError} if the lock is not held any more.
   * @throws {@link StoreUnavailableError} if the store refused, or did not answer in time: within `storeTimeoutMs`, or
   *   less for a short lease. This error does not end the hold.
   */
  confirm(): Promise<void>;

  /**
   * Releases the lock. The same update grants it to the next waiters, unless the provider keeps the seat (`keepMs`).
   * Waits at most `storeTimeoutMs` for the store, and never rejects. Further calls return the same result.
   *
   * @returns Whether the lock was still held, as far as is known. If the store does not answer in time, the release
   *   goes on in the background, and the lease ends by its expiry at the latest.
   */
  release(): Promise<boolean>;
}

/** A hold of one lock. */
export interface LockHandle extends Hold {
  /** The name of the lock. */
  readonly name: string;

  /** The attempt id, under which the lease is stored. */
  readonly id: string;

  /**
   * The fencing token, below 2^53. That of an exclusive hold is higher than every earlier token of this name. So is any
   * other one that comes with a grant of the store. But holds that share a kept read have one token, and a kept permit
   * that is used again has a token that was reserved at its grant. A change of mode brings a new token.
   */
  readonly fencingToken: number;
}
