import type { Clock } from '../clock.js';

/** For so long after a refusal a lock counts as contended. */
const CONTENDED_FOR_MS = 2_000;

/** So many names are remembered, the latest. */
const MAX_REMEMBERED = 1_000;

/** Which locks somebody of this provider was refused lately. */
export class ContendedLocks {
  readonly #clock: Clock;
  readonly #refusals = new Map<string, { readonly atMs: number; readonly roundMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param roundMs - How long the round lasted in which it was refused. */
  add(name: string, roundMs: number): void {
    this.#refusals.delete(name);
    this.#refusals.set(name, { atMs: this.#clock.nowMs(), roundMs });
    const [oldest = name] = this.#refusals.keys();
    if (this.#refusals.size > MAX_REMEMBERED) this.#refusals.delete(oldest);
  }

  /** How long a round lasts there; `undefined`: it is not contended. */
  roundMs(name: string): number | undefined {
    const refusal = this.#refusals.get(name);
    const isRecent = refusal !== undefined && this.#clock.nowMs() < refusal.atMs + CONTENDED_FOR_MS;
    return isRecent ? refusal.roundMs : undefined;
  }
}
