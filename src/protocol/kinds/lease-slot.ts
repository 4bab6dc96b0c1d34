import { all, any, equal, hasType, idText, isLive, when } from '../expressions.js';
import type { Expression } from '../expressions.js';
import { extended, isExtendable, isLeaseAt, isOneOf, markedEnding } from '../stored-lease.js';

/** Expressions about a field that has one lease or null. */
export interface LeaseSlot {
  readonly isEmpty: Expression;
  readonly wellFormed: Expression;
  /** The lease of the stored document (`$was`); null if there is none, or if the lease has expired. */
  readonly live: Expression;
  /** The lease of a document that may be corrupt, as an array; empty if the field is no object. */
  readonly stored: Expression;
  /** The lease of a well-formed document, as an array; empty if the field is null. */
  readonly leases: Expression;
  readonly count: Expression;
  has(id: string): Expression;
  tokenOf(id: string): Expression;
  without(ids: readonly string[]): Expression;
  extended(ids: readonly string[]): Expression;
  markedEnding(ids: readonly string[], why: string | undefined): Expression;
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
    markedEnding: (ids, why) => when(isOneOf(at, ids), markedEnding(at, why), at),
  };
}
