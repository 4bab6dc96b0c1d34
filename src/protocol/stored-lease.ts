import {
  all,
  equal,
  isLive,
  isOneOfMany,
  leaseFromNow,
  literal,
  match,
  merge,
  typeOf,
  when,
} from './expressions.js';
import type { Expression, Fields } from './expressions.js';
import { MAX_LEASE_MS, MIN_LEASE_MS } from './lock-document.js';

/** Expressions about one stored lease. `at` is the path to it: a field, or the element of an array at hand. */

/** Whether it is one, with whatever its kind of lock demands beyond that. */
export const isLeaseAt = (at: string, own: readonly (readonly [Expression, Expression])[] = []): Expression =>
  all(
    match([
      [typeOf(`${at}.id`), 'string'],
      [typeOf(`${at}.process`), 'string'],
      [typeOf(`${at}.token`), 'long'],
      [typeOf(`${at}.acquiredAt`), 'date'],
      [typeOf(`${at}.expiresAt`), 'date'],
      [typeOf(`${at}.leaseMs`), 'int'],
      ...own,
    ]),
    { $gt: [`${at}.token`, 0] },
    { $lte: [`${at}.token`, '$fence'] },
    { $gte: [`${at}.leaseMs`, MIN_LEASE_MS] },
    { $lte: [`${at}.leaseMs`, MAX_LEASE_MS] },
  );

export const isOneOf = (at: string, ids: readonly string[]): Expression => isOneOfMany(`${at}.id`, ids);

/** The token that it was granted with: it names the lease though changes of mode have brought others. */
export const firstTokenAt = (at: string): Expression => ({
  $ifNull: [`${at}.firstToken`, `${at}.token`],
});

/** Whether it may have more time. */
export const isExtendable = (at: string): Expression =>
  all(isLive(`${at}.expiresAt`), { $ne: [`${at}.ending`, true] });

export const extended = (at: string): Expression =>
  merge(at, { expiresAt: leaseFromNow(`${at}.expiresAt`, `${at}.leaseMs`) });

/** With the mark of a lease that was asked for: it is not extended any more. What the first one said stays. */
export const asked = (at: string, why: string | undefined): Expression => {
  const mark: Fields = {
    ending: true,
    ...(why === undefined ? {} : { endingWhy: literal(why) }),
  };
  return when(equal(`${at}.ending`, true), at, merge(at, mark));
};
