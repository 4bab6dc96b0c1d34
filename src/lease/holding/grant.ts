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
  /** How much of the lock the request asked for. */
  readonly demand: Demand;
  /**
   * The instant at which this process counts the hold as lost: the end of the lease by the last answer, counted from
   * just before the request for that answer, less the clock allowance.
   */
  readonly deadline: Moment;
  /** The sendings of the request that are still unanswered; `undefined`: none. */
  readonly copies?: UnansweredCopies | undefined;
}
