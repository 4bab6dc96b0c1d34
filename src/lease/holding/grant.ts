import type { Moment } from '../../clock.js';
import type { LeaseTerms } from '../../options/provider-options.js';
import type { Demand } from '../../protocol/operation.js';
import type { SeatRules } from '../../protocol/seats.js';
import type { UnansweredCopies } from '../../store/unanswered-copies.js';

/** What a process learns of one grant. */
export interface Grant {
  readonly name: string;
  readonly seats: SeatRules;
  readonly id: string;
  readonly token: number;
  readonly terms: LeaseTerms;
  /** The mode (reader-writer lock) or the permits (semaphore) that the request asked for. */
  readonly demand: Demand;
  /** The first deadline of the hold. */
  readonly deadline: Moment;
  /** The copies of the request that had no answer at the grant and may still arrive; `undefined` if there are none. */
  readonly copies?: UnansweredCopies | undefined;
}
