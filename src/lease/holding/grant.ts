import type { Moment } from '../../clock.js';
import type { LeaseDurations } from '../../options/provider-options.js';
import type { Demand } from '../../protocol/operation.js';
import type { KindRules } from '../../protocol/kind-rules.js';
import type { UnansweredCopies } from '../../store/unanswered-copies.js';

/** One grant, as its process learns of it. */
export interface Grant {
  readonly name: string;
  readonly rules: KindRules;
  readonly id: string;
  readonly token: number;
  readonly durations: LeaseDurations;
  /** The mode (reader-writer lock) or the permits (semaphore) that the request asked for. */
  readonly demand: Demand;
  /** The first deadline of the hold. */
  readonly deadline: Moment;
  /** The copies of the request that had no answer at the grant and may still arrive; `undefined` if there are none. */
  readonly copies?: UnansweredCopies | undefined;
}
