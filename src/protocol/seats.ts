import type { Expression, Fields, Stage } from './expressions.js';
import type { LockKind } from './lock-document.js';
import type { Operation, OwnOperation, Request } from './operation.js';

/**
 * What differs between the primitives: how leases are stored, and how many of the first waiters may enter.
 *
 * Everything else of a transition (expiry, queue, tokens, wake-ups, purging) is the same for all of them. A primitive
 * adds one object of this shape and a thin face; nothing in the shared machinery asks for the kind.
 *
 * The same paths (`$holder` …) read the stored document and, between the stages of a transition, its state.
 */
export interface Seats {
  readonly kind: LockKind;

  /** Whether a seat can be kept between the callers of its process. */
  readonly mayKeep: boolean;

  /** Whether at most one enters by one admission. */
  readonly entersOne: boolean;

  /** Whether somebody may enter who is not the first in line. */
  readonly mayOvertake: boolean;

  /** What a waiter and its lease have beyond what all kinds have. */
  readonly ownFields: readonly string[];

  /** The field of a waiter by which its lease is longer once it is granted; `null`: the lease is the waiter's. */
  readonly lengthenedBy: 'transitionMs' | null;

  /** The seat fields of a lock that nobody holds, as these operations would create it. */
  vacant(operations: readonly Operation[]): Fields;

  /** Whether the stored seat fields have the right types and ranges. Never fails, whatever is stored. */
  readonly wellFormed: Expression;

  /** Whether `$$this.v` has as a waiter what these seats compute with. */
  readonly isWaiter: readonly Expression[];

  /** The seat fields of `$was` without the leases whose time is over. */
  readonly live: Fields;

  /** Fields that follow from the others, and are written anew by every transition. */
  readonly derived: Fields;

  /** The leases of a stored document as an array; whatever is stored there, if it is malformed. */
  readonly stored: Expression;

  /** What is stored where the leases are, unchecked. */
  leasesIn(document: StoredFields): readonly unknown[];

  /** The projection of a reply: the leases of these attempts, a few others, and what is counted over all of them. */
  shown(ids: readonly string[]): Fields;

  /** Reads what `shown` projected, unchecked. */
  readShown(document: StoredFields): Shown;

  /** All leases of the state, as an array. */
  readonly leases: Expression;

  /** How many leases there are. */
  readonly count: Expression;

  /** Whether this attempt has a lease. */
  isHeldBy(id: string): Expression;

  /** The token of this attempt's lease, 0 if it has none. */
  tokenOf(id: string): Expression;

  /** Who enters now: the first of `$queue`, an array of `{ k: attempt id, v: waiter }`; or a lease that changes its seat. */
  readonly entering: Expression;

  /** How many of `$entering` come from the queue. */
  readonly enteringFromQueue: Expression;

  /** What a request must meet beyond what every request must, or it is refused. */
  conditions(request: Request): readonly Expression[];

  /** What the request brings along beyond what all kinds have: of its waiter, and of its lease. */
  demanded(request: Request): Fields;

  /** What a request does before it is queued, if it is or not: `$isAccepted` says whether it met its conditions. */
  beforeQueued(request: Request): readonly Stage[];

  /** Whether a newcomer would enter at once, given that nobody waits. */
  hasRoomFor(request: Request): Expression;

  /** The seat fields once the leases at this path (an array) have entered. */
  occupy(leases: string): Fields;

  /** The seat fields once the lease of this attempt is gone. */
  vacate(id: string): Fields;

  /** The seat fields once the leases of all these attempts are gone. */
  evict(ids: readonly string[]): Fields;

  /** The seat fields once those of these leases that are live, and not ending, have a lease from now. */
  extend(ids: readonly string[]): Fields;

  /** The seat fields once each of these leases has been marked as ending, and why. */
  markEnding(ids: readonly string[], why: string | undefined): Fields;

  /** The lock that nobody else uses. */
  readonly alone: Alone;

  /** What only this kind can do. */
  own(operation: OwnOperation): readonly Stage[];
}

type Pairs = readonly (readonly [Expression, Expression])[];

/** What the fast paths of a transition need to know. */
export interface Alone {
  /** What a lock that nobody holds is stored as. */
  readonly vacant: Pairs;
  /** What else must be true of a vacant lock for this request to enter. */
  conditions(request: Request): readonly Expression[];
  /** The seat fields of a vacant lock with this one lease. */
  taken(lease: Expression, request: Request): Fields;
  /** The projection of the seat fields, of one lease at most. */
  readonly fields: Fields;
  /** What a lock is stored as that only this attempt holds. */
  heldBy(id: Expression): Pairs;
  /** Of the only lease. */
  readonly token: Expression;
  readonly expiresAt: Expression;
  /** The seat fields without it. */
  readonly vacated: Fields;
}

export type StoredFields = Readonly<Record<string, unknown>>;

/** What a reply shows of the seats. Nothing in it can be trusted to have its type. */
export interface Shown {
  readonly leases: readonly unknown[];
  /** Of all leases, also those that are not shown; `undefined`: as many as are shown. */
  readonly count?: unknown;
  /** The earliest expiry of all leases; `undefined`: of those shown. */
  readonly earliest?: unknown;
  readonly limit?: unknown;
}
