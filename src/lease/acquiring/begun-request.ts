import type { ObservedAcquire } from '../../observer.js';
import type { ParsedAcquireOptions } from '../../options/request-options.js';
import type { Demand } from '../../protocol/operation.js';
import type { Reply } from '../../protocol/replies/reply.js';
import type { KindRules } from '../../protocol/kind-rules.js';
import type { CallLimits } from '../../scope.js';
import type { SeatKeeper } from '../holding/seat.js';

/** The lock that a caller asks for, what the request asks of it, and the callbacks for the answers. */
export interface Wanted {
  readonly name: string;
  readonly rules: KindRules;
  /**
   * Returns the part of the request that depends on the kind of lock. Called again for each attempt, because an earlier
   * attempt may have learned the limit of a semaphore.
   */
  demand(): Demand;
  /**
   * Called with each reply to the request or to its cancel, and with each reply to a look that shows the attempt in the
   * queue. Not called with a reply that shows no document.
   */
  readonly onReply?: ((reply: Reply) => void) | undefined;
  readonly onQueued?: (() => void) | undefined;
  /**
   * Called each time the outcome of the request is unknown and the call has not ended. After a pause, the request is
   * repeated if the call has still not ended.
   */
  readonly onTrouble?: ((error: unknown) => void) | undefined;
}

/** One call of acquire after its checks. Each attempt builds its own `Request` from this object. */
export interface BegunRequest extends Wanted, ParsedAcquireOptions, CallLimits {
  /** Whether the caller set no bound for the wait, and the caller's own chain of calls already holds the lock. */
  readonly isNestedWithoutBound: boolean;
  /** Keeps the seat for the next caller of this process. If `undefined`, every release gives the seat back. */
  readonly keeper?: SeatKeeper | undefined;
  /** Where the facts for observers are noted; `undefined`: nobody observes the call. */
  readonly observed?: ObservedAcquire | undefined;
}
