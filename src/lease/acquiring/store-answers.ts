import type { LockCollection } from '../../store/lock-collection.js';

/** What one wait knows of the store: whether it has ever answered, and why it is silent now. */
export class StoreAnswers {
  readonly #collection: LockCollection;
  #hadAnswered = false;
  #isSilent = true;
  #lastError: unknown;

  constructor(collection: LockCollection) {
    this.#collection = collection;
  }

  /** The store has shown the lock. */
  answered(): void {
    this.#hadAnswered = true;
    this.#isSilent = false;
    this.#lastError = undefined;
  }

  /** A command was not answered, or by an error that does not end the wait. */
  failed(error: unknown): void {
    this.#isSilent = true;
    this.#lastError = error;
  }

  /** The wait ends with one more command; until it is answered, the store counts as silent. */
  ending(): void {
    this.#isSilent = true;
  }

  /** Why nothing was answered within so long, or until now. */
  why(boundMs?: number): unknown {
    return this.#lastError ?? this.#collection.unanswered(boundMs);
  }

  /** What the error of a timeout says of the store; the last command of the wait had so long. */
  atTimeout(boundMs?: number): { readonly hadAnswered: boolean; readonly cause: unknown } {
    return { hadAnswered: this.#hadAnswered, cause: this.#isSilent ? this.why(boundMs) : undefined };
  }
}
