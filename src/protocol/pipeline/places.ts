import { NOW, all, any, bind, equal, filter, not, typeOf } from '../expressions.js';
import type { Expression } from '../expressions.js';
import { MAX_KEEPS, MAX_LEASE_MS, MIN_LEASE_MS } from '../lock-document.js';
import type { KindRules } from '../kind-rules.js';

/**
 * Binds lists for `body`: `$$places`, their values `$$waiters`, and the expiries (`$$expiries`) and lease lengths
 * (`$$leasesMs`) of these waiters.
 *
 * A queue may have hundreds of places, and the server interprets the condition of a `$filter` for each of them. The
 * least and the greatest value of a list cost less, so the expiries and the range of `leaseMs` are checked on lists. A
 * list that two expressions need is made once. Types are checked place by place: in a comparison, an int equals a
 * double and a string equals a symbol.
 *
 * @param places - The queue as an array of `{ k: attempt id, v: waiter }`.
 */
export const withPlaces = (places: Expression, body: Expression): Expression =>
  bind(
    { places },
    bind(
      { waiters: '$$places.v' },
      bind({ expiries: '$$waiters.expiresAt', leasesMs: '$$waiters.leaseMs' }, body),
    ),
  );

/** Whether a place has expired. Also true for an empty queue. */
export const MAY_HAVE_EXPIRED: Expression = { $lte: [{ $min: '$$expiries' }, NOW] };

/**
 * Conditions that are all true exactly if every waiter has the fields with which transitions compute. Whatever is
 * stored, they raise no error.
 */
export const areWaiters = (rules: KindRules): readonly Expression[] => [
  // The least value of an empty queue is null.
  { $gte: [{ $ifNull: [{ $min: '$$leasesMs' }, MIN_LEASE_MS] }, MIN_LEASE_MS] },
  { $lte: [{ $max: '$$leasesMs' }, MAX_LEASE_MS] },
  equal(filter('$$waiters', any(...isNoWaiter(rules))), []),
];

/**
 * Conditions on the value `$$this`. At least one of them is true exactly if the value is no waiter. The range of
 * `leaseMs` is not among them: `areWaiters` checks it on the list.
 */
const isNoWaiter = (rules: KindRules): readonly Expression[] => [
  { $ne: [typeOf('$$this.process'), 'string'] },
  { $ne: [typeOf('$$this.expiresAt'), 'date'] },
  { $ne: [typeOf('$$this.leaseMs'), 'int'] },
  ...(rules.keeping === 'passed' ? [IS_NO_RESERVE] : []),
  ...rules.isWaiter.map(not),
];

/** Whether `keeps` is present and is no integer in range. Tokens are computed with `keeps`. */
const IS_NO_RESERVE: Expression = all(
  { $ne: [typeOf('$$this.keeps'), 'missing'] },
  any(
    { $ne: [typeOf('$$this.keeps'), 'int'] },
    { $lt: ['$$this.keeps', 0] },
    { $gt: ['$$this.keeps', MAX_KEEPS] },
  ),
);
