import { literal } from './expressions.js';
import type { Expression, Fields } from './expressions.js';
import type { LockKind } from './lock-document.js';

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

  /** The seat fields of a lock that nobody holds. */
  readonly vacant: Fields;

  /** Whether the stored seat fields have the right types and ranges. Never fails, whatever is stored. */
  readonly wellFormed: Expression;

  /** The seat fields of `$was` without the leases whose time is over; vacant where there are none. */
  readonly live: Fields;

  /** The leases of a stored document as an array, for a reply; whatever is stored there, if it is malformed. */
  readonly stored: Expression;

  /** What a reply holds where the leases are stored, unchecked. */
  leasesIn(document: Readonly<Record<string, unknown>>): readonly unknown[];

  /** All leases of the state, as an array. */
  readonly leases: Expression;

  /** How many leases there are. */
  readonly count: Expression;

  /** Whether this attempt has a lease. */
  isHeldBy(id: string): Expression;

  /** The token of this attempt's lease, 0 if it has none. */
  tokenOf(id: string): Expression;

  /** How many of the first waiters in `$queue`, an array of `{ k: attempt id, v: waiter }`, may enter now. */
  readonly admissible: Expression;

  /** Whether a newcomer would enter at once, given that nobody waits. */
  readonly hasRoom: Expression;

  /** The seat fields once these leases (an array) have entered. */
  occupy(leases: Expression): Fields;

  /** The seat fields once the leases of these attempts are gone. */
  vacate(ids: readonly string[]): Fields;

  /** The seat fields once those of these leases that are live, and not ending, have a lease from now. */
  extend(ids: readonly string[]): Fields;

  /** The seat fields once each of these leases has been marked as ending, and why. */
  markEnding(ids: readonly string[], why: string | undefined): Fields;
}

/** The mark of a lease that somebody has asked for: it is not extended any more. */
export const ending = (why: string | undefined): Fields => ({
  ending: true,
  ...(why === undefined ? {} : { endingWhy: literal(why) }),
});
