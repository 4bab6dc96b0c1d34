import { DateValue, Decimal, Double, OtherValue, isArray, isDocument, isNumber } from './bson-value.js';
import type { ArrayValue, DocumentValue, NumberValue, Value } from './bson-value.js';
import { compareDecimals, exactDecimal } from './decimal.js';

type Order = -1 | 0 | 1;

const RANK_OF_OTHER: Readonly<Record<OtherValue['type'], number>> = {
  minKey: -1,
  symbol: 15,
  binData: 30,
  objectId: 35,
  timestamp: 47,
  regex: 50,
  javascript: 60,
  javascriptWithScope: 65,
  maxKey: 127,
};

const NUMBER_RANK = 10;

/** The position of the value's type in the order of types. All numbers have the same position. */
export function typeRank(value: Value | undefined): number {
  if (value === undefined) return 0;
  if (typeof value === 'number' || typeof value === 'bigint') return NUMBER_RANK;
  if (typeof value === 'string') return 15;
  if (typeof value === 'boolean') return 40;
  if (value === null) return 5;
  if (isDocument(value)) return 20;
  if (isArray(value)) return 25;
  if (value instanceof DateValue) return 45;
  return value instanceof OtherValue ? RANK_OF_OTHER[value.type] : NUMBER_RANK;
}

/** Compares in the order of BSON: first the types, then the values. A missing value is less than null. */
export function compareValues(a: Value | undefined, b: Value | undefined): Order {
  if (a === b) return 0;
  if (typeof a === 'number' && typeof b === 'number') return a < b ? -1 : 1;
  if (typeof a === 'string' && typeof b === 'string') return compareStrings(a, b);
  if (a instanceof DateValue && b instanceof DateValue) return order(a.ms, b.ms);
  const rank = order(typeRank(a), typeRank(b));
  return rank === 0 ? compareAlike(a, b) : rank;
}

export function areEqual(a: Value | undefined, b: Value | undefined): boolean {
  if (a === b) return true;
  if (typeof a === 'string' && typeof b === 'string') return false;
  return compareValues(a, b) === 0;
}

function compareAlike(a: Value | undefined, b: Value | undefined): Order {
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b);
  if (isDocument(a) && isDocument(b)) return compareDocuments(a, b);
  if (isArray(a) && isArray(b)) return compareArrays(a, b);
  if (typeof a === 'boolean' && typeof b === 'boolean') return order(Number(a), Number(b));
  return compareParts(partsOf(a), partsOf(b));
}

/** A symbol compares as a string. */
const partsOf = (value: Value | undefined): OtherValue['parts'] => {
  if (typeof value === 'string') return [value];
  return value instanceof OtherValue ? value.parts : [];
};

function compareParts(a: OtherValue['parts'], b: OtherValue['parts']): Order {
  for (const [index, part] of a.entries()) {
    const other = b[index] ?? '';
    const result =
      typeof part === 'string' && typeof other === 'string'
        ? compareStrings(part, other)
        : order(part, other);
    if (result !== 0) return result;
  }
  return 0;
}

const order = (a: string | number | bigint, b: string | number | bigint): Order =>
  a < b ? -1 : a > b ? 1 : 0;

/** Compares in the order of the bytes of UTF-8. */
export function compareStrings(a: string, b: string): Order {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const [x, y] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (x !== y) return utf8Rank(x) < utf8Rank(y) ? -1 : 1;
  }
  return order(a.length, b.length);
}

/** UTF-16 stores some characters as two surrogates. In UTF-8 these characters come after all others. */
const utf8Rank = (unit: number): number => {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
};

/** NaN is less than every other number, and equal to itself. JavaScript compares a bigint and a number exactly. */
export function compareNumbers(a: NumberValue, b: NumberValue): Order {
  if (a instanceof Decimal || b instanceof Decimal) return compareDecimals(asDecimal(a), asDecimal(b));
  const [x, y] = [a instanceof Double ? a.value : a, b instanceof Double ? b.value : b];
  const [isXNaN, isYNaN] = [Number.isNaN(x), Number.isNaN(y)];
  if (isXNaN || isYNaN) return order(isXNaN ? 0 : 1, isYNaN ? 0 : 1);
  return order(x, y);
}

const asDecimal = (value: NumberValue): Decimal => {
  if (value instanceof Decimal) return value;
  return exactDecimal(value instanceof Double ? value.value : value);
};

function compareArrays(a: ArrayValue, b: ArrayValue): Order {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const result = compareValues(a[index], b[index]);
    if (result !== 0) return result;
  }
  return order(a.length, b.length);
}

/** Compares field by field: the types, then the names, then the values. */
function compareDocuments(a: DocumentValue, b: DocumentValue): Order {
  const others = presentFields(b);
  for (const [name, value] of presentFields(a)) {
    const next = others.next();
    if (next.done === true) return 1;
    const [otherName, other] = next.value;
    const result =
      order(typeRank(value), typeRank(other)) ||
      compareStrings(name, otherName) ||
      compareValues(value, other);
    if (result !== 0) return result;
  }
  return others.next().done === true ? 0 : -1;
}

export function* presentFields(document: DocumentValue): Generator<readonly [string, Value], void> {
  for (const field of document as ReadonlyMap<string, Value | undefined>) {
    if (field[1] !== undefined) yield field as readonly [string, Value];
  }
}
