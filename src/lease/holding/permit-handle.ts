import type { HeldLease } from './held-lease.js';
import { LeaseHandle } from './lock-handle.js';
import type { HandleOwner, LockHandle } from './lock-handle.js';

/** Permits of a semaphore, held together and released together. */
export interface PermitHandle extends LockHandle {
  /** How many. */
  readonly permits: number;
}

/** @internal */
export class PermitLeaseHandle extends LeaseHandle implements PermitHandle {
  readonly permits: number;

  constructor(hold: HeldLease, owner: HandleOwner) {
    super(hold, owner);
    this.permits = hold.grant.demand.permits ?? 1;
  }

  override toJSON(): object {
    return { ...super.toJSON(), permits: this.permits };
  }

  protected override shownAs(): string {
    return 'PermitHandle';
  }

  /** Also if the limit is 1, because anybody may raise it while this is held. */
  override whyShared(): string {
    return 'permits, and the tokens of several holders are live at a time';
  }
}
