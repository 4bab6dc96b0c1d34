import { isArray, isDocument, isNullish, isNumber, typeNameOf } from '../values/bson-value.js';
import type { Value } from '../values/bson-value.js';
import { compareValues } from '../values/comparison.js';
import { MISSING, variadic } from './compiler.js';
import type { Evaluation, OperatorCompiler, Operators } from './compiler.js';
import { ServerError } from '../errors/server-error.js';
import { ExactSum } from './exact-sum.js';

type Values = readonly (Value | undefined)[];

/** An operator over many values: its operands, or the elements of its only operand if that is an array. */
const accumulator = (operator: string, compute: (values: Values) => Value): OperatorCompiler =>
  variadic(operator, (operands) => {
    const [only = MISSING, ...others] = operands;
    if (operands.length === 0 || others.length > 0) {
      return (at) => compute(operands.map((operand: Evaluation) => operand(at)));
    }
    return (at) => {
      const value = only(at);
      return compute(isArray(value) ? value : [value]);
    };
  });

/**
 * The greatest or the least of the values, without null and missing ones. If several are equal, the first one counts.
 */
const extreme =
  (sign: 1 | -1) =>
  (values: Values): Value => {
    let found: Value = null;
    for (const value of values) {
      if (isNullish(value)) continue;
      if (found === null || compareValues(value, found) * sign > 0) found = value;
    }
    return found;
  };

function sum(values: Values): Value {
  const total = new ExactSum();
  for (const value of values) if (isNumber(value)) total.add(value);
  return total.result();
}

/** The server checks each operand before it evaluates the next one. */
const mergeObjects: OperatorCompiler = variadic('$mergeObjects', (operands) => (at) => {
  const fields = new Map<string, Value>();
  for (const operand of operands) {
    const value = operand(at);
    if (operands.length === 1 && isArray(value)) for (const each of value) addFields(fields, each);
    else addFields(fields, value);
  }
  return fields;
});

function addFields(fields: Map<string, Value>, value: Value | undefined): void {
  if (isNullish(value)) return;
  if (!isDocument(value)) {
    throw new ServerError(
      40_400,
      `$mergeObjects requires object inputs, but the input is ${typeNameOf(value)}`,
    );
  }
  for (const [name, field] of value as ReadonlyMap<string, Value | undefined>) {
    if (field !== undefined) fields.set(name, field);
  }
}

export const ACCUMULATION: Operators = {
  $max: accumulator('$max', extreme(1)),
  $min: accumulator('$min', extreme(-1)),
  $sum: accumulator('$sum', sum),
  $mergeObjects: mergeObjects,
};
