import {
  DateValue,
  Decimal,
  Double,
  MAX_INT,
  MIN_INT,
  MIN_LONG,
  intOrLong,
  isLong,
  isNullish,
  isNumber,
  typeNameOf,
} from '../values/bson-value.js';
import type { NumberValue, Value } from '../values/bson-value.js';
import { MISSING, variadic, withOperands } from './compiler.js';
import type { Environment, Evaluation, Operators } from './compiler.js';
import { NotSimulatedError, ServerError } from '../errors/server-error.js';
import { ExactSum } from './exact-sum.js';

const OVERFLOW = 15;
const TYPE_MISMATCH = 14;
const DURATION_OVERFLOW = 159;

type Width = 'int' | 'long' | 'double' | 'decimal';

const WIDTHS: readonly Width[] = ['int', 'long', 'double', 'decimal'];

export function widthOf(value: NumberValue): Width {
  if (typeof value === 'number') return 'int';
  if (typeof value === 'bigint') return 'long';
  return value instanceof Double ? 'double' : 'decimal';
}

export const wider = (a: Width, b: Width): Width => (WIDTHS.indexOf(a) < WIDTHS.indexOf(b) ? b : a);

const toBigInt = (value: number | bigint): bigint => (typeof value === 'bigint' ? value : BigInt(value));

export function toNumber(value: NumberValue): number {
  if (value instanceof Decimal) throw new NotSimulatedError('arithmetic with decimals');
  return value instanceof Double ? value.value : Number(value);
}

const isInteger = (value: Value | undefined): value is number | bigint =>
  typeof value === 'number' || typeof value === 'bigint';

/** `$add`. Evaluates the second operand only after the first has passed its check, as the server does. */
const add = (operands: readonly Evaluation[]): Evaluation => {
  const [first = MISSING, second = MISSING] = operands;
  if (operands.length !== 2) return (at) => sumOf(operands, at);
  return (at) => {
    const a = first(at);
    if (!isInteger(a) && !(a instanceof DateValue)) return sumOf([() => a, second], at);
    const b = second(at);
    // A shortcut for the most frequent sums.
    if (typeof b === 'number') {
      if (typeof a === 'number') return intOrLong(BigInt(a + b));
      if (a instanceof DateValue) return dateOf(a.ms + BigInt(b));
      const exact = a + BigInt(b);
      if (isLong(exact)) return exact;
    }
    return sumOf([() => a, () => b], at);
  };
};

function sumOf(operands: readonly Evaluation[], at: Environment): Value {
  const sum = new ExactSum();
  let isDate = false;
  for (const operand of operands) {
    const value = operand(at);
    if (isNullish(value)) return null;
    if (value instanceof DateValue) {
      if (isDate) throw new ServerError(16_612, 'only one date allowed in an $add expression');
      isDate = true;
      sum.add(value.ms);
    } else if (isNumber(value)) sum.add(value);
    else throw new ServerError(16_554, `$add does not support ${typeNameOf(value)}`);
  }
  return isDate ? dateOf(sum.rounded()) : sum.result();
}

function dateOf(ms: bigint | undefined, code: number = OVERFLOW): DateValue {
  if (ms === undefined || !isLong(ms)) throw new ServerError(code, 'date overflow');
  return new DateValue(ms);
}

function subtract(a: Value | undefined, b: Value | undefined): Value {
  if (isNullish(a) || isNullish(b)) return null;
  if (a instanceof DateValue) return subtractFromDate(a, b);
  if (!isNumber(a) || !isNumber(b)) throw mismatch('$subtract', a, b);
  if (!isInteger(a) || !isInteger(b)) return new Double(toNumber(a) - toNumber(b));
  const exact = toBigInt(a) - toBigInt(b);
  if (typeof a === 'number' && typeof b === 'number') return intOrLong(exact);
  return isLong(exact) ? exact : new Double(Number(a) - Number(b));
}

function subtractFromDate(date: DateValue, other: Value): Value {
  // The server does not check the difference of two dates, so the difference can overflow.
  if (other instanceof DateValue) return BigInt.asIntN(64, date.ms - other.ms);
  if (!isNumber(other)) throw mismatch('$subtract', date, other);
  const ms = isInteger(other) ? toBigInt(other) : longOf(toNumber(other));
  if (ms === MIN_LONG)
    throw new ServerError(DURATION_OVERFLOW, 'Overflow occurred while negating a duration');
  return dateOf(date.ms - ms, DURATION_OVERFLOW);
}

function longOf(value: number): bigint {
  if (!(value >= -(2 ** 63) && value < 2 ** 63)) {
    throw new ServerError(31_109, "Can't coerce out of range value to long");
  }
  return BigInt(Math.trunc(value));
}

function multiply(operands: readonly Evaluation[]): Evaluation {
  return (at) => {
    // The result is the exact product if all operands are integers and each product on the way fits into a long, else
    // the product of doubles. As on a server, both are computed side by side.
    let exact: bigint | undefined = 1n;
    let product = 1;
    let width: Width = 'int';
    for (const operand of operands) {
      const value = operand(at);
      if (isNullish(value)) return null;
      if (!isNumber(value))
        throw new ServerError(TYPE_MISMATCH, `$multiply does not support ${typeNameOf(value)}`);
      width = wider(width, widthOf(value));
      product *= toNumber(value);
      if (exact === undefined) continue;
      exact = isInteger(value) ? exact * toBigInt(value) : undefined;
      if (exact !== undefined && !isLong(exact)) exact = undefined;
    }
    if (exact === undefined) return new Double(product);
    return width === 'int' ? intOrLong(exact) : exact;
  };
}

const isZero = (value: NumberValue): boolean =>
  value instanceof Decimal ? value.kind === 'finite' && value.coefficient === 0n : toNumber(value) === 0;

/** The remainder is a double if `a` is a double, or if `b` is a double whose value is not an int. */
function mod(a: Value | undefined, b: Value | undefined): Value {
  if (isNullish(a) || isNullish(b)) return null;
  if (!isNumber(a) || !isNumber(b)) throw new ServerError(16_611, '$mod only supports numeric types');
  const isDecimal = a instanceof Decimal || b instanceof Decimal;
  if (isZero(b)) throw new ServerError(isDecimal ? 5_733_415 : 16_610, "can't $mod by zero");
  const divisor = toNumber(b);
  const whole = isInteger(b) ? b : asInt(divisor);
  if (!isInteger(a) || whole === undefined) return new Double(toNumber(a) % divisor);
  const rest = toBigInt(a) % toBigInt(whole);
  return typeof a === 'number' && typeof whole === 'number' ? Number(rest) : rest;
}

const asInt = (value: number): number | undefined =>
  Number.isInteger(value) && value >= MIN_INT && value <= MAX_INT ? value : undefined;

function divide(a: Value | undefined, b: Value | undefined): Value {
  if (isNullish(a) || isNullish(b)) return null;
  if (!isNumber(a) || !isNumber(b)) throw mismatch('$divide', a, b);
  const divisor = toNumber(b);
  if (divisor === 0) throw new ServerError(2, "can't $divide by zero");
  return new Double(toNumber(a) / divisor);
}

const mismatch = (operator: string, a: Value, b: Value): ServerError =>
  new ServerError(TYPE_MISMATCH, `can't ${operator} ${typeNameOf(b)} from ${typeNameOf(a)}`);

// The server evaluates the second operand of $subtract and $divide first.
export const ARITHMETIC: Operators = {
  $add: variadic('$add', add),
  $subtract: withOperands('$subtract', 2, 2, ([a = MISSING, b = MISSING]) => (at) => {
    const subtrahend = b(at);
    return subtract(a(at), subtrahend);
  }),
  $multiply: variadic('$multiply', multiply),
  $divide: withOperands('$divide', 2, 2, ([a = MISSING, b = MISSING]) => (at) => {
    const divisor = b(at);
    return divide(a(at), divisor);
  }),
  $mod: withOperands(
    '$mod',
    2,
    2,
    ([a = MISSING, b = MISSING]) =>
      (at) =>
        mod(a(at), b(at)),
  ),
};
