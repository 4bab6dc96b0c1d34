import { within } from '../clock.js';
import type { Clock } from '../clock.js';

/** The calls of `stop` for one candidate that have not resolved yet, in their order. */
export class PendingStops {
  readonly #clock: Clock;
  readonly #waiting = new Set<AbortController>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Waits until the candidacy is over. Then resolves when the work of its terms has ended, when `drainMs` have passed
   * since the call, or when a later stop has resolved, whichever comes first.
   *
   * @param stopped - Resolves when the candidacy is over.
   * @param workEnded - Called when the candidacy is over. Resolves when the work that is running at that moment has
   *   ended.
   */
  async wait(
    drainMs: number,
    stopped: Promise<void> | undefined,
    workEnded: () => Promise<void>,
  ): Promise<void> {
    const endMs = this.#clock.nowMs() + drainMs;
    const over = new AbortController();
    this.#waiting.add(over);
    await stopped;
    await within(this.#clock, Math.max(0, endMs - this.#clock.nowMs()), workEnded(), over.signal);
    if (over.signal.aborted) return;
    for (const earlier of this.#waiting) {
      this.#waiting.delete(earlier);
      if (earlier === over) break;
      earlier.abort();
    }
  }
}
