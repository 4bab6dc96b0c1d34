import { turnOver } from '../clock.js';
import type { Clock } from '../clock.js';

/** So many requests that are answered without the server take 2 to 4 ms (docs/performance.md). */
const MOST_IN_A_TURN = 256;

/**
 * Bounds how many requests of a provider end in one turn of the event loop.
 *
 * Some requests end without I/O: a kept seat is shared or passed on, a try finds that its own process has the lock, the
 * provider is closed. If callers ask again as soon as such a request has ended, the event loop stays in one turn: no
 * timer fires, and the process does not hear that others wait. Readers of a kept seat did that for two thirds of the
 * lease. So after that many requests, the caller of the next one is told after the turn, and so are the callers whose
 * requests end before that. What a request has got is settled at once.
 */
export class TurnLimit {
  readonly #clock: Clock;
  /** How many requests have ended since the last one that waited. Not per turn: that would need a timer in each. */
  #count = 0;
  #waiting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Called when a request ends. Returns a promise if its caller must wait; else `undefined`. */
  ended(): Promise<void> | undefined {
    this.#count += 1;
    return this.#count <= MOST_IN_A_TURN ? undefined : this.#wait();
  }

  /**
   * Each caller waits for a turn of its own: a test with faked timers may drop one. The count begins anew after the last
   * of them, so that no later request ends before.
   */
  async #wait(): Promise<void> {
    this.#waiting += 1;
    await turnOver(this.#clock);
    this.#waiting -= 1;
    if (this.#waiting === 0) this.#count = 0;
  }
}
