import { keepAlive } from '../keep-alive.js';
import type { HeldLease } from '../lease/holding/held-lease.js';
import type { Holds } from '../lease/holding/holds.js';
import { LeaseHandle } from '../lease/holding/lock-handle.js';
import type { UnansweredCopies } from '../store/unanswered-copies.js';

/** A term as its leader holds it. Its signal aborts at every end, also at one that the leader wanted. */
export class TermHandle extends LeaseHandle {
  readonly #hold: HeldLease;
  readonly #holds: Holds;
  readonly #resign: (term: TermHandle) => Promise<void>;
  #resigned: Promise<boolean> | undefined;

  constructor(hold: HeldLease, holds: Holds, resign: (term: TermHandle) => Promise<void>) {
    super(hold, holds);
    this.#hold = hold;
    this.#holds = holds;
    this.#resign = resign;
  }

  /**
   * The `resign` of its election: the seat goes back when the work of the term has ended, so that nobody else is elected
   * while it goes on. Of a term that ends already it waits for the end.
   *
   * @returns Whether it was held until its leader wanted the end.
   */
  override release(): Promise<boolean> {
    this.#resigned ??= keepAlive(this.#resign(this).then(() => !this.isLost));
    return this.#resigned;
  }

  /** @internal Gives the seat back now, whatever work goes on. */
  giveBack(): Promise<boolean> {
    return super.release();
  }

  /** @internal The work of the term is to end; the seat is still held, so that it can. */
  end(): void {
    // Also a signal that nobody has asked for yet: a caller that asks later finds it aborted.
    if (!this.signal.aborted) this.lost('released');
  }

  /** @internal Nothing extends it any more, and nothing gives it back. */
  letExpire(): void {
    this.#holds.untrack(this);
    this.#holds.letExpire(this.#hold);
  }

  /** @internal The copies of the request that it was granted to. */
  get copies(): UnansweredCopies | undefined {
    return this.#hold.grant.copies;
  }

  /** @internal Calls back whenever somebody asks for a run of a job. Returns what ends that. */
  onCalled(callback: () => void): () => void {
    return this.#hold.onCalled(callback);
  }

  /** @internal Which way it ended, if it has. */
  get isLost(): boolean {
    const { ended } = this.#hold;
    return ended !== undefined && ended !== 'released';
  }

  /** @internal */
  get isOver(): boolean {
    return this.#hold.ended !== undefined;
  }
}
