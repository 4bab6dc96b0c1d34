import type { Clock } from '../clock.js';

const SECONDS = 60;

/** How many hand-overs there were in each of the last 60 seconds. */
export class HandOverRate {
  readonly #clock: Clock;
  readonly #counts = new Map<number, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get #second(): number {
    return Math.floor(this.#clock.nowMs() / 1_000);
  }

  add(count: number): void {
    const second = this.#second;
    this.#counts.set(second, (this.#counts.get(second) ?? 0) + count);
    for (const old of this.#counts.keys()) {
      if (old >= second - SECONDS) break;
      this.#counts.delete(old);
    }
  }

  clear(): void {
    this.#counts.clear();
  }

  /** The counts of the last whole seconds, the oldest first. */
  get seconds(): readonly number[] {
    const first = this.#second - SECONDS;
    return Array.from({ length: SECONDS }, (_, at) => this.#counts.get(first + at) ?? 0);
  }
}
