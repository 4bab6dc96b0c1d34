/** Beside the one connection that is left for a command that does not wait here. */
const LEFT_FREE = 1;

/**
 * Lets as many transitions of one provider be on their way at once as the client's pool has connections, less one. The
 * others wait here and not in the pool, which serves first come first: there thousands of requests and looks would be in
 * the way of the extensions, and leases would end meanwhile. No other command waits here.
 */
export class CommandGate {
  readonly #limit: number;
  readonly #waiting = new Set<() => void>();
  #passing = 0;

  /** @param poolSize - Of the client; 0: it has no bound. */
  constructor(poolSize: number) {
    this.#limit = poolSize === 0 ? Infinity : Math.max(1, poolSize - LEFT_FREE);
  }

  /**
   * Runs the command when its turn has come.
   *
   * @param signal - Ends the wait; then the command is not sent, and this rejects with the reason.
   */
  async pass<T>(signal: AbortSignal, send: () => Promise<T>): Promise<T> {
    if (this.#passing >= this.#limit) await this.#turn(signal);
    else this.#passing += 1;
    try {
      return await send();
    } finally {
      this.#leave();
    }
  }

  /** Resolves when one that has passed hands its place over. */
  async #turn(signal: AbortSignal): Promise<void> {
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
      this.#passing -= 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
