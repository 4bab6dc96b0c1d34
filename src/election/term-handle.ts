import type { HeldLease } from '../lease/held-lease.js';
import type { Holds } from '../lease/holds.js';
import { LeaseHandle } from '../lease/lock-handle.js';

/** A term as its leader holds it. Its signal aborts at every end, also at one that the leader wanted. */
export class TermHandle extends LeaseHandle {
  readonly #hold: HeldLease;
  readonly #holds: Holds;

  constructor(hold: HeldLease, holds: Holds) {
    super(hold, holds);
    this.#hold = hold;
    this.#holds = holds;
  }

  /** @internal The work of the term is to end; the seat is still held, so that it can. */
  end(): void {
    // Also a signal that nobody has asked for yet: whoever does so later finds it aborted.
    if (!this.signal.aborted) this.lost('released');
  }

  /** @internal Nothing extends it any more, and nothing gives it back. */
  letExpire(): void {
    this.#holds.untrack(this);
    this.#holds.letExpire(this.#hold);
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
