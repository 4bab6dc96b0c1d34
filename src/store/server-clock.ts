import type { Clock } from '../clock.js';

/**
 * An estimate of the server's clock, from the last reply alone; 0 before the first reply. While both clocks run evenly,
 * the estimate is never behind, and at most one round trip ahead. So a not-after is never too early. After a suspension
 * of the process, the estimate may be behind until the next reply. A job must not run early, so jobs use another
 * estimate (schedule/server-time.ts).
 */
export class ServerClock {
  readonly #clock: Clock;
  #serverMs = 0;
  #sentAtMs: number | undefined;
  #roundTripMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  learn(serverMs: number, sentAtMs: number): void {
    this.#serverMs = serverMs;
    this.#sentAtMs = sentAtMs;
    this.#roundTripMs = this.#clock.nowMs() - sentAtMs;
  }

  /** How far the estimate may be ahead: the round trip of the last reply. */
  get aheadByMs(): number {
    return this.#roundTripMs;
  }

  nowMs(): number {
    return this.#serverMs + this.#clock.nowMs() - (this.#sentAtMs ?? this.#clock.nowMs());
  }

  /** The local time at which the server's clock will show `serverMs`; at most one round trip too early. */
  toLocalMs(serverMs: number): number {
    return this.#clock.nowMs() + serverMs - this.nowMs();
  }
}
