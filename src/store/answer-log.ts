import type { Silence } from '../health.js';

/** The last command whose outcome was unknown. */
interface Failure {
  /**
   * The beginning of the silence: when the command that failed first was given to the store, or when the store last
   * answered another command, whichever is later.
   */
  readonly sinceMs: number;
  readonly atMs: number;
  readonly error: unknown;
}

/** When the store last answered a command, and since when it has been silent. */
export class AnswerLog {
  /** A failure older than this, in ms, is ignored: no later command has failed, and the store may be back. */
  readonly #forgottenAfterMs: number;
  #answeredAtMs: number | undefined;
  #failed: Failure | undefined;
  #refusal: { readonly error: unknown } | undefined;

  /** @param boundMs - The time bound of an ordinary call. */
  constructor(boundMs: number) {
    this.#forgottenAfterMs = 2 * boundMs;
  }

  answered(nowMs: number): void {
    this.#answeredAtMs = nowMs;
    this.#failed = undefined;
    this.#refusal = undefined;
  }

  /**
   * Called when the driver refused to send a command. Only an answer ends the refusal, because in most cases the driver
   * refuses every later command, too.
   */
  refusedByDriver(error: unknown): void {
    this.#refusal = { error };
  }

  /** The last refusal of the driver, if no answer has followed it. */
  get refusal(): { readonly error: unknown } | undefined {
    return this.#refusal;
  }

  /**
   * Called when the outcome of a command is unknown, even if the server has sent an error.
   *
   * @param askedAtMs - When the command was given to the store.
   */
  unanswered(askedAtMs: number, nowMs: number, error: unknown): void {
    const sinceMs =
      this.#failureKnownAt(askedAtMs)?.sinceMs ?? Math.max(askedAtMs, this.#answeredAtMs ?? -Infinity);
    this.#failed = { sinceMs, atMs: nowMs, error };
  }

  /** The time since the last answer, in whole ms; `null` before the first one. */
  answeredMsAgo(nowMs: number): number | null {
    return this.#answeredAtMs === undefined ? null : Math.floor(nowMs - this.#answeredAtMs);
  }

  silence(nowMs: number): Silence | undefined {
    const failed = this.#failureKnownAt(nowMs);
    return failed === undefined ? undefined : { forMs: nowMs - failed.sinceMs, error: failed.error };
  }

  #failureKnownAt(ms: number): Failure | undefined {
    const failed = this.#failed;
    return failed !== undefined && ms - failed.atMs <= this.#forgottenAfterMs ? failed : undefined;
  }
}
