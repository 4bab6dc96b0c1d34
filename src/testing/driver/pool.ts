/** The connections of one client. Commands that find no free connection wait, first come, first served. */
export class Pool {
  readonly #size: number;
  readonly #waiting = new Set<() => void>();
  #used = 0;

  /** @param size - 0 means that there is no bound. */
  constructor(size: number) {
    this.#size = size === 0 ? Infinity : size;
  }

  /** Resolves with a function that gives the connection back. An abort of the signal ends the wait. */
  async checkOut(signal: AbortSignal | undefined): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#used < this.#size) this.#used += 1;
    else await this.#turn(signal);
    let isOut = true;
    return () => {
      if (isOut) this.#checkIn();
      isOut = false;
    };
  }

  #checkIn(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#used -= 1;
    else {
      this.#waiting.delete(next);
      next();
    }
  }

  async #turn(signal: AbortSignal | undefined): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const enter = (): void => {
        signal?.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = (): void => {
        this.#waiting.delete(enter);
        reject(signal?.reason as Error);
      };
      this.#waiting.add(enter);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  }
}
