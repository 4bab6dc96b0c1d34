import type { Clock } from '../clock.js';

/**
 * The server's time as one job uses it: the monotonic clock, and how far the server's clock is ahead of the monotonic
 * clock. Each answer shows the server's time at a moment between the request and the arrival of the answer, and so
 * narrows the range of this difference. The estimate is the lowest possible difference, because a process that claims
 * too early has to claim twice.
 *
 * `ServerTime` differs from the `ServerClock` of the provider (store/server-clock.ts), which takes the highest
 * difference that the last reply allows. So a not-after that is computed from a `ServerClock` is not too early, except
 * after a suspension of the process.
 */
export class ServerTime {
  readonly #clock: Clock;
  #aheadMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Learns the server's time from an answer. Must be called right after the answer has arrived. */
  learn(serverMs: number, sentAtMs: number): void {
    const leastMs = serverMs - this.#clock.nowMs();
    const mostMs = serverMs - sentAtMs;
    this.#aheadMs = Math.min(Math.max(this.#aheadMs ?? leastMs, leastMs), mostMs);
  }

  get isKnown(): boolean {
    return this.#aheadMs !== undefined;
  }

  /** The server's time, in whole ms, because instants are whole numbers. Has no meaning until `isKnown` is true. */
  nowMs(): number {
    return Math.floor(this.#clock.nowMs() + (this.#aheadMs ?? 0));
  }

  /** The server's time; until the server has told its time, the time of this machine. */
  nowOrWallMs(): number {
    return this.isKnown ? this.nowMs() : this.#clock.wallMs();
  }

  toLocalMs(serverMs: number): number {
    return serverMs - (this.#aheadMs ?? 0);
  }
}
