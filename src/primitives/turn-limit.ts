import { turnOver } from '../clock.js';
import type { Clock } from '../clock.js';

/** The library answers 256 requests for kept locks in 2 to 4 ms. docs/performance.md has the time of each. */
const MOST_IN_A_TURN = 256;

/**
 * Lets the event loop turn while requests end without I/O: a kept seat is shared or passed on, a try finds that its own
 * process has the lock, the provider is closed.
 *
 * If callers ask again as soon as such a request has ended, the event loop stays in one turn: no timer fires, and the
 * process does not hear that others wait. Readers of a kept seat did that for two thirds of the lease. So after
 * `MOST_IN_A_TURN` requests the next callers are told in the next turn, in the order in which their requests have ended.
 * What a request has got is settled before that.
 */
export class TurnLimit {
  readonly #clock: Clock;
  /** How many requests have ended since the last sign of a turn. */
  #count = 0;
  #nextTurn: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Called when the server has answered a request: the event loop has turned. */
  turned(): void {
    this.#count = 0;
  }

  /** Called when a request ends. Returns a promise if its caller must wait; else `undefined`. */
  ended(): Promise<void> | undefined {
    this.#count += 1;
    return this.#count <= MOST_IN_A_TURN ? undefined : this.#wait();
  }

  async #wait(): Promise<void> {
    const nextTurn = (this.#nextTurn ??= turnOver(this.#clock));
    // Each caller also waits for a turn of its own: a test with faked timers may have dropped the common one.
    await Promise.race([nextTurn, turnOver(this.#clock)]);
    if (this.#nextTurn !== nextTurn) return;
    this.#nextTurn = undefined;
    this.turned();
  }
}
