import {
  DateValue,
  Decimal,
  Double,
  MAX_INT,
  MIN_INT,
  OtherValue,
  isDocument,
  isLong,
  isNullish,
  isNumber,
  isTrue,
  typeNameOf,
} from '../values/bson-value.js';
import type { Value } from '../values/bson-value.js';
import { unary } from './compiler.js';
import type { OperatorCompiler, Operators } from './compiler.js';
import { doubleOf, truncated } from '../values/decimal.js';
import { NotSimulatedError, ServerError } from '../errors/server-error.js';
import { fieldsOf, requiredOf } from './arguments.js';

const CONVERSION_FAILURE = 241;

const failure = (value: Value, to: string): ServerError =>
  new ServerError(CONVERSION_FAILURE, `Failed to convert ${typeNameOf(value)} to ${to} in $convert`);

type Conversion = (value: Value) => Value;

const toLong: Conversion = (value) => {
  const exact = integerOf(value, 'long');
  if (!isLong(exact)) throw failure(value, 'long');
  return exact;
};

const toInt: Conversion = (value) => {
  if (value instanceof DateValue) throw failure(value, 'int');
  const exact = integerOf(value, 'int');
  // The server compares a double with the range of an int before it cuts off the fraction.
  const compared = value instanceof Double ? value.value : exact;
  if (compared < MIN_INT || compared > MAX_INT) throw failure(value, 'int');
  return Number(exact);
};

function integerOf(value: Value, to: string): bigint {
  if (typeof value === 'number' || typeof value === 'bigint') return BigInt(value);
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (value instanceof DateValue) return value.ms;
  if (value instanceof Double && Number.isFinite(value.value)) return BigInt(Math.trunc(value.value));
  if (typeof value === 'string' && /^[-+]?\d+$/.test(value)) return BigInt(value.replace('+', ''));
  const whole = value instanceof Decimal ? truncated(value) : undefined;
  if (whole === undefined) throw failure(value, to);
  return whole;
}

const toDouble: Conversion = (value) => {
  if (typeof value === 'number' || typeof value === 'bigint') return new Double(Number(value));
  if (value instanceof Double) return value;
  if (typeof value === 'boolean') return new Double(value ? 1 : 0);
  if (value instanceof DateValue) return new Double(Number(value.ms));
  if (value instanceof Decimal) {
    const converted = doubleOf(value);
    if (value.kind === 'finite' && !Number.isFinite(converted)) throw failure(value, 'double');
    return new Double(converted);
  }
  const parsed = typeof value === 'string' ? doubleIn(value) : undefined;
  if (parsed === undefined) throw failure(value, 'double');
  return new Double(parsed);
};

/** The least positive double of full precision. The server refuses the text of a number nearer to 0, except 0. */
const LEAST_NORMAL = 2 ** -1_022;

/** The double that the server reads from this text; `undefined` if it refuses the text. */
function doubleIn(text: string): number | undefined {
  const [, sign, infinity, nan, digits] =
    /^([-+]?)(?:(inf|infinity)|(nan)|((?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?))$/i.exec(text) ?? [];
  if (nan !== undefined) return NaN;
  if (infinity !== undefined) return sign === '-' ? -Infinity : Infinity;
  if (/^[-+]?0X/.test(text)) throw new NotSimulatedError('the double in a hexadecimal text');
  const parsed = Number(text);
  const isZero = digits === undefined || !/[1-9]/.test(digits.replace(/e.*$/i, ''));
  const isInRange = Number.isFinite(parsed) && (isZero || Math.abs(parsed) >= LEAST_NORMAL);
  return digits !== undefined && isInRange ? parsed : undefined;
}

const toDate: Conversion = (value) => {
  if (value instanceof DateValue) return value;
  if (typeof value === 'bigint') return new DateValue(value);
  const isMs = value instanceof Double || value instanceof Decimal;
  if (!isMs) {
    if (typeof value === 'string' || value instanceof OtherValue)
      throw new NotSimulatedError('this conversion to a date');
    throw failure(value, 'date');
  }
  const exact = integerOf(value, 'date');
  if (!isLong(exact)) throw failure(value, 'date');
  return new DateValue(exact);
};

const toText: Conversion = (value) => {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object') return String(value);
  if (value instanceof Double) return doubleText(value.value);
  if (value instanceof DateValue) return dateText(value);
  if (value instanceof OtherValue && value.type === 'objectId') return String(value.parts[0]);
  if (value instanceof Decimal) throw new NotSimulatedError('the text of a decimal');
  throw failure(value, 'string');
};

const DIGITS = 6;

/** The most digits after the point that `toExponential` writes. */
const MOST_DIGITS = 100;

/**
 * The number with six significant digits. A number halfway between two neighbours becomes the one with an even last
 * digit.
 */
function withSixDigits(value: number): string {
  const half = /^(-?\d\.\d{4}[02468])50*(e.*)$/.exec(value.toExponential(MOST_DIGITS));
  return half === null ? value.toExponential(DIGITS - 1) : `${half[1] ?? ''}${half[2] ?? ''}`;
}

/** The text that the server writes for a double: six significant digits. */
function doubleText(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Object.is(value, -0)) return '-0';
  const text = withSixDigits(value);
  const [digits = '', exponent = '0'] = text.split('e');
  const power = Number(exponent);
  if (power >= -4 && power < DIGITS) return String(Number(text));
  const sign = power < 0 ? '-' : '+';
  return `${String(Number(digits))}e${sign}${String(Math.abs(power)).padStart(2, '0')}`;
}

function dateText({ ms }: DateValue): string {
  const date = new Date(Number(ms));
  const year = date.getUTCFullYear();
  if (!(year >= 0 && year <= 9_999)) throw new NotSimulatedError('the text of a date out of range');
  return date.toISOString();
}

const CONVERSIONS: Readonly<Record<string, Conversion>> = {
  bool: isTrue,
  date: toDate,
  double: toDouble,
  int: toInt,
  long: toLong,
  string: toText,
};

function conversionTo(type: Value): Conversion {
  const conversion = typeof type === 'string' ? CONVERSIONS[type] : undefined;
  if (conversion === undefined) throw new NotSimulatedError('this target of $convert');
  return conversion;
}

const convert: OperatorCompiler = (argument, scope, compile) => {
  if (!isDocument(argument)) throw new ServerError(9, '$convert expects an object of named arguments');
  const given = fieldsOf('$convert', argument, ['input', 'to', 'onError', 'onNull'], 9);
  const input = requiredOf('$convert', given, 'input', 9);
  const to = requiredOf('$convert', given, 'to', 9);
  const [onError, onNull] = [given.get('onError'), given.get('onNull')];
  const source = compile(input, scope);
  const conversion = conversionTo(to);
  const otherwise = onError === undefined ? undefined : compile(onError, scope);
  const ofNull = onNull === undefined ? undefined : compile(onNull, scope);
  return (at) => {
    const value = source(at);
    if (isNullish(value)) return ofNull === undefined ? null : ofNull(at);
    try {
      return conversion(value);
    } catch (error) {
      const isFailure = error instanceof ServerError && error.code === CONVERSION_FAILURE;
      if (!isFailure || otherwise === undefined) throw error;
      return otherwise(at);
    }
  };
};

const conversion = (operator: string, type: string): OperatorCompiler => {
  const convertTo = conversionTo(type);
  return unary(operator, (value) => (isNullish(value) ? null : convertTo(value)));
};

export const CONVERSION: Operators = {
  $type: unary('$type', typeNameOf),
  $isNumber: unary('$isNumber', isNumber),
  $convert: convert,
  $toBool: conversion('$toBool', 'bool'),
  $toDate: conversion('$toDate', 'date'),
  $toDouble: conversion('$toDouble', 'double'),
  $toInt: conversion('$toInt', 'int'),
  $toLong: conversion('$toLong', 'long'),
  $toString: conversion('$toString', 'string'),
};
