import type { Clock } from '../clock.js';

/** An estimate of the server's clock, from the time that its replies carry. */
export class ServerClock {
  readonly #clock: Clock;
  #serverMs = 0;
  #sentAtMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes the server's time from a reply to what was sent then. */
  learn(serverMs: number, sentAtMs: number): void {
    this.#serverMs = serverMs;
    this.#sentAtMs = sentAtMs;
  }

  /** The server's time now, at most one round trip ahead of it. */
  nowMs(): number {
    return this.#serverMs + this.#clock.nowMs() - (this.#sentAtMs ?? this.#clock.nowMs());
  }

  /** When it will be that time on the server, in ours; early by at most one round trip. */
  toLocalMs(serverMs: number): number {
    return this.#clock.nowMs() + serverMs - this.nowMs();
  }
}
