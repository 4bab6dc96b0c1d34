import { isArray, isNullish, typeNameOf } from '../values/bson-value.js';
import type { ArrayValue, Value } from '../values/bson-value.js';
import { compareValues } from '../values/comparison.js';
import { binary, variadic } from './compiler.js';
import type { Evaluation, Operators } from './compiler.js';
import { ServerError } from '../errors/server-error.js';

function elementsOf(operator: string, code: number, value: Value | undefined): ArrayValue {
  if (!isArray(value)) throw new ServerError(code, `${operator} needs arrays, but got ${typeNameOf(value)}`);
  return value;
}

/** The values in the order of BSON, without duplicates. */
const distinct = (values: ArrayValue): ArrayValue =>
  [...values]
    .sort(compareValues)
    .filter((value, at, all) => at === 0 || compareValues(value, all[at - 1]) !== 0);

function contains(sorted: ArrayValue, value: Value): boolean {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const order = compareValues(sorted[middle], value);
    if (order === 0) return true;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return false;
}

/** The server leaves the order of a union open. In the simulation, the union is sorted. */
function union(operands: readonly Evaluation[]): Evaluation {
  return (at) => {
    const all: ArrayValue[] = [];
    for (const operand of operands) {
      const value = operand(at);
      if (isNullish(value)) return null;
      all.push(elementsOf('$setUnion', 17_043, value));
    }
    return distinct(all.flat());
  };
}

function intersection(operands: readonly Evaluation[]): Evaluation {
  return (at) => {
    let common: ArrayValue | undefined;
    for (const operand of operands) {
      const value = operand(at);
      if (isNullish(value)) return null;
      const own = distinct(elementsOf('$setIntersection', 17_047, value));
      // Equal numbers may differ in type. The server keeps the number that is in the smaller set.
      const [fewer, more] =
        common === undefined || common.length > own.length ? [own, common] : [common, own];
      common = more === undefined ? fewer : fewer.filter((each) => contains(more, each));
    }
    return common ?? [];
  };
}

function difference(a: Value | undefined, b: Value | undefined): Value {
  if (isNullish(a) || isNullish(b)) return null;
  const first = elementsOf('$setDifference', 17_048, a);
  const seen = distinct(elementsOf('$setDifference', 17_049, b));
  const kept: Value[] = [];
  for (const value of first) {
    if (contains(seen, value) || kept.some((each) => compareValues(each, value) === 0)) continue;
    kept.push(value);
  }
  return kept;
}

function isSubset(a: Value | undefined, b: Value | undefined): boolean {
  const own = elementsOf('$setIsSubset', 17_046, a);
  const others = distinct(elementsOf('$setIsSubset', 17_042, b));
  return own.every((value) => contains(others, value));
}

function areEqualSets(operands: readonly Evaluation[]): Evaluation {
  if (operands.length < 2) throw new ServerError(17_045, '$setEquals needs at least two arguments');
  return (at) => {
    const sets = operands.map((operand) => distinct(elementsOf('$setEquals', 17_044, operand(at))));
    return sets.every((set) => compareValues(set, sets[0]) === 0);
  };
}

export const SETS: Operators = {
  $setUnion: variadic('$setUnion', union),
  $setIntersection: variadic('$setIntersection', intersection),
  $setDifference: binary('$setDifference', difference),
  $setIsSubset: binary('$setIsSubset', isSubset),
  $setEquals: variadic('$setEquals', areEqualSets),
};
