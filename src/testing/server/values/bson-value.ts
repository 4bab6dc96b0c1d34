// Folder `values`: BSON values, their order, and how the driver encodes them.

/**
 * One BSON value. Some types have a native form: a `number` is an int, a `bigint` is a long, and a document is a
 * `Map`, which keeps the order of its fields. A missing value is `undefined`.
 */
export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Double
  | DateValue
  | Decimal
  | OtherValue
  | ArrayValue
  | DocumentValue;

export type ArrayValue = readonly Value[];

/** An object. While a pipeline or a projection runs, a field without a value keeps its position, as `undefined`. */
export type DocumentValue = ReadonlyMap<string, Value>;

export type NumberValue = number | bigint | Double | Decimal;

export class Double {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/** A date in ms. The server computes with 64 bits, which is more than a `Date` holds. */
export class DateValue {
  readonly ms: bigint;

  constructor(ms: bigint) {
    this.ms = ms;
  }
}

/** A decimal number: `coefficient` × 10 ^ `exponent`, negative if `isNegative`, or one of the special values. */
export class Decimal {
  readonly kind: 'finite' | 'infinite' | 'nan';
  readonly isNegative: boolean;
  readonly coefficient: bigint;
  readonly exponent: number;

  constructor(kind: Decimal['kind'], isNegative: boolean, coefficient = 0n, exponent = 0) {
    this.kind = kind;
    this.isNegative = isNegative;
    this.coefficient = coefficient;
    this.exponent = exponent;
  }
}

type OtherType =
  | 'binData'
  | 'objectId'
  | 'timestamp'
  | 'regex'
  | 'javascript'
  | 'javascriptWithScope'
  | 'symbol'
  | 'minKey'
  | 'maxKey';

/** A value of a type with which no pipeline of the library computes. The simulation can store, compare and read it. */
export class OtherValue {
  readonly type: OtherType;
  /** The parts by which values of this type are ordered, the most significant part first. */
  readonly parts: readonly (string | number | bigint)[];
  /** The number of bytes of the value in BSON. */
  readonly size: number;
  /** The value as the driver decodes it. */
  readonly decoded: unknown;

  constructor(type: OtherType, parts: OtherValue['parts'], size: number, decoded: unknown) {
    this.type = type;
    this.parts = parts;
    this.size = size;
    this.decoded = decoded;
  }
}

export const isArray = (value: Value | undefined): value is ArrayValue => Array.isArray(value);

export const isDocument = (value: Value | undefined): value is DocumentValue => value instanceof Map;

/** Whether the name of the first field is an operator, as in an expression or in a condition of a query. */
export function startsWithOperator(value: DocumentValue): boolean {
  for (const name of value.keys()) return name.startsWith('$');
  return false;
}

export const isNumber = (value: Value | undefined): value is NumberValue =>
  typeof value === 'number' ||
  typeof value === 'bigint' ||
  value instanceof Double ||
  value instanceof Decimal;

export const isNullish = (value: Value | undefined): value is null | undefined =>
  value === null || value === undefined;

/** The name that `$type` gives to the type of a value. */
export function typeNameOf(value: Value | undefined): string {
  if (value === undefined) return 'missing';
  if (typeof value === 'number') return 'int';
  if (typeof value === 'bigint') return 'long';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  return typeNameOfObject(value);
}

function typeNameOfObject(value: Exclude<Value, number | bigint | boolean | string>): string {
  if (value === null) return 'null';
  if (isArray(value)) return 'array';
  if (value instanceof DateValue) return 'date';
  if (value instanceof Double) return 'double';
  if (value instanceof Decimal) return 'decimal';
  if (value instanceof OtherValue) return value.type;
  return 'object';
}

/** Whether a condition counts as true: it is neither false, zero, null nor missing. */
export function isTrue(value: Value | undefined): boolean {
  if (typeof value === 'boolean') return value;
  if (value === null || value === undefined || value === 0 || value === 0n) return false;
  if (value instanceof Double) return value.value !== 0;
  return !(value instanceof Decimal && value.kind === 'finite' && value.coefficient === 0n);
}

export const MIN_INT = -2_147_483_648;
export const MAX_INT = 2_147_483_647;
export const MIN_LONG: bigint = -(2n ** 63n);
export const MAX_LONG: bigint = 2n ** 63n - 1n;

/** The number as the smallest integer type that holds it. The number must be within the range of a long. */
export const intOrLong = (exact: bigint): number | bigint =>
  exact >= BigInt(MIN_INT) && exact <= BigInt(MAX_INT) ? Number(exact) : exact;

export const isLong = (exact: bigint): boolean => exact >= MIN_LONG && exact <= MAX_LONG;
