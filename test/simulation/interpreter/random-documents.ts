import type { Document } from 'mongodb';

import type { Random } from '../../../lab/random.js';
import { anyNumber, anyString, anyValue } from './random-values.js';

/** Few names, so that paths and fields meet. */
const NAMES = ['a', 'b', 'c', 'd', '0', '1'] as const;

/** A document whose fields are values, objects and arrays. */
export function drawFields(random: Random, depth = 0): ReadonlyMap<string, unknown> {
  const fields = new Map<string, unknown>();
  const count = random.between(depth === 0 ? 2 : 0, 4);
  for (let index = 0; index < count; index += 1) fields.set(random.pick(NAMES), drawField(random, depth));
  return fields;
}

function drawField(random: Random, depth: number): unknown {
  const kind = random.between(1, 10);
  if (depth < 3 && kind <= 3) return drawFields(random, depth + 1);
  if (depth < 3 && kind <= 5) {
    return Array.from({ length: random.between(0, 3) }, () => drawField(random, depth + 1));
  }
  if (kind === 6) return anyValue(random, 2);
  return drawScalar(random);
}

export const drawScalar = (random: Random): unknown =>
  random.pick([
    null,
    random.between(0, 3),
    random.percent(50),
    anyNumber(random, 0),
    anyString(random, 0),
    [random.between(0, 3)],
  ]);

export const drawPath = (random: Random, most = 3): string =>
  Array.from({ length: random.between(1, most) }, () => random.pick(NAMES)).join('.');

/** Paths of which none is within another one, in most cases. */
const drawPaths = (random: Random, most: number): readonly string[] => {
  const drawn = Array.from({ length: random.between(1, most) }, () => drawPath(random));
  if (random.percent(8)) return [...new Set(drawn)];
  return drawn.filter((path, at) => !drawn.slice(0, at).some((other) => meet(path, other)));
};

const meet = (a: string, b: string): boolean => a === b || a.startsWith(`${b}.`) || b.startsWith(`${a}.`);

function drawComputed(random: Random): unknown {
  switch (random.between(1, 7)) {
    case 1:
      return { $literal: drawScalar(random) };
    case 2:
      return { x: `$${drawPath(random)}`, y: { z: random.between(0, 3) } };
    case 3:
      return [`$${drawPath(random)}`, random.between(0, 3)];
    case 4:
      return '$$ROOT';
    default:
      return `$${drawPath(random)}`;
  }
}

const objectOf = (random: Random, value: () => unknown, most = 3): Document =>
  Object.fromEntries(drawPaths(random, most).map((path) => [path, value()]));

/** A projection: of fields to include or to exclude, or of computed ones. */
export function drawListed(random: Random): Document {
  const flag = random.percent(50);
  const one = (): unknown => random.pick<unknown>(flag ? [1, true, 2.5] : [0, false]);
  const id = random.pick<Document>([{}, {}, { _id: 0 }, { _id: 1 }]);
  const computed = flag || random.percent(5) ? objectOf(random, () => drawComputed(random), 2) : {};
  const listed = objectOf(random, () => (random.percent(10) ? { d: one() } : one()));
  return random.percent(50) ? { ...id, ...listed, ...computed } : { ...id, ...listed };
}

export function drawStage(random: Random): Document {
  switch (random.between(1, 6)) {
    case 1:
      return { $unset: random.percent(40) ? drawPath(random) : drawPaths(random, 3) };
    case 2:
      return { $project: drawListed(random) };
    case 3:
      return {
        $replaceWith: random.percent(50) ? `$${drawPath(random)}` : { _id: '$_id', r: drawComputed(random) },
      };
    case 4:
      return { $replaceRoot: { newRoot: { $mergeObjects: ['$a', '$$ROOT', { b: drawComputed(random) }] } } };
    default:
      return { [random.pick(['$set', '$addFields'])]: objectOf(random, () => drawComputed(random)) };
  }
}

const OPERATORS = [
  '$set',
  '$setOnInsert',
  '$unset',
  '$inc',
  '$mul',
  '$max',
  '$min',
  '$push',
  '$addToSet',
] as const;

/** An update by operators. */
export function drawOperators(random: Random): Document {
  const update: Record<string, Record<string, unknown>> = {};
  for (const path of drawPaths(random, 5)) {
    const operator = random.pick(OPERATORS);
    const value = argumentOf(random, operator);
    update[operator] = { ...update[operator], [path]: value };
  }
  return update;
}

function argumentOf(random: Random, operator: (typeof OPERATORS)[number]): unknown {
  if (operator === '$inc' || operator === '$mul') {
    return random.percent(90) ? anyNumber(random, 0) : drawScalar(random);
  }
  if (operator === '$push' || operator === '$addToSet') {
    return random.percent(40) ? { $each: [random.between(0, 3), drawScalar(random)] } : drawScalar(random);
  }
  return random.percent(30) ? drawFields(random, 2) : drawScalar(random);
}

/** A query with conditions on fields. */
export function drawFilter(random: Random, depth = 0): Document {
  const kind = random.between(1, 12);
  if (depth < 2 && kind <= 3) {
    const parts = Array.from({ length: random.between(1, 2) }, () => drawFilter(random, depth + 1));
    return { [random.pick(['$and', '$or', '$nor'])]: parts };
  }
  if (kind === 4) return { $expr: { $gt: [`$${drawPath(random)}`, `$${drawPath(random)}`] } };
  return { [drawPath(random)]: random.percent(25) ? drawScalar(random) : drawCondition(random, depth) };
}

function drawCondition(random: Random, depth: number): Document {
  switch (random.between(1, 9)) {
    case 1:
      return { $exists: random.percent(50) };
    case 2:
      return {
        $type: random.pick<unknown>([
          'object',
          'array',
          'int',
          'double',
          'number',
          'string',
          'null',
          ['bool', 'long'],
        ]),
      };
    case 3:
      return {
        [random.pick(['$in', '$nin'])]: Array.from({ length: random.between(0, 3) }, () =>
          drawScalar(random),
        ),
      };
    case 4:
      return { $regex: random.pick(['^a', 'a', ' y', '^$']) };
    case 5:
      return depth < 3 ? { $not: drawCondition(random, depth + 1) } : { $exists: true };
    case 6:
      return { [random.pick(['$eq', '$ne'])]: drawScalar(random) };
    default:
      return {
        [random.pick(['$gt', '$gte', '$lt', '$lte'])]: random.percent(15)
          ? anyValue(random, 2)
          : drawScalar(random),
      };
  }
}
