import type { Clock } from '../clock.js';

/**
 * The server's time as one job goes by it: the monotonic clock, and how far the server's is ahead of it. That is narrowed
 * by every answer, which was computed between its sending and its coming; of what is possible it takes the least, because
 * whoever claims too early has to claim twice.
 */
export class ServerTime {
  readonly #clock: Clock;
  #aheadMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes the server's time from an answer, right when it has come. */
  learn(serverMs: number, sentAtMs: number): void {
    const leastMs = serverMs - this.#clock.nowMs();
    const mostMs = serverMs - sentAtMs;
    this.#aheadMs = Math.min(Math.max(this.#aheadMs ?? leastMs, leastMs), mostMs);
  }

  /** Whether any answer has told it. */
  get isKnown(): boolean {
    return this.#aheadMs !== undefined;
  }

  /** A whole number, as instants are. */
  nowMs(): number {
    return Math.floor(this.#clock.nowMs() + (this.#aheadMs ?? 0));
  }

  toLocalMs(serverMs: number): number {
    return serverMs - (this.#aheadMs ?? 0);
  }
}
