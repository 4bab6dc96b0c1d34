import { sleepUntil } from './clock.js';
import type { Clock } from './clock.js';

/**
 * Pauses between tries that fail: each lasts twice as long as the one before, up to a bound. Up to half of each pause
 * is taken off at random, so that processes whose tries have failed together do not come back together.
 */
export class Backoff {
  readonly #firstMs: number;
  readonly #maxMs: number;

  constructor(firstMs: number, maxMs: number) {
    this.#firstMs = firstMs;
    this.#maxMs = maxMs;
  }

  /** The longest pause after this number of failures in a row. */
  longestMs(failures: number): number {
    return Math.min(this.#firstMs * 2 ** failures, this.#maxMs);
  }

  /** The pause after this number of failures in a row. */
  pauseMs(failures: number): number {
    return this.longestMs(failures) * (0.5 + Math.random() / 2);
  }

  /** Pauses after this number of failures in a row. The signal ends the pause. */
  pause(clock: Clock, failures: number, signal?: AbortSignal): Promise<void> {
    return sleepUntil(clock, clock.nowMs() + this.pauseMs(failures), signal);
  }
}

/** The pauses before the library repeats a request, a read or an update that failed or did not bring the result. */
export const BETWEEN_REPEATS: Backoff = new Backoff(10, 500);
