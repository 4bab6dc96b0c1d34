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
import type { Shown } from '../kind-rules.js';
import { extended, isExtendable, isLeaseAt, isOneOf, markedEnding } from '../stored-lease.js';

/** Expressions about a field that has any number of leases. The order of the leases has no meaning. */
export interface LeaseList {
  readonly isEmpty: Expression;
  /** `own`: further conditions on each lease, `$$this`. */
  wellFormed(...own: readonly Expression[]): Expression;
  /** The leases of the stored document (`$was`) that have not expired. */
  readonly live: Expression;
  /** The leases of a document that may be corrupt; empty if the field is no array. */
  readonly stored: Expression;
  readonly count: Expression;
  /**
   * The projection for a reply: the leases of these attempts, a few others, the number of all leases and their
   * earliest expiry.
   */
  shown(ids: readonly string[]): Expression;
  has(id: string): Expression;
  tokenOf(id: string): Expression;
  without(id: string): Expression;
  withoutAll(ids: readonly string[]): Expression;
  extended(ids: readonly string[]): Expression;
  markedEnding(ids: readonly string[], why: string | undefined): Expression;
}

/** The most leases that a reply shows beside those of its attempts. A list may have thousands of leases. */
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
    // The last lease takes the position of the removed one. So a release among 100 leases is two small changes in the
    // oplog (0.3 KB). Otherwise the oplog entry would contain all leases behind the removed one.
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
    markedEnding: (ids, why) => each(isOneOf('$$this', ids), markedEnding('$$this', why)),
  };
}

/**
 * Whether the lease `$$this` belongs to one of these attempts. For projections only: there the server makes a hashed
 * set of the ids once. In an update the server would make one for each lease.
 */
const isShown = (ids: readonly string[]): Expression => ({ $setIsSubset: [['$$this.id'], literal(ids)] });

/**
 * The leases, with those of the given ids extended. A look may name thousands of attempts, and thousands of them may
 * have leases. So for many ids the server makes two sets once for the whole list: the ids of the leases to extend, and
 * the ids of the other leases. Each lease is then searched in the smaller set, which is empty in most cases.
 */
const extendedOf = (at: string, ids: readonly string[]): Expression => {
  const each = (isConcerned: Expression): Expression => ({
    $map: { input: at, in: when(all(isConcerned, isExtendable('$$this')), extended('$$this'), '$$this') },
  });
  if (ids.length <= MAX_WITHOUT_SET) return each(isOneOf('$$this', ids));
  return bind(
    {
      concerned: { $setIntersection: [`${at}.id`, literal(ids)] },
      others: { $setDifference: [`${at}.id`, literal(ids)] },
    },
    when(
      { $lte: [{ $size: '$$concerned' }, { $size: '$$others' }] },
      when(equal('$$concerned', []), at, each(isIn('$$this.id', '$$concerned'))),
      each(not(isIn('$$this.id', '$$others'))),
    ),
  );
};

/**
 * The most ids for which `extendedOf` makes no sets. For so few ids, comparing each of them with each lease takes less
 * time.
 */
const MAX_WITHOUT_SET = 8;

/**
 * Returns an array unchanged. Any other value becomes the only element of an array, so that the checks of leases see
 * the value.
 */
export const arrayOf = (stored: unknown): readonly unknown[] => (Array.isArray(stored) ? stored : [stored]);

/** Reads what `LeaseList.shown(ids)` projected. The leases of the attempts `ids` come first. */
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
