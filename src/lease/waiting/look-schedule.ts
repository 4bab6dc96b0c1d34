import type { Clock, Timer } from '../../clock.js';

/** How much later than the head the next in line takes its look, and the most that anybody adds. */
const SECOND_LOOK_MS = 150;
const LAST_LOOK_MS = 2_000;

/** Between two looks that nobody answered. */
const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 1_000;

/** When the waits for one lock look next: at the earliest of what calls for it. */
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

  /** A place has to be extended by then. */
  extendAt(atMs: number): void {
    this.#extendAtMs = Math.min(this.#extendAtMs, atMs);
  }

  /** The earliest lease in the way of this place runs out then: the head looks at once, the others a little later. */
  expiryAt(atMs: number, place: number): void {
    this.#expiryAtMs = atMs + (place === 0 ? 1 : Math.min(SECOND_LOOK_MS * place, LAST_LOOK_MS));
  }

  unanswered(): void {
    const pauseMs = Math.min(FIRST_RETRY_MS * 2 ** this.#failures, MAX_RETRY_MS);
    this.#failures = Math.min(this.#failures + 1, 10);
    this.#retryAtMs = this.#clock.nowMs() + pauseMs * (0.5 + Math.random() / 2);
  }

  answered(): void {
    this.#failures = 0;
  }

  /** A look is sent: whatever called for one has it, and its answer tells the next times. */
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
