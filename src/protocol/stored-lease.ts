import {
  NOW,
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

// Expressions about one stored lease. `at` is the path to it: a field such as `$holder`, or a variable such as `$$this`
// (the element of an array).

/** Whether the value is a well-formed lease. `own` has further pairs for `match`: those of the kind of lock. */
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

/** The token of the grant. It identifies the lease until its end, even after a change of mode has replaced `token`. */
export const firstTokenAt = (at: string): Expression => ({
  $ifNull: [`${at}.firstToken`, `${at}.token`],
});

export const isExtendable = (at: string): Expression =>
  all(isLive(`${at}.expiresAt`), { $ne: [`${at}.ending`, true] });

/** Election: whether the term of this lease is over, because at most `transitionMs` of the lease are left. */
export const isTermOver = (at: string): Expression => ({
  $lte: [{ $subtract: [`${at}.expiresAt`, `${at}.transitionMs`] }, NOW],
});

export const extended = (at: string): Expression =>
  merge(at, { expiresAt: leaseFromNow(`${at}.expiresAt`, `${at}.leaseMs`) });

/** The lease, marked as ending. A lease that is marked already keeps the reason of the first revocation. */
export const markedEnding = (at: string, why: string | undefined): Expression => {
  const mark: Fields = {
    ending: true,
    ...(why === undefined ? {} : { endingWhy: literal(why) }),
  };
  return when(equal(`${at}.ending`, true), at, merge(at, mark));
};
