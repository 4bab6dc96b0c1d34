/** The connections of the client's pool that transitions leave to other commands, unless the pool has only one. */
const RESERVED = 1;

/**
 * Bounds how many transitions of one provider are in flight: one less than the client's pool has connections, but at
 * least one. A fast path, and a group of them, counts as one transition. The other transitions wait here and not in the
 * pool, which serves its queue first come, first served. In the pool, thousands of requests and looks would delay the
 * extensions until leases expire. Extensions, reads and other commands do not wait here.
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
   * Runs `send` when its turn comes.
   *
   * @param signal - Ends the wait. Then the command is not sent, and this method rejects with the reason.
   */
  async pass<T>(signal: AbortSignal, send: () => Promise<T>): Promise<T> {
    if (this.#inFlight >= this.#limit) await this.#waitForSlot(signal);
    else this.#inFlight += 1;
    try {
      return await send();
    } finally {
      this.#leave();
    }
  }

  /** Resolves when a command that is done passes its slot on. */
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
