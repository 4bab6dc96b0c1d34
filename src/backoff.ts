import { sleepUntil } from './clock.js';
import type { Clock } from './clock.js';

/**
 * The pauses after failures in a row: each pause is twice as long as the one before, up to a bound. `pauseMs` and
 * `pause` then take up to half of the pause off at random, so that processes that failed together do not repeat
 * together. The argument `failures` counts the earlier failures in a row: 0 for the pause after the first failure.
 */
export class Backoff {
  readonly #firstMs: number;
  readonly #maxMs: number;

  constructor(firstMs: number, maxMs: number) {
    this.#firstMs = firstMs;
    this.#maxMs = maxMs;
  }

  /** The length of the pause before the random part is taken off, in ms. */
  longestMs(failures: number): number {
    return Math.min(this.#firstMs * 2 ** failures, this.#maxMs);
  }

  pauseMs({ chance }: Clock, failures: number): number {
    return this.longestMs(failures) * (0.5 + chance.number() / 2);
  }

  /** Resolves when the pause is over or the signal aborts. */
  pause(clock: Clock, failures: number, signal?: AbortSignal): Promise<void> {
    return sleepUntil(clock, clock.nowMs() + this.pauseMs(clock, failures), signal);
  }
}

/** The pauses before the library repeats a request, a read or an update that has failed or got no answer. */
export const BETWEEN_REPEATS: Backoff = new Backoff(10, 500);
