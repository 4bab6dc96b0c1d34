import { DOCUMENT_VERSION } from './lock-document.js';

// Builders of MongoDB aggregation expressions, which are plain values here.

export type Expression =
  | string
  | number
  | boolean
  | null
  | Date
  | readonly Expression[]
  | { readonly [operator: string]: Expression };

export type Fields = Readonly<Record<string, Expression>>;

export type Stage = Readonly<Record<string, Expression>>;

export const NOW = '$$NOW';

/** The value as it is: the server reads no text in it as a field path or an operator (E25). */
export const literal = (value: Expression): Expression => ({ $literal: value });

/**
 * An attempt id as a value. A stored id may begin with `$`, and the server would read such an id as a field path (E25).
 */
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

/** The most values that are compared one by one. A longer list is halved first. */
const MAX_LINEAR = 16;

/**
 * Whether the value is one of these strings. `$in` compares the value with each string: with 10,000 leases and 2,048
 * ids, that takes the server 770 ms. A binary search takes 36 ms (measured).
 */
export function isOneOfMany(value: Expression, strings: readonly string[]): Expression {
  const sorted = [...strings].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return isBetween(value, sorted);
}

/**
 * Whether the value is one of `sorted`, by a binary search. The strings must be in the order of their UTF-8 bytes,
 * because the server compares strings that way.
 */
function isBetween(value: Expression, sorted: readonly string[]): Expression {
  const half = sorted.length >> 1;
  const { [half]: middle } = sorted;
  if (sorted.length <= MAX_LINEAR || middle === undefined) return isIn(value, sorted.map(idText));
  const isBefore: Expression = { $lt: [value, idText(middle)] };
  return when(isBefore, isBetween(value, sorted.slice(0, half)), isBetween(value, sorted.slice(half)));
}

export const bind = (vars: Fields, body: Expression): Expression => ({ $let: { vars, in: body } });

export const merge = (...objects: readonly Expression[]): Expression => ({ $mergeObjects: objects });

export const filter = (input: Expression, cond: Expression): Expression => ({ $filter: { input, cond } });

export const hasType = (value: Expression, type: string): Expression => equal({ $type: value }, type);

/**
 * Whether each value is as expected. One comparison of two arrays costs half as much as a comparison for each value
 * (measured; most of the cost is parsing).
 */
export const match = (pairs: readonly (readonly [Expression, Expression])[]): Expression =>
  equal(
    pairs.map(([value]) => value),
    pairs.map(([, expected]) => expected),
  );

export const typeOf = (value: Expression): Expression => ({ $type: value });

export const isLive = (expiresAt: Expression): Expression => ({ $gt: [expiresAt, NOW] });

/** The server time `leaseMs` from now, but not before the stored expiry: the clock may have stepped back (E9). */
export const leaseFromNow = (expiresAt: Expression, leaseMs: Expression): Expression => ({
  $max: [expiresAt, { $add: [NOW, leaseMs] }],
});

/**
 * The server time in ms × 1,000. Every token of a grant is above this number, so tokens go on rising after a purge, a
 * drop or a restore (S3, E10).
 */
export const CLOCK_TOKEN: Expression = { $multiply: [{ $toLong: NOW }, 1_000] };

/**
 * The next token, above the fence and above `CLOCK_TOKEN`. If one stage gives seats to several attempts, each attempt
 * needs an `offset` of its own.
 */
export const nextToken = (...offset: readonly Expression[]): Expression => ({
  $add: [{ $max: ['$fence', CLOCK_TOKEN] }, ...offset, 1],
});

/** Whether `_id` is the only field of the document, as in a document that an upsert has just created. */
export const IS_NEW: Expression = equal('$$ROOT', { _id: '$_id' });

/** The stored queue as an array of `{ k: attempt id, v: waiter }`; empty if the stored value is no object. */
export const STORED_WAITERS: Expression = when(hasType('$queue', 'object'), { $objectToArray: '$queue' }, []);

/**
 * An array with one element `{ k, v }` for each field of `object`, in the order of the fields. `k` is the field's name.
 * `v` is `true` if `names` has this name, else the field's value. Names that `object` does not have come last, also
 * with `true`.
 *
 * The server makes the array in one pass over the fields and the names. `$in` would compare each field with all names,
 * and `$getField` takes a computed name only from MongoDB 7.2 on.
 */
export const marked = (object: Expression, names: readonly string[]): Expression => ({
  $objectToArray: merge(object, literal(Object.fromEntries(names.map((name) => [name, true])))),
});

export const at = (array: Expression, index: Expression): Expression => ({ $arrayElemAt: [array, index] });

export const indexesOf = (array: Expression): Expression => ({ $range: [0, { $size: array }] });

/** Conditions on the fields that all kinds of locks share, except `kind` and `queue`, as pairs for `match`. */
export const SHAPE_BESIDE_QUEUE: readonly (readonly [Expression, Expression])[] = [
  ['$v', DOCUMENT_VERSION],
  [typeOf('$fence'), 'long'],
  [typeOf('$wake'), 'string'],
  [typeOf('$purgeAt'), 'date'],
];

export const COMMON_SHAPE: readonly (readonly [Expression, Expression])[] = [
  ...SHAPE_BESIDE_QUEUE,
  [typeOf('$queue'), 'object'],
];

/** A process reads tokens as JavaScript numbers, which are exact only below 2^53. */
export const FENCE_IN_RANGE: readonly Expression[] = [
  { $gte: ['$fence', 0] },
  { $lt: ['$fence', Number.MAX_SAFE_INTEGER] },
];
