import {
  COMMON_SHAPE,
  EMPTY_OBJECT,
  FENCE_IN_RANGE,
  all,
  any,
  equal,
  hasType,
  isIn,
  isLive,
  match,
  merge,
  not,
  filter,
  typeOf,
  when,
} from '../expressions.js';
import type { Expression, Stage } from '../expressions.js';
import { hasWellFormedJobs } from '../jobs/job-claims.js';
import { LOCK_KINDS } from '../lock-document.js';
import type { Operation } from '../operation.js';
import type { KindRules } from '../kind-rules.js';

const SEAT_FIELDS = ['holder', 'readers', 'writer', 'writerWaiting', 'holders', 'limit'] as const;

const isAbsent = (field: string): Expression => isIn(typeOf(field), ['missing', 'null']);

const isLeaseOrNull = (field: string): Expression => isIn(typeOf(field), ['object', 'null']);

/** Whether the fields in which the document's own kind stores leases have the right types. */
const hasSeatsOfItsKind: Expression = any(
  all(isIn('$kind', ['mutex', 'election']), isLeaseOrNull('$holder')),
  all(equal('$kind', 'reader-writer'), hasType('$readers', 'array'), isLeaseOrNull('$writer')),
  all(equal('$kind', 'semaphore'), hasType('$holders', 'array')),
);

const isAbsentOr = (field: string, type: string): Expression => any(isAbsent(field), hasType(field, type));

/**
 * Whether the common fields have the right types, and also all fields in which any kind stores leases, claims or
 * calls. A corrupt lock is never free (E26).
 */
const isShapedLikeALock: Expression = all(
  match(COMMON_SHAPE),
  ...FENCE_IN_RANGE,
  hasSeatsOfItsKind,
  isAbsentOr('$holder', 'object'),
  isAbsentOr('$writer', 'object'),
  isAbsentOr('$readers', 'array'),
  isAbsentOr('$holders', 'array'),
  hasWellFormedJobs,
);

const MEMBERS: Expression = {
  $concatArrays: [
    when(isAbsent('$holder'), [], ['$holder']),
    when(isAbsent('$writer'), [], ['$writer']),
    { $ifNull: ['$readers', []] },
    { $ifNull: ['$holders', []] },
    { $map: { input: { $objectToArray: '$queue' }, in: '$$this.v' } },
  ],
};

const hasExpired: Expression = all(hasType('$$this.expiresAt', 'date'), not(isLive('$$this.expiresAt')));

/** Whether no lease and no waiter is live. A lease or a waiter without a readable expiry counts as live. */
const isIdle: Expression = equal(filter(MEMBERS, not(hasExpired)), []);

/** Turns an idle lock of another kind into a vacant one of this kind. The fence stays, so tokens go on rising (S3). */
export function takeOverKind(rules: KindRules, operations: readonly Operation[]): Stage {
  const otherKinds = LOCK_KINDS.filter((kind) => kind !== rules.kind);
  const withoutSeats = {
    $arrayToObject: filter({ $objectToArray: '$$ROOT' }, not(isIn('$$this.k', SEAT_FIELDS))),
  };
  const takenOver = merge(withoutSeats, {
    kind: rules.kind,
    ...rules.vacant(operations),
    queue: EMPTY_OBJECT,
  });
  const mayTakeOver = all(isIn('$kind', otherKinds), isShapedLikeALock, isIdle);
  return { $replaceWith: when(mayTakeOver, takenOver, '$$ROOT') };
}
