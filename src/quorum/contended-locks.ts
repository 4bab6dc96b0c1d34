import type { Clock } from '../clock.js';

/** The time, in ms, for which a lock counts as contended after a round found it busy. */
const CONTENDED_FOR_MS = 2_000;

const MAX_REMEMBERED = 1_000;

/**
 * The locks that a failed round of this provider found busy in a store within the last `CONTENDED_FOR_MS`; at most
 * `MAX_REMEMBERED`, the newest ones.
 */
export class ContendedLocks {
  readonly #clock: Clock;
  readonly #busyRounds = new Map<string, { readonly atMs: number; readonly roundMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param roundMs - The duration of the round that found the lock busy. */
  add(name: string, roundMs: number): void {
    this.#busyRounds.delete(name);
    this.#busyRounds.set(name, { atMs: this.#clock.nowMs(), roundMs });
    const [oldest = name] = this.#busyRounds.keys();
    if (this.#busyRounds.size > MAX_REMEMBERED) this.#busyRounds.delete(oldest);
  }

  /** The duration of the last round that found this lock busy; `undefined` if the lock is not contended. */
  roundMs(name: string): number | undefined {
    const last = this.#busyRounds.get(name);
    const isRecent = last !== undefined && this.#clock.nowMs() < last.atMs + CONTENDED_FOR_MS;
    return isRecent ? last.roundMs : undefined;
  }
}
