/**
 * The most looks that one provider has in flight. After each opening of its change stream, the process looks at every
 * lock that it waits for. Without this limit, thousands of updates at once would delay lease extensions, in the
 * connection pool and on the server.
 */
const MAX_LOOKS_IN_FLIGHT = 8;

/** Bounds how many looks of one provider are in flight; the other looks wait their turn. */
export class LookLimiter {
  readonly #requested = new Set<() => Promise<void>>();
  #inFlight = 0;

  /**
   * Calls `look` once, when its turn comes, unless `cancel` is called before. Until then, another request of the same
   * look has no effect.
   */
  request(look: () => Promise<void>): void {
    this.#requested.add(look);
    this.#next();
  }

  cancel(look: () => Promise<void>): void {
    this.#requested.delete(look);
  }

  #next(): void {
    for (const look of this.#requested) {
      if (this.#inFlight >= MAX_LOOKS_IN_FLIGHT) return;
      this.#requested.delete(look);
      this.#inFlight += 1;
      void look().finally(() => {
        this.#inFlight -= 1;
        this.#next();
      });
    }
  }
}
