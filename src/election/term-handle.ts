import { keepAlive } from '../keep-alive.js';
import type { Hold } from '../lease/holding/hold.js';
import type { Holds } from '../lease/holding/holds.js';
import { LeaseHandle } from '../lease/holding/lease-handle.js';
import type { UnansweredCopies } from '../store/unanswered-copies.js';

/**
 * The handle of a term. Its signal aborts at every end of the term, also at an end that the leader wanted.
 */
export class TermHandle extends LeaseHandle {
  readonly #hold: Hold;
  readonly #holds: Holds;
  readonly #resign: (term: TermHandle) => Promise<void>;
  #resigned: Promise<boolean> | undefined;

  constructor(hold: Hold, holds: Holds, resign: (term: TermHandle) => Promise<void>) {
    super(hold, holds);
    this.#hold = hold;
    this.#holds = holds;
    this.#resign = resign;
  }

  /**
   * Resigns from the election: the seat is given back when the work of the term has ended, so no other candidate is
   * elected while the work is running. If the term is ending already, waits for its end.
   *
   * @returns Whether the term was held until its leader ended it.
   */
  override release(): Promise<boolean> {
    this.#resigned ??= keepAlive(this.#resign(this).then(() => !this.checkLost()));
    return this.#resigned;
  }

  /** @internal Gives the seat back now, even if work is running. */
  giveBack(): Promise<boolean> {
    return super.release();
  }

  /** @internal Tells the work of the term to end. The seat stays taken, so that no other candidate leads meanwhile. */
  end(): void {
    // Also aborts a signal that was not read yet: a caller that reads it later finds it aborted.
    if (!this.signal.aborted) this.lost('released');
  }

  /** @internal From now on, nothing extends the lease and nothing gives it back. */
  letExpire(): void {
    this.#holds.untrack(this);
    this.#holds.letExpire(this.#hold);
  }

  /** @internal The unanswered copies of the request that was granted this term. */
  get copies(): UnansweredCopies | undefined {
    return this.#hold.grant.copies;
  }

  /** @internal Calls `callback` whenever a run out of turn is requested. Returns a function to unsubscribe. */
  onCalled(callback: () => void): () => void {
    return this.#hold.onCalled(callback);
  }

  /** @internal Whether the term has ended by a loss. Past its deadline, this call ends the term as lost. */
  checkLost(): boolean {
    const ended = this.#hold.checkEnd();
    return ended !== undefined && ended !== 'released';
  }

  /** @internal Whether the term has ended. Past its deadline, this call ends the term as lost. */
  checkOver(): boolean {
    return this.#hold.checkEnd() !== undefined;
  }
}
