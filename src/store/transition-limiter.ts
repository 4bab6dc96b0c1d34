/**
 * Transitions leave this many connections of the client's pool to other commands. A pool of one connection has none to
 * spare.
 */
const RESERVED = 1;

/**
 * Bounds how many transitions of one provider are in flight: one less than the client's pool has connections, but at
 * least one. A fast path counts as one transition, and so does a group of fast paths. Further transitions wait here.
 * The pool serves its queue first come, first served: thousands of transitions in that queue would delay the extensions
 * until leases expire. Extensions, reads and other commands do not wait here.
 */
export class TransitionLimiter {
  readonly #limit: number;
  readonly #waiting = new Set<() => void>();
  #inFlight = 0;

  /** @param poolSize - The pool size of the client; 0 means unbounded. */
  constructor(poolSize: number) {
    this.#limit = poolSize === 0 ? Infinity : Math.max(1, poolSize - RESERVED);
  }

  /**
   * Resolves as soon as a slot is free. The caller must call the returned function to leave the slot. Only the first call
   * of that function has an effect.
   *
   * @param signal - Ends the wait: this method rejects with the signal's reason. A signal that has aborted before the
   *   call has the same effect.
   */
  async enter(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#inFlight >= this.#limit) await this.#waitForSlot(signal);
    else this.#inFlight += 1;
    let hasLeft = false;
    return () => {
      if (!hasLeft) this.#leave();
      hasLeft = true;
    };
  }

  /** Resolves when a transition in flight has ended and has left its slot to this caller. */
  async #waitForSlot(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = (): void => {
        this.#waiting.delete(enter);
        reject(signal.reason as Error);
      };
      this.#waiting.add(enter);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#inFlight -= 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
