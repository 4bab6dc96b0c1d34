import { DOCUMENT_VERSION } from './lock-document.js';

/** The small words from which every transition is put together: aggregation expressions, as plain values. */

export type Expression =
  | string
  | number
  | boolean
  | null
  | Date
  | readonly Expression[]
  | { readonly [operator: string]: Expression };

/** Fields of an object and the expressions that give their values. */
export type Fields = Readonly<Record<string, Expression>>;

export type Stage = Readonly<Record<string, Expression>>;

export const NOW = '$$NOW';

/** A caller's value, never read as a path or an operator (E25). */
export const literal = (value: Expression): Expression => ({ $literal: value });

/** An attempt id. Ours are no paths; what a document claims to be one may be, and must not be read as such (E25). */
export const idText = (id: string): Expression => (id.startsWith('$') ? literal(id) : id);

export const EMPTY_OBJECT: Expression = literal({});

export const when = (condition: Expression, then: Expression, otherwise: Expression): Expression => ({
  $cond: [condition, then, otherwise],
});

export const all = (...conditions: readonly Expression[]): Expression => ({ $and: conditions });

export const any = (...conditions: readonly Expression[]): Expression => ({ $or: conditions });

export const not = (condition: Expression): Expression => ({ $not: [condition] });

export const equal = (a: Expression, b: Expression): Expression => ({ $eq: [a, b] });

export const isIn = (value: Expression, values: Expression): Expression => ({ $in: [value, values] });

/** So many values are compared one after the other; more are halved first. */
const FEW_VALUES = 16;

/**
 * Whether the value is one of these strings. `$in` compares with each of them: for 10,000 leases and 2,048 ids that takes
 * the server 770 ms. Halving them by comparisons takes 36 ms (measured).
 */
export function isOneOfMany(value: Expression, strings: readonly string[]): Expression {
  const sorted = [...strings].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return isBetween(value, sorted);
}

/** The strings are in the order in which the server compares them, that of their bytes. */
function isBetween(value: Expression, sorted: readonly string[]): Expression {
  const half = sorted.length >> 1;
  const { [half]: middle } = sorted;
  if (sorted.length <= FEW_VALUES || middle === undefined) return isIn(value, sorted.map(idText));
  const isBefore: Expression = { $lt: [value, idText(middle)] };
  return when(isBefore, isBetween(value, sorted.slice(0, half)), isBetween(value, sorted.slice(half)));
}

export const bind = (vars: Fields, body: Expression): Expression => ({ $let: { vars, in: body } });

export const merge = (...objects: readonly Expression[]): Expression => ({ $mergeObjects: objects });

/** The elements for which the condition on `$$this` holds, in their order. */
export const filter = (input: Expression, cond: Expression): Expression => ({ $filter: { input, cond } });

export const hasType = (value: Expression, type: string): Expression => equal({ $type: value }, type);

/** One comparison of many values with what they must be: half the cost of as many single ones (measured: parsing). */
export const match = (pairs: readonly (readonly [Expression, Expression])[]): Expression =>
  equal(
    pairs.map(([value]) => value),
    pairs.map(([, expected]) => expected),
  );

export const typeOf = (value: Expression): Expression => ({ $type: value });

/** A lease or a waiter lives as long as its expiry lies ahead of the server's clock. */
export const isLive = (expiresAt: Expression): Expression => ({ $gt: [expiresAt, NOW] });

/** Server time a lease from now on; never earlier than what is stored, though the clock may have stepped back (E9). */
export const leaseFromNow = (expiresAt: Expression, leaseMs: Expression): Expression => ({
  $max: [expiresAt, { $add: [NOW, leaseMs] }],
});

/** Server time as a token's floor, in ms × 1000: tokens rise also over a purge, a drop or a restore (S3, E10). */
export const CLOCK_TOKEN: Expression = { $multiply: [{ $toLong: NOW }, 1_000] };

/** The stored queue as an array of `{ k: attempt id, v: waiter }`; empty if it is no queue. */
export const STORED_WAITERS: Expression = when(hasType('$queue', 'object'), { $objectToArray: '$queue' }, []);

/**
 * For each field of this object, in their order, `{ k, v: true }` if it has one of these names, else `{ k, v: value }`;
 * behind them come the names that it does not have. One pass over both: `$in` for each field would be a pass over all
 * the names for each of them, and dynamic paths need MongoDB 7.2.
 */
export const marked = (object: Expression, names: readonly string[]): Expression => ({
  $objectToArray: merge(object, literal(Object.fromEntries(names.map((name) => [name, true])))),
});

export const at = (array: Expression, index: Expression): Expression => ({ $arrayElemAt: [array, index] });

export const indexesOf = (array: Expression): Expression => ({ $range: [0, { $size: array }] });

/** What the fields that all kinds of locks share have to be, as pairs for `match`. */
export const COMMON_SHAPE: readonly (readonly [Expression, Expression])[] = [
  ['$v', DOCUMENT_VERSION],
  [typeOf('$fence'), 'long'],
  [typeOf('$queue'), 'object'],
  [typeOf('$wake'), 'string'],
  [typeOf('$purgeAt'), 'date'],
];

/** Tokens are exact only below 2^53. */
export const FENCE_IN_RANGE: readonly Expression[] = [
  { $gte: ['$fence', 0] },
  { $lt: ['$fence', Number.MAX_SAFE_INTEGER] },
];
