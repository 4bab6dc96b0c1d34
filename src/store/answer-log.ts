import type { Silence } from '../health.js';

/** When the store last answered a command, and since when it has been silent. */
export class AnswerLog {
  /** A failure older than this tells nothing any more: nobody has asked since, and the store may be back. */
  readonly #forgottenAfterMs: number;
  #answeredAtMs: number | undefined;
  #failed: { readonly sinceMs: number; readonly atMs: number; readonly error: unknown } | undefined;

  /** @param boundMs - The time after which a command counts as unanswered. */
  constructor(boundMs: number) {
    this.#forgottenAfterMs = 2 * boundMs;
  }

  answered(nowMs: number): void {
    this.#answeredAtMs = nowMs;
    this.#failed = undefined;
  }

  /** @param askedAtMs - When the command was given to the store that has not answered it. */
  unanswered(askedAtMs: number, nowMs: number, error: unknown): void {
    this.#failed = { sinceMs: this.#failed?.sinceMs ?? askedAtMs, atMs: nowMs, error };
  }

  /** The time since the last answer, in whole ms; `null` before the first one. */
  answeredMsAgo(nowMs: number): number | null {
    return this.#answeredAtMs === undefined ? null : Math.floor(nowMs - this.#answeredAtMs);
  }

  silence(nowMs: number): Silence | undefined {
    const failed = this.#failed;
    if (failed === undefined || nowMs - failed.atMs > this.#forgottenAfterMs) return undefined;
    return { forMs: nowMs - failed.sinceMs, error: failed.error };
  }
}
