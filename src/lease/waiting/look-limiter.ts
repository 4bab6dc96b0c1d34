/**
 * So many looks of one provider are in flight. When a stream breaks, every lock that is waited for is looked at: thousands
 * of updates at once would keep the extensions of leases waiting, for the pool of connections and for the server.
 */
const MAX_LOOKS_IN_FLIGHT = 8;

/** Lets the locks that want a look have it in turn. */
export class LookLimiter {
  readonly #wanted = new Set<() => Promise<void>>();
  #inFlight = 0;

  /** Calls this once, when it is its turn; asked for again before that, it is still called once. */
  want(look: () => Promise<void>): void {
    this.#wanted.add(look);
    this.#next();
  }

  /** Nobody waits for that lock any more. */
  forget(look: () => Promise<void>): void {
    this.#wanted.delete(look);
  }

  #next(): void {
    for (const look of this.#wanted) {
      if (this.#inFlight >= MAX_LOOKS_IN_FLIGHT) return;
      this.#wanted.delete(look);
      this.#inFlight += 1;
      void look().finally(() => {
        this.#inFlight -= 1;
        this.#next();
      });
    }
  }
}
