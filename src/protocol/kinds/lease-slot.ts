import { all, any, equal, hasType, idText, isLive, when } from '../expressions.js';
import type { Expression } from '../expressions.js';
import { asked, extended, isExtendable, isLeaseAt, isOneOf } from '../stored-lease.js';

/** Expressions about a seat field that holds one lease, or null. */
export interface LeaseSlot {
  readonly isEmpty: Expression;
  readonly wellFormed: Expression;
  /** That of `$was`, unless its time is over. */
  readonly live: Expression;
  /** As an array; empty, whatever is stored, unless it is a lease. */
  readonly stored: Expression;
  /** As an array. */
  readonly leases: Expression;
  readonly count: Expression;
  has(id: string): Expression;
  tokenOf(id: string): Expression;
  without(ids: readonly string[]): Expression;
  extended(ids: readonly string[]): Expression;
  asked(ids: readonly string[], why: string | undefined): Expression;
}

export function leaseSlot(
  field: string,
  own: readonly (readonly [path: string, value: Expression])[] = [],
): LeaseSlot {
  const at = `$${field}`;
  const isEmpty = equal(at, null);
  const has = (id: string): Expression => equal(`${at}.id`, idText(id));
  return {
    isEmpty,
    wellFormed: any(
      isEmpty,
      isLeaseAt(
        at,
        own.map(([path, value]) => [`${at}.${path}`, value]),
      ),
    ),
    live: when(isLive(`$was.${field}.expiresAt`), `$was.${field}`, null),
    stored: when(hasType(at, 'object'), [at], []),
    leases: when(isEmpty, [], [at]),
    count: when(isEmpty, 0, 1),
    has,
    tokenOf: (id) => when(has(id), `${at}.token`, 0),
    without: (ids) => when(isOneOf(at, ids), null, at),
    extended: (ids) => when(all(isOneOf(at, ids), isExtendable(at)), extended(at), at),
    asked: (ids, why) => when(isOneOf(at, ids), asked(at, why), at),
  };
}
