import type { Clock } from '../clock.js';

/**
 * The server's time as one job uses it: the monotonic clock plus the lead of the server's clock. Each answer shows the
 * server's time at a moment between the request and the arrival of the answer, and so narrows the range of possible
 * leads. The estimate is the lowest possible lead, because a process that claims too early has to claim twice.
 *
 * `ServerTime` differs from the `ServerClock` of the provider (store/server-clock.ts), which takes the highest lead
 * that the last reply allows. So a not-after that is computed from a `ServerClock` is not too early, except after a
 * suspension of the process.
 */
export class ServerTime {
  readonly #clock: Clock;
  #aheadMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Learns the server's time from an answer. Call it right after the answer has arrived. */
  learn(serverMs: number, sentAtMs: number): void {
    const leastMs = serverMs - this.#clock.nowMs();
    const mostMs = serverMs - sentAtMs;
    this.#aheadMs = Math.min(Math.max(this.#aheadMs ?? leastMs, leastMs), mostMs);
  }

  /** Whether an answer has told the server's time. */
  get isKnown(): boolean {
    return this.#aheadMs !== undefined;
  }

  /** The server's time, as a whole number of ms, because instants are whole numbers. */
  nowMs(): number {
    return Math.floor(this.#clock.nowMs() + (this.#aheadMs ?? 0));
  }

  toLocalMs(serverMs: number): number {
    return serverMs - (this.#aheadMs ?? 0);
  }
}
