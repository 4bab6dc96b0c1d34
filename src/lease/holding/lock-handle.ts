/** A hold of one lock or of several, until it is released or lost. */
export interface Hold extends AsyncDisposable {
  /**
   * Aborts once, with a {@link LockLostError} as its reason, when the hold is lost: the server answers that the lease
   * is gone, the local deadline passes (even if the server does not answer), or the provider ends the hold as it
   * closes. A release does not abort the signal. The one exception is the signal of a leader's term, which aborts
   * before the term is given back.
   */
  readonly signal: AbortSignal;

  /**
   * Aborts when `revoke` or the closing of the provider asks the holder to release the lock. The lock is still held
   * then. After a revocation, the reason of the signal is an error. Its message names the provider that revoked, and
   * the reason given to `revoke`, if they are known.
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
   * Throws {@link LockLostError} if the caller cannot rely on the hold at this instant. The check promises nothing
   * about the next instant: a write that must not come after a loss also needs the fencing token.
   */
  assertHeld(): void;

  /**
   * Asks the server whether the lock is still held, and extends the lease. A revoked lease is not extended.
   *
   * @throws {@link LockLostError} if the lock is not held any more.
   * @throws {@link StoreUnavailableError} if the store refused, or gave no answer within `storeTimeoutMs`. In that
   *   time, the call asks again after failures that may pass. This error does not end the hold.
   */
  confirm(): Promise<void>;

  /**
   * Releases the lock. The update that gives the seat back also grants the lock to the next waiters. With `keepMs`, the
   * provider may keep the seat instead. Waits at most `storeTimeoutMs` for the store, and never rejects. Further calls
   * return the same result.
   *
   * On the term of a leader, `release` ends the term as `LeaderElection.resign` does, and waits for its work.
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

  /** The attempt id, under which the lease is stored. The hold of a quorum has the id of the lease in one store. */
  readonly id: string;

  /**
   * The fencing token, below 2^53. The token of an exclusive hold is higher than every earlier token of this name. So
   * is the token of any other hold, with three exceptions: holds that share a kept read have the same token, a kept
   * permit that is used again has a token that was reserved at its grant, and the tokens of quorum reads that overlap
   * need not rise. A change of mode brings a new token.
   */
  readonly fencingToken: number;
}
