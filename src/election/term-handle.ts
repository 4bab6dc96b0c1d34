import type { LossCause } from '../errors.js';
import { keepAlive } from '../keep-alive.js';
import type { Hold } from '../lease/holding/hold.js';
import type { Holds } from '../lease/holding/holds.js';
import { LeaseHandle } from '../lease/holding/lease-handle.js';
import type { UnansweredCopies } from '../store/unanswered-copies.js';

/** The handle of a term. Its signal aborts at every end of the term, also at an end that the leader wanted. */
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
   * Ends the term as `LeaderElection.resign` does with the default `drainMs`. If the term is ending already, waits for
   * its end for at most that `drainMs`.
   *
   * @returns False if the term was lost before its end, or if its release found that the lease was gone; otherwise
   *   true.
   */
  override release(): Promise<boolean> {
    this.#resigned ??= keepAlive(
      this.#resign(this).then(() => !this.checkLost() && this.#hold.foundGone === undefined),
    );
    return this.#resigned;
  }

  /** @internal Gives the seat back now, even if work is running. */
  giveBack(): Promise<boolean> {
    return super.release();
  }

  /** @internal Tells the work of the term to end. The seat stays taken, so that no other candidate leads meanwhile. */
  end(): void {
    // This read creates the signal if no caller has read it yet. So a caller that reads `signal` later finds it
    // aborted.
    if (!this.signal.aborted) this.lost('released');
  }

  /**
   * @internal Ends the hold. The lease is not extended any more, and stays stored until it expires or an operation
   * removes it.
   */
  letExpire(): void {
    this.#holds.untrack(this);
    this.#holds.letExpire(this.#hold);
  }

  /** @internal The unanswered copies of the request that got this term; `undefined` if there were none at the grant. */
  get copies(): UnansweredCopies | undefined {
    return this.#hold.grant.copies;
  }

  /**
   * @internal Calls `callback` when an extension shows that a run out of turn was requested. Returns a function to
   *   unsubscribe.
   */
  onCalled(callback: () => void): () => void {
    return this.#hold.onCalled(callback);
  }

  /**
   * @internal Why the hold of the term is over; `undefined` while it is not. If its deadline has passed, this call ends
   *   the term as lost.
   */
  checkEnd(): LossCause | undefined {
    return this.#hold.checkEnd();
  }

  /** @internal Whether the term has ended by a loss. If its deadline has passed, this call ends the term as lost. */
  checkLost(): boolean {
    const ended = this.#hold.checkEnd();
    return ended !== undefined && ended !== 'released';
  }

  /** @internal Whether the term has ended. If its deadline has passed, this call ends the term as lost. */
  checkOver(): boolean {
    return this.#hold.checkEnd() !== undefined;
  }
}
