import type { Expression, Fields, Stage } from './expressions.js';
import type { LockKind } from './lock-document.js';
import type { Operation, OwnOperation, Request } from './operation.js';

/**
 * How a process can keep a seat between its callers. `passed`: one caller after the other uses the seat. The first
 * caller has the token of the grant, and each later one has a token of its own from the block that the grant reserves.
 * `shared`: many callers use the seat at a time, all with the token of the lease; the grant reserves no further tokens.
 */
export type Keeping = 'never' | 'passed' | 'shared';

/**
 * The rules of one kind of lock: how its leases are stored, and which waiters may enter, that is, get a lease.
 *
 * Everything else in a transition (expiry, queue, tokens, wake-ups, purging) is the same for all kinds. Only the kind
 * takeover has to know the seat fields of every kind.
 *
 * A path such as `$holder` names a field of the stored document. Between the stages of a transition it names a field
 * of the *state*, the temporary form of the document (`transition`).
 */
export interface KindRules {
  readonly kind: LockKind;

  readonly keeping: Keeping;

  /**
   * A condition on the stored document under which no process may keep a seat, even if no other process waits. `null`:
   * this kind has no such condition.
   */
  readonly endsKeeping: Expression | null;

  /** Whether there is only one seat, so that one admission lets in at most one attempt. */
  readonly entersOne: boolean;

  /** Whether a waiter may enter while a waiter ahead of it may not. */
  readonly mayOvertake: boolean;

  /** Further fields that a grant copies into the lease, from the waiter or from the lease that it upgrades. */
  readonly ownFields: readonly string[];

  /** The field of a waiter whose value a grant adds to `leaseMs` and `expiresAt`; `null`: a grant adds nothing. */
  readonly lengthenedBy: 'transitionMs' | null;

  vacant(operations: readonly Operation[]): Fields;

  /**
   * Whether the stored fields of this kind have the right types and ranges. Whatever is stored, this expression raises
   * no error.
   */
  readonly wellFormed: Expression;

  /** Conditions on the waiter `$$this`: the fields that only this kind has are of the right types and ranges. */
  readonly isWaiter: readonly Expression[];

  /** The seat fields of the stored document (`$was` in the state), without the expired leases and without `derived`. */
  readonly live: Fields;

  /** Fields that follow from other fields. Every transition writes them anew. */
  readonly derived: Fields;

  /** The leases of a stored document, as an array, even if the document is corrupt. */
  readonly stored: Expression;

  /** The values that the document has where its leases should be. Their types are not checked. */
  leasesIn(document: StoredFields): readonly unknown[];

  /**
   * The seat fields of a reply's projection. If a field is a list of leases, the projection has only the leases of
   * these attempts and a few others.
   */
  shown(ids: readonly string[]): Fields;

  readShown(document: StoredFields): Shown;

  /** The leases in the state, as an array. */
  readonly leases: Expression;

  readonly count: Expression;

  isHeldBy(id: string): Expression;

  /** The token of this attempt's lease; 0 if the attempt has no lease. */
  tokenOf(id: string): Expression;

  /**
   * The attempts that enter by the present admission, as an array of `{ k: attempt id, v: waiter }`: waiters of
   * `$queue`, or one upgradeable lease that becomes the writer. For an upgradeable lease, `v` is that lease.
   */
  readonly entering: Expression;

  /** How many of `$entering` come from the queue. */
  readonly enteringFromQueue: Expression;

  /**
   * Whether this operation is an upgrade that still waits after the admission, or that was a single try without
   * success. `null`: the operation is no upgrade, so it never waits.
   */
  hasToWait(operation: OwnOperation): Expression | null;

  /** Further conditions of this kind. A request that does not meet them is not queued. */
  conditions(request: Request): readonly Expression[];

  /** The fields that only this kind has, with the values that the request gives to its waiter and its lease. */
  requestFields(request: Request): Fields;

  /**
   * Stages that run before a request is queued. `$isAccepted` says whether the request has met the conditions of an
   * `enqueue`; the further conditions of a try are not checked yet.
   */
  beforeQueued(request: Request): readonly Stage[];

  /** Whether a seat is free for the request, so that the request enters at once if the queue is empty. */
  hasRoomFor(request: Request): Expression;

  /** The seat fields after the leases at this path (an array) have entered. */
  occupy(leases: string): Fields;

  vacate(id: string): Fields;

  evict(ids: readonly string[]): Fields;

  /**
   * The seat fields with these leases extended. A lease stays as it is if it has expired, is ending, or its term is
   * over.
   */
  extend(ids: readonly string[]): Fields;

  markEnding(ids: readonly string[], why: string | undefined): Fields;

  readonly uncontended: Uncontended;

  /** The stages of an operation that only this kind has; none for an operation of another kind. */
  own(operation: OwnOperation): readonly Stage[];
}

type Pairs = readonly (readonly [Expression, Expression])[];

/** The parts of the seat rules that only the fast paths use. */
export interface Uncontended {
  /** Expressions, and the values that they have in a vacant lock. */
  readonly vacant: Pairs;
  /** Further conditions on a vacant lock that must hold for this request to enter. */
  conditions(request: Request): readonly Expression[];
  /** The seat fields after this lease has entered a vacant lock. */
  taken(lease: Expression, request: Request): Fields;
  /** The projection of the seat fields. It shows only the first lease of a list. */
  readonly fields: Fields;
  /**
   * Whether one of these attempts has the only lease of the lock; in a reader-writer lock, also that no writer waits.
   * Whatever is stored, this expression raises no error.
   */
  heldByOneOf(ids: readonly Expression[]): Expression;
  /** The id of the only lease. `token` and `expiresAt` are of the same lease. */
  readonly id: Expression;
  readonly token: Expression;
  readonly expiresAt: Expression;
  readonly vacated: Fields;
}

export type StoredFields = Readonly<Record<string, unknown>>;

/** The part of a reply about the seats. The types of the values are not checked. */
export interface Shown {
  readonly leases: readonly unknown[];
  /** The number of all leases, shown or not. `undefined` in a well-formed document: all leases are shown. */
  readonly count?: unknown;
  /** The earliest expiry of all leases, shown or not. `undefined` in a well-formed document: all leases are shown. */
  readonly earliest?: unknown;
  readonly limit?: unknown;
  readonly writerWaiting?: unknown;
}
