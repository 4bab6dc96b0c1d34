import type { LockCollection } from '../../store/lock-collection.js';

/** Remembers for one call whether the store has ever answered, and why it is silent now. */
export class StoreAnswers {
  readonly #collection: LockCollection;
  #hadAnswered = false;
  #isSilent = true;
  #lastError: unknown;

  constructor(collection: LockCollection) {
    this.#collection = collection;
  }

  /** The store has answered a command. */
  answered(): void {
    this.#hadAnswered = true;
    this.#isSilent = false;
    this.#lastError = undefined;
  }

  /** A command was not answered, or was answered by an error that does not end the wait. */
  failed(error: unknown): void {
    this.#isSilent = true;
    this.#lastError = error;
  }

  /** The last command of the wait, a cancel, is about to be sent. Until it is answered, the store counts as silent. */
  ending(): void {
    this.#isSilent = true;
  }

  /**
   * The last error. If there is none, makes an error which says that the store has not answered: within `boundMs`, or
   * until now if `boundMs` is not given.
   */
  why(boundMs?: number): unknown {
    return this.#lastError ?? this.#collection.unanswered(boundMs);
  }

  /**
   * The part of a timeout error that is about the store.
   *
   * @param boundMs - The time bound, in ms, of the cancel that ended the wait; not given if no cancel was sent.
   */
  atTimeout(boundMs?: number): { readonly hadAnswered: boolean; readonly cause: unknown } {
    return { hadAnswered: this.#hadAnswered, cause: this.#isSilent ? this.why(boundMs) : undefined };
  }
}
