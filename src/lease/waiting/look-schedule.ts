import { Backoff } from '../../backoff.js';
import type { Clock, Timer } from '../../clock.js';

/**
 * When a lease or place ahead has expired, the waiter at place n waits n times this long, at most `MAX_DELAY_MS`,
 * before it looks.
 */
const DELAY_PER_PLACE_MS = 150;
const MAX_DELAY_MS = 2_000;

const BETWEEN_RETRIES = new Backoff(50, 1_000);

/**
 * Decides when the waits for one lock look next: at the earliest of the instants that were set since the last look. A
 * later call of `expiryAt` replaces the instant of an earlier one.
 */
export class LookSchedule {
  readonly #clock: Clock;
  readonly #look: () => void;
  #extendAtMs = Infinity;
  #expiryAtMs = Infinity;
  #retryAtMs = Infinity;
  #failures = 0;
  #timer: Timer | undefined;

  constructor(clock: Clock, look: () => void) {
    this.#clock = clock;
    this.#look = look;
  }

  /** A place must be extended at `atMs` at the latest. */
  extendAt(atMs: number): void {
    this.#extendAtMs = Math.min(this.#extendAtMs, atMs);
  }

  /**
   * The earliest lease or place ahead of `place` expires at `atMs`. The head looks just after that instant, and the
   * waiters behind the head a little later.
   */
  expiryAt(atMs: number, place: number): void {
    this.#expiryAtMs = atMs + (place === 0 ? 1 : Math.min(DELAY_PER_PLACE_MS * place, MAX_DELAY_MS));
  }

  unanswered(): void {
    this.#retryAtMs = this.#clock.nowMs() + BETWEEN_RETRIES.pauseMs(this.#clock, this.#failures);
    this.#failures += 1;
  }

  answered(): void {
    this.#failures = 0;
  }

  /** Called when a look is sent. One look serves all purposes, so all instants are cleared. */
  restart(): void {
    this.cancel();
    this.#extendAtMs = this.#expiryAtMs = this.#retryAtMs = Infinity;
  }

  arm(): void {
    this.cancel();
    const dueMs = Math.min(this.#extendAtMs, this.#expiryAtMs, this.#retryAtMs);
    if (dueMs < Infinity) this.#timer = this.#clock.at(dueMs, this.#look);
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
