import { Double, MAX_INT, MIN_INT, isArray, isNullish, isNumber, typeNameOf } from '../values/bson-value.js';
import type { ArrayValue, Value } from '../values/bson-value.js';
import { areEqual } from '../values/comparison.js';
import { MISSING, binary, unary, variadic, withOperands } from './compiler.js';
import type { Evaluation, Operators } from './compiler.js';
import { NotSimulatedError, ServerError } from '../errors/server-error.js';

const wrong = (code: number, operator: string, value: Value | undefined): ServerError =>
  new ServerError(code, `${operator} got a value that it does not accept: ${typeNameOf(value)}`);

function toInt(value: Value | undefined): number | undefined {
  if (!isNumber(value)) return undefined;
  if (typeof value !== 'number' && typeof value !== 'bigint' && !(value instanceof Double))
    throw new NotSimulatedError('a decimal as an index');
  const number = Number(value instanceof Double ? value.value : value);
  return Number.isInteger(number) && number >= MIN_INT && number <= MAX_INT ? number : undefined;
}

/** Reads an index. Fails with the code `noNumber` if the value is no number, and with `noInt` if it is no int. */
function indexOf(operator: string, value: Value | undefined, noNumber: number, noInt: number): number {
  if (!isNumber(value)) throw wrong(noNumber, operator, value);
  const index = toInt(value);
  if (index === undefined) throw wrong(noInt, operator, value);
  return index;
}

function elementAt(array: Value | undefined, index: Value | undefined): Value | undefined {
  if (isNullish(array) || isNullish(index)) return null;
  if (!isArray(array)) throw wrong(28_689, '$arrayElemAt', array);
  const position = indexOf('$arrayElemAt', index, 28_690, 28_691);
  return array.at(position);
}

const end =
  (operator: string, position: number) =>
  (array: Value | undefined): Value | undefined => {
    if (isNullish(array)) return null;
    if (!isArray(array)) throw wrong(28_689, operator, array);
    return array.at(position);
  };

function size(array: Value | undefined): number {
  if (!isArray(array)) throw wrong(17_124, '$size', array);
  return array.length;
}

function isIn(value: Value | undefined, array: Value | undefined): boolean {
  if (!isArray(array)) throw wrong(40_081, '$in', array);
  for (const element of array) if (areEqual(value, element)) return true;
  return false;
}

function slice([array = MISSING, first = MISSING, second]: readonly Evaluation[]): Evaluation {
  return (at) => {
    const values = array(at);
    const position = first(at);
    if (isNullish(values) || isNullish(position)) return null;
    if (!isArray(values)) throw wrong(28_724, '$slice', values);
    const start = indexOf('$slice', position, 28_725, 28_726);
    if (second === undefined) return start < 0 ? values.slice(start) : values.slice(0, start);
    const length = second(at);
    if (isNullish(length)) return null;
    const count = indexOf('$slice', length, 28_727, 28_728);
    if (count <= 0) throw wrong(28_729, '$slice', length);
    const from = start < 0 ? Math.max(0, values.length + start) : start;
    return values.slice(from, from + count);
  };
}

/** The most numbers in a range of the simulation. On a server, only the memory bounds a range. */
const MAX_RANGE = 1_000_000;

function range([first = MISSING, second = MISSING, third]: readonly Evaluation[]): Evaluation {
  return (at) => {
    const [from, to] = [first(at), second(at)];
    const start = indexOf('$range', from, 34_443, 34_444);
    const stop = indexOf('$range', to, 34_445, 34_446);
    const step = third === undefined ? 1 : indexOf('$range', third(at), 34_447, 34_448);
    if (step === 0) throw new ServerError(34_449, '$range requires a non-zero step value');
    if ((stop - start) / step > MAX_RANGE)
      throw new NotSimulatedError(`$range with more than ${MAX_RANGE} numbers`);
    const numbers: number[] = [];
    for (let number = start; step > 0 ? number < stop : number > stop; number += step) numbers.push(number);
    return numbers;
  };
}

function boundOf(value: Value | undefined): number {
  const bound = toInt(value);
  if (bound === undefined) throw wrong(40_096, '$indexOfArray', value);
  if (bound < 0) throw wrong(40_097, '$indexOfArray', value);
  return bound;
}

function indexOfArray(operands: readonly Evaluation[]): Evaluation {
  const [array = MISSING, searched = MISSING, from, to] = operands;
  return (at) => {
    const values = array(at);
    if (isNullish(values)) return null;
    if (!isArray(values)) throw wrong(40_090, '$indexOfArray', values);
    const start = from === undefined ? 0 : boundOf(from(at));
    const stop = to === undefined ? values.length : Math.min(boundOf(to(at)), values.length);
    const value = searched(at);
    for (let index = start; index < stop; index += 1) if (areEqual(values[index], value)) return index;
    return -1;
  };
}

function concatenation(operands: readonly Evaluation[]): Evaluation {
  return (at) => {
    const parts: ArrayValue[] = [];
    for (const operand of operands) {
      const part = operand(at);
      if (isNullish(part)) return null;
      if (!isArray(part)) throw wrong(28_664, '$concatArrays', part);
      parts.push(part);
    }
    return parts.flat();
  };
}

function reversed(array: Value | undefined): Value {
  if (isNullish(array)) return null;
  if (!isArray(array)) throw wrong(34_435, '$reverseArray', array);
  return [...array].reverse();
}

export const ARRAYS: Operators = {
  $arrayElemAt: binary('$arrayElemAt', elementAt),
  $first: unary('$first', end('$first', 0)),
  $last: unary('$last', end('$last', -1)),
  $size: unary('$size', size),
  $in: binary('$in', isIn),
  $isArray: unary('$isArray', isArray),
  $slice: withOperands('$slice', 2, 3, slice),
  $range: withOperands('$range', 2, 3, range),
  $indexOfArray: withOperands('$indexOfArray', 2, 4, indexOfArray),
  $concatArrays: variadic('$concatArrays', concatenation),
  $reverseArray: unary('$reverseArray', reversed),
};
