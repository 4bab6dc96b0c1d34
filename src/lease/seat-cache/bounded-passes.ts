import type { Clock } from '../../clock.js';
import type { ParsedKeeping } from '../../options/request-options.js';

/**
 * Counts the passes of the seats of one lock while another process waits, and says whether one more may begin.
 *
 * The count starts anew when this process is granted a seat after another process had one. The sign of that is an
 * answer that shows a lease of another process with a higher token than the last grant to this process. If the waiters
 * of other processes give up instead, the count goes on. If the count started anew then, as many callers as `passes`
 * allows could overtake a waiter each time that the waiter gives up and comes back.
 */
export class BoundedPasses {
  readonly #clock: Clock;
  #count = 0;
  /**
   * The first instant at which this process had a seat and knew that another process waited. A release of the seat
   * does not clear this instant. Cleared by `noneWaits`, and by a grant that starts the count anew.
   */
  #sinceMs: number | undefined;
  #ownToken = 0;
  #hasGoneToOthers = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isLeft({ passes, keepMs }: ParsedKeeping): boolean {
    const nowMs = this.#clock.nowMs();
    return this.#count < passes && nowMs < (this.#sinceMs ?? nowMs) + keepMs;
  }

  /** Called when a seat passes to the next caller of this process while another process waits. */
  passed(): void {
    this.#count += 1;
  }

  /** Called when this process has a seat and knows that another process waits. */
  oneWaits(): void {
    this.#sinceMs ??= this.#clock.nowMs();
  }

  noneWaits(): void {
    this.#sinceMs = undefined;
  }

  /** Called when an answer shows a lease of another process, granted with this token. */
  othersSeen(token: number): void {
    // A lower token belongs to a lease that was granted before the last seat of this process.
    if (token > this.#ownToken) this.#hasGoneToOthers = true;
  }

  granted(token: number): void {
    if (this.#hasGoneToOthers) {
      this.#count = 0;
      this.#sinceMs = undefined;
    }
    this.#hasGoneToOthers = false;
    this.#ownToken = Math.max(this.#ownToken, token);
  }
}
