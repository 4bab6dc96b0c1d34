import {
  all,
  bind,
  equal,
  hasType,
  idText,
  isIn,
  isLive,
  literal,
  not,
  filter,
  when,
} from '../expressions.js';
import type { Expression } from '../expressions.js';
import type { Shown } from '../seats.js';
import { asked, extended, isExtendable, isLeaseAt, isOneOf } from '../stored-lease.js';

/** Expressions about a seat field that holds any number of leases; their order means nothing. */
export interface LeaseList {
  readonly isEmpty: Expression;
  /** `own`: what a lease must be beyond what every lease is, said of `$$this`. */
  wellFormed(...own: readonly Expression[]): Expression;
  /** Those of `$was` whose time is not over. */
  readonly live: Expression;
  /** Empty if it is no array. */
  readonly stored: Expression;
  readonly count: Expression;
  /** For a reply: those of these attempts and a few more, the number of all, and their earliest expiry. */
  shown(ids: readonly string[]): Expression;
  has(id: string): Expression;
  tokenOf(id: string): Expression;
  without(id: string): Expression;
  withoutAll(ids: readonly string[]): Expression;
  extended(ids: readonly string[]): Expression;
  asked(ids: readonly string[], why: string | undefined): Expression;
}

/** So many leases of others a reply shows, for whoever asks who holds the lock; a list may hold thousands. */
const MAX_SHOWN = 10;

export function leaseList(field: string): LeaseList {
  const at = `$${field}`;
  const isArray = hasType(at, 'array');
  const each = (cond: Expression, changed: Expression): Expression => ({
    $map: { input: at, in: when(cond, changed, '$$this') },
  });
  return {
    isEmpty: equal(at, []),
    wellFormed: (...own) => all(isArray, equal(filter(at, not(all(isLeaseAt('$$this'), ...own))), [])),
    live: filter(`$was.${field}`, isLive('$$this.expiresAt')),
    stored: when(isArray, at, []),
    count: { $size: at },
    shown: (ids) =>
      when(
        isArray,
        {
          mine: filter(at, isShown(ids)),
          some: { $slice: [at, MAX_SHOWN] },
          count: { $size: at },
          earliest: { $min: `${at}.expiresAt` },
        },
        null,
      ),
    has: (id) => isIn(idText(id), `${at}.id`),
    tokenOf: (id) => ({ $sum: bind({ found: filter(at, isOneOf('$$this', [id])) }, '$$found.token') }),
    // The last one takes the place of the one that leaves: a release among 100 is logged as two small changes instead
    // of everything behind it (0.3 KB of oplog).
    without: (id) =>
      when(
        isIn(idText(id), `${at}.id`),
        {
          $map: {
            input: { $slice: [at, { $subtract: [{ $size: at }, 1] }] },
            in: when(equal('$$this.id', idText(id)), { $last: at }, '$$this'),
          },
        },
        at,
      ),
    withoutAll: (ids) => filter(at, not(isOneOf('$$this', ids))),
    extended: (ids) => extendedOf(at, ids),
    asked: (ids, why) => each(isOneOf('$$this', ids), asked('$$this', why)),
  };
}

/** In a projection, the server makes a hashed set of a constant once; in an update it would for each lease. */
const isShown = (ids: readonly string[]): Expression => ({ $setIsSubset: [['$$this.id'], literal(ids)] });

/**
 * A look at thousands of waiters names them all, and thousands may have been seated since. The sets that the server
 * makes for the whole list show which of the names are among the leases: mostly none of them, or they are all of these.
 */
const extendedOf = (at: string, ids: readonly string[]): Expression => {
  const each = (isMeant: Expression): Expression => ({
    $map: { input: at, in: when(all(isMeant, isExtendable('$$this')), extended('$$this'), '$$this') },
  });
  if (ids.length <= FEW) return each(isOneOf('$$this', ids));
  return bind(
    {
      meant: { $setIntersection: [`${at}.id`, literal(ids)] },
      others: { $setDifference: [`${at}.id`, literal(ids)] },
    },
    when(
      { $lte: [{ $size: '$$meant' }, { $size: '$$others' }] },
      when(equal('$$meant', []), at, each(isIn('$$this.id', '$$meant'))),
      each(not(isIn('$$this.id', '$$others'))),
    ),
  );
};

/** So many names are compared with each lease sooner than a set of them is made. */
const FEW = 8;

/** An array as it is; what is none, as one element that no reader takes for a lease. */
export const arrayOf = (stored: unknown): readonly unknown[] => (Array.isArray(stored) ? stored : [stored]);

/** What `shown` projected. */
export function readShownList(shown: unknown): Shown {
  if (typeof shown !== 'object' || shown === null) return { leases: [shown] };
  const { mine, some, count, earliest } = shown as Readonly<Record<string, unknown>>;
  const mineFirst = arrayOf(mine);
  const ids = new Set(mineFirst.map(idOf));
  const others = arrayOf(some).filter((lease) => !ids.has(idOf(lease)));
  return { leases: [...mineFirst, ...others], count, earliest };
}

const idOf = (lease: unknown): unknown =>
  typeof lease === 'object' && lease !== null && 'id' in lease ? lease.id : undefined;
