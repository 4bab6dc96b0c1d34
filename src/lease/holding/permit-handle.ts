import type { Hold } from './hold.js';
import { LeaseHandle } from './lease-handle.js';
import type { HandleHolds } from './lease-handle.js';
import type { LockHandle } from './lock-handle.js';

/** Permits of a semaphore that are held together and released together. */
export interface PermitHandle extends LockHandle {
  /** The number of permits. */
  readonly permits: number;
}

/** @internal */
export class PermitLeaseHandle extends LeaseHandle implements PermitHandle {
  readonly permits: number;

  constructor(hold: Hold, holds: HandleHolds) {
    super(hold, holds);
    this.permits = hold.grant.demand.permits ?? 1;
  }

  override toJSON(): object {
    return { ...super.toJSON(), permits: this.permits };
  }

  protected override shownAs(): string {
    return 'PermitHandle';
  }

  /** Permits are never exclusive, even if the limit is 1: another process may raise the limit during the hold. */
  override whyShared(): string {
    return 'permits, and the tokens of several holders are live at a time';
  }
}
