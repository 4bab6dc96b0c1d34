import type { LockCollection } from '../../store/lock-collection.js';

/** Remembers for one call whether the store has ever answered, and why the store is silent now. */
export class StoreAnswers {
  readonly #collection: LockCollection;
  #hadAnswered = false;
  #isSilent = true;
  #lastError: unknown;

  constructor(collection: LockCollection) {
    this.#collection = collection;
  }

  answered(): void {
    this.#hadAnswered = true;
    this.#isSilent = false;
    this.#lastError = undefined;
  }

  /** Called when a command was not answered, or its answer is an error or does not tell the outcome. */
  failed(error: unknown): void {
    this.#isSilent = true;
    this.#lastError = error;
  }

  /** Called before the cancel at the end of a wait. Until the next answer, the store counts as silent. */
  ending(): void {
    this.#isSilent = true;
  }

  /**
   * The last error since the last answer. If there is none, a new error, which says that the store did not answer
   * within `boundMs`, or until now if `boundMs` is `undefined`.
   */
  why(boundMs?: number): unknown {
    return this.#lastError ?? this.#collection.unanswered(boundMs);
  }

  /**
   * The part of a timeout error that is about the store.
   *
   * @param boundMs - How long the cancel had for its answer, in ms; `undefined` if no cancel was sent.
   */
  atTimeout(boundMs?: number): { readonly hadAnswered: boolean; readonly cause: unknown } {
    return { hadAnswered: this.#hadAnswered, cause: this.#isSilent ? this.why(boundMs) : undefined };
  }
}
