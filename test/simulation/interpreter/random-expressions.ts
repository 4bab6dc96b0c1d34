import type { Document } from 'mongodb';

import { EXPRESSION_OPERATORS } from '../../../src/testing/server/expressions.js';
import type { Random } from '../../../lab/random.js';
import {
  ABSENT,
  anyArray,
  anyDate,
  anyDocument,
  anyEntry,
  anyInt,
  anyNumber,
  anyString,
  anyValue,
} from './random-values.js';
import type { Draw } from './random-values.js';

/** Makes an operand: a path to a field that it adds to the document, or another expression. */
type Operand = (draw: Draw, others?: Draw) => unknown;

const addend: Draw = (random, depth) => (random.percent(85) ? anyNumber : anyDate)(random, depth);
const strings: Draw = (random, depth) =>
  Array.from({ length: random.between(0, 3) }, () => anyString(random, depth));
const ints: Draw = (random, depth) =>
  Array.from({ length: random.between(0, 5) }, () => anyInt(random, depth));
const numbers: Draw = (random, depth) =>
  Array.from({ length: random.between(0, 5) }, () => anyNumber(random, depth));
const entries: Draw = (random, depth) =>
  Array.from({ length: random.between(0, 4) }, () => anyEntry(random, depth));

/** The server would make a list of millions of numbers. */
const noLargeNumber: Draw = (random) => random.pick([null, 'a', 1.5, true, []]);

/** Several operands, drawn alike. */
const several =
  (most: number, ...draws: readonly [Draw, ...Draw[]]) =>
  (operand: Operand, random: Random): unknown => {
    const draw = random.pick(draws);
    const operands = Array.from({ length: random.between(0, most) }, () => operand(draw));
    return operands.length === 1 && random.percent(50) ? operands[0] : operands;
  };

const these =
  (...draws: readonly Draw[]) =>
  (operand: Operand): unknown =>
    draws.length === 1 ? operand(draws[0] ?? anyValue) : draws.map((draw) => operand(draw));

type Shape = (operand: Operand, random: Random) => unknown;

/** The argument of each operator, with operands that it mostly accepts. */
const SHAPES: Readonly<Record<string, Shape>> = {
  $add: several(4, addend, anyNumber),
  $allElementsTrue: (operand) => [operand(anyArray)],
  $and: several(3, anyValue),
  $anyElementTrue: (operand) => [operand(anyArray)],
  $arrayElemAt: these(anyArray, anyInt),
  $arrayToObject: (operand, random) => operand(random.percent(70) ? entries : anyArray),
  $cmp: these(anyValue, anyValue),
  $concat: several(4, anyString),
  $concatArrays: several(3, anyArray),
  $cond: (operand, random) => {
    const [test, yes, no] = [operand(anyValue), operand(anyValue), operand(anyValue)];
    return random.percent(70) ? [test, yes, no] : { if: test, then: yes, else: no };
  },
  $convert: (operand, random) => ({
    input: operand(anyValue),
    to: random.pick(['bool', 'date', 'double', 'int', 'long', 'string']),
    ...(random.percent(50) ? { onError: operand(anyInt) } : {}),
    ...(random.percent(50) ? { onNull: operand(anyInt) } : {}),
  }),
  $divide: these(anyNumber, anyNumber),
  $eq: these(anyValue, anyValue),
  $filter: (operand, random) => ({
    input: operand(random.percent(50) ? numbers : anyArray),
    ...(random.percent(30)
      ? { as: 'each', cond: { $gt: ['$$each', operand(anyNumber)] } }
      : { cond: { $ne: [{ $type: '$$this' }, 'int'] } }),
  }),
  $first: these(anyArray),
  $gt: these(anyValue, anyValue),
  $gte: these(anyNumber, anyNumber),
  $ifNull: (operand, random) => Array.from({ length: random.between(2, 4) }, () => operand(anyValue)),
  $in: these(anyInt, ints),
  $indexOfArray: (operand, random) => {
    const searched = [operand(ints), operand(anyInt)];
    if (random.percent(50)) searched.push(operand(anyInt));
    if (searched.length === 3 && random.percent(50)) searched.push(operand(anyInt));
    return searched;
  },
  $isArray: (operand) => [operand(anyValue)],
  $isNumber: these(anyValue),
  $last: these(anyArray),
  $let: (operand) => ({
    vars: { x: operand(anyDocument), y: operand(anyArray) },
    in: { p: '$$x', q: '$$x.a', r: '$$y.k', s: { $let: { vars: { x: '$$y' }, in: ['$$x', '$$y.a.b'] } } },
  }),
  $literal: () => ({ $add: ['$a', { b: '$$NOW' }] }),
  $lt: these(anyValue, anyValue),
  $lte: these(anyNumber, anyNumber),
  $map: (operand, random) => ({
    input: operand(anyArray),
    ...(random.percent(50)
      ? { as: 'each', in: { v: '$$each', w: '$$each.a' } }
      : { in: { $ifNull: ['$$this.k', '$$this'] } }),
  }),
  $max: several(4, anyNumber, anyValue, numbers),
  $mergeObjects: several(3, anyDocument),
  $min: several(4, anyNumber, anyValue, numbers),
  $mod: these(anyNumber, anyNumber),
  $multiply: several(4, anyNumber),
  $ne: these(anyValue, anyValue),
  $not: (operand) => [operand(anyValue)],
  $objectToArray: these(anyDocument),
  $or: several(3, anyValue),
  $range: (operand, random) =>
    [anyInt, anyInt, anyInt].slice(0, random.between(2, 3)).map((draw) => operand(draw, noLargeNumber)),
  $reduce: (operand) => ({
    input: operand(numbers),
    initialValue: operand(anyNumber),
    in: { $max: ['$$value', { $ifNull: ['$$this', 0] }] },
  }),
  $regexMatch: (operand, random) => ({
    input: operand(anyString),
    regex: random.pick(['^a', ' y', 'p0', '[^ :]+( |$)', 'a\\.b']),
  }),
  $reverseArray: these(anyArray),
  $setDifference: these(ints, ints),
  $setEquals: these(ints, ints),
  $setIntersection: several(3, ints, strings),
  $setIsSubset: these(ints, ints),
  $setUnion: several(3, ints, anyArray),
  $size: these(anyArray),
  $slice: (operand, random) => [
    operand(anyArray),
    operand(anyInt),
    ...(random.percent(50) ? [operand(anyInt)] : []),
  ],
  $subtract: these(addend, addend),
  $sum: several(4, anyNumber, numbers, anyValue),
  $switch: (operand, random) => ({
    branches: Array.from({ length: random.between(1, 2) }, () => ({
      case: operand(anyValue),
      then: operand(anyValue),
    })),
    ...(random.percent(80) ? { default: operand(anyValue) } : {}),
  }),
  $toBool: these(anyValue),
  $toDate: these(anyValue),
  $toDouble: these(anyValue),
  $toInt: these(anyValue),
  $toLong: these(anyValue),
  $toString: these(anyValue),
  $type: these(anyValue),
};

/** An expression, and the document whose fields it computes with. */
export interface DrawnExpression {
  readonly expression: unknown;
  readonly document: Document;
}

/** One use of this operator. Some operands are expressions themselves, and some have a type that does not fit. */
export function drawExpression(random: Random, operator: string, maxDepth: number): DrawnExpression {
  const fields: [string, unknown][] = [];
  const operandAt =
    (depth: number): Operand =>
    (draw, others) => {
      if (others === undefined && depth < maxDepth && random.percent(50))
        return expressionAt(anyOperator(random), depth + 1);
      const chance = random.between(1, 100);
      const value = chance <= 5 ? ABSENT : chance <= 15 ? (others ?? anyValue)(random, 0) : draw(random, 0);
      const name = `f${fields.length}`;
      fields.push([name, value]);
      return `$${name}`;
    };
  const expressionAt = (name: string, depth: number): unknown => {
    const shape = SHAPES[name];
    if (shape === undefined) throw new Error(`no shape for ${name}`);
    const drawn = { [name]: shape(operandAt(depth), random) };
    // The server leaves the order of a union open.
    return name === '$setUnion' ? { $size: drawn } : drawn;
  };
  const expression = expressionAt(operator, 0);
  return { expression, document: Object.fromEntries(fields.filter(([, value]) => value !== ABSENT)) };
}

const anyOperator = (random: Random): string =>
  EXPRESSION_OPERATORS[random.between(0, EXPRESSION_OPERATORS.length - 1)] ?? '$add';
