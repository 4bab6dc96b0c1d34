import { inspect } from 'node:util';

import { Decimal128, Double, Int32, Long } from 'mongodb';
import type { Document } from 'mongodb';
import { afterAll, expect, inject, it } from 'vitest';

import { compareAll, expectAgreement } from './comparison.js';
import type { Case } from './comparison.js';
import { RealServer } from './real-server.js';

const server = new RealServer(inject('mongoUri'));

afterAll(() => server[Symbol.asyncDispose]());

const LEAST = new Int32(-2_147_483_648);
const MOST = new Int32(2_147_483_647);

const evaluating = (expression: unknown, document: Case['document'] = {}): Case => ({
  document,
  update: [{ $replaceWith: { _id: '$_id', r: expression } }],
});

/** Texts of doubles, and texts that are none. */
const DOUBLES: readonly string[] = [
  ...['Infinity', '-Infinity', '+inf', 'INF', 'NaN', '-nan', '1e5', '1E+2', '1.', '.5', '-.5', '-0', '00012'],
  ...['1e400', '-1e400', '1e-400', '1e-310', '0e-400', '2.3e-308', '', '-', 'e5', '1e', ' 1', '1 ', '0x10'],
  ...['infinit', 'infx', '1_0', '1.5.2', '1d'],
];

const doubles = Object.fromEntries(
  DOUBLES.map((text) => [`the double in “${text}”`, evaluating({ $toDouble: '$a' }, { a: text })]),
);

const [INT, LONG] = ['$toInt', '$toLong'] as const;

/** Numbers about the ends of the range of an int or a long, and what converts them. */
const BOUNDS: readonly (readonly [operator: '$toInt' | '$toLong', value: unknown])[] = [
  ...['2147483647', '2147483647.5', '2147483648', '-2147483648', '-2147483648.5', '-2147483649'].flatMap(
    (text) => [
      [INT, new Double(Number(text))] as const,
      [INT, Decimal128.fromString(text)] as const,
      [INT, text] as const,
    ],
  ),
  ...['9223372036854775807', '9223372036854775807.5', '9223372036854775808'].map(
    (text) => [LONG, Decimal128.fromString(text)] as const,
  ),
  ...['-9223372036854775808', '-9223372036854775808.5', '-9223372036854775809'].map(
    (text) => [LONG, Decimal128.fromString(text)] as const,
  ),
  ...[2 ** 63, -(2 ** 63), 2 ** 63 - 1_024, -(2 ** 63) - 2_048].map(
    (value) => [LONG, new Double(value)] as const,
  ),
];

const bounds = Object.fromEntries(
  BOUNDS.map(([operator, value]) => [
    `${operator} of ${typeof value === 'string' ? 'the text ' : ''}${inspect(value)}`,
    evaluating({ [operator]: '$a' }, { a: value }),
  ]),
);

/** Projections in which an object meets another path. */
const COLLISIONS: readonly Document[] = [
  { b: { d: 1 }, 'b.d': { x: 1 } },
  { b: { d: 1 }, 'b.d': { x: '$a' } },
  { 'b.d': 1, b: { d: { x: 1 } } },
  { b: 1, 'b.d': { x: 1 } },
  { 'b.d': { x: 1 }, b: 1 },
  { b: { d: 1 }, 'b.d.x': 1 },
  { 'b.d.x': '$a', b: { d: 1 } },
  { 'b.d': { x: 1 }, 'b.d.x': { z: 1 } },
  { b: { c: { d: 1 } }, 'b.c': { e: 1 } },
  { 'b.d.y': 1, 'b.d': { x: 1 } },
];

/** Numbers as flags of a projection: zero excludes. */
const FLAGS: Readonly<Record<string, unknown>> = {
  ...{ '0': Decimal128.fromString('0'), '-0E+3': Decimal128.fromString('-0E+3') },
  ...{ '0.5': Decimal128.fromString('0.5'), NaN: Decimal128.fromString('NaN') },
  ...{ 'the long 0': Long.ZERO, 'the double -0': new Double(-0), 'the double NaN': new Double(NaN) },
};

const flags = Object.fromEntries(
  Object.entries(FLAGS).map(([text, flag]): [string, Case] => [
    `the flag ${text}`,
    { document: { a: 1, b: 2 }, update: [{ $project: { a: flag } }] },
  ]),
);

const collisions = Object.fromEntries(
  COLLISIONS.map((fields): [string, Case] => [
    `the projection ${JSON.stringify(fields)}`,
    { document: { a: 1, b: { c: { d: 1, e: 2 }, d: { x: 1, y: 2 } } }, update: [{ $project: fields }] },
  ]),
);

/** What random cases meet seldom. Operands are fields, because the real server evaluates constants in another order. */
const CASES: Readonly<Record<string, Case>> = {
  ...doubles,
  ...bounds,
  'the intersection of a larger set with a smaller one, whose number has another type': evaluating(
    { $setIntersection: ['$a', '$b'] },
    { a: [3, 4, 5, 5], b: [new Double(3)] },
  ),
  'the intersection of a smaller set with a larger one, whose number has another type': evaluating(
    { $setIntersection: ['$b', '$a'] },
    { a: [3, 4, 5, 5], b: [new Double(3)] },
  ),
  'an intersection that is empty before an operand without a value': evaluating(
    { $setIntersection: ['$a', '$b', '$c'] },
    { a: [1], b: [2] },
  ),
  'an intersection that is empty before an operand that is no array': evaluating(
    { $setIntersection: ['$a', '$b', '$c'] },
    { a: [1], b: [2], c: 'text' },
  ),
  'a sum of doubles whose rounding errors come late': evaluating(
    { $add: ['$a', '$b', '$c', '$d'] },
    { a: LEAST, b: Long.MIN_VALUE, c: MOST, d: new Double(2 ** 63) },
  ),
  'a sum of an array with a double and large integers': evaluating(
    { $sum: ['$a'] },
    { a: [new Double(0.2), Long.fromNumber(3), LEAST, Long.ZERO, MOST] },
  ),
  'a sum of longs beyond the longs and back': evaluating(
    { $sum: ['$a'] },
    { a: [Long.MAX_VALUE, Long.MAX_VALUE, Long.MIN_VALUE, Long.fromNumber(-7)] },
  ),
  'a sum of longs that is the least double beyond the longs': evaluating(
    { $add: ['$a', '$b'] },
    { a: Long.MAX_VALUE, b: Long.ONE },
  ),
  'the remainder of a decimal by zero': evaluating(
    { $mod: ['$a', '$b'] },
    { a: Decimal128.fromString('3'), b: new Double(0) },
  ),
  'the remainder by a decimal of zero': evaluating(
    { $mod: ['$a', '$b'] },
    { a: new Int32(3), b: Decimal128.fromString('0') },
  ),
  'the remainder by zero': evaluating({ $mod: ['$a', '$b'] }, { a: new Int32(3), b: new Double(0) }),
  'a date minus a number that is too large': evaluating(
    { $subtract: ['$a', '$b'] },
    { a: new Date(-8.64e15), b: Long.MAX_VALUE },
  ),
  'a date plus a number that is too large': evaluating(
    { $add: ['$a', '$b'] },
    { a: new Date(8.64e15), b: Long.MAX_VALUE },
  ),
  'a date minus a date that is too far away': evaluating(
    { $subtract: [{ $toDate: '$a' }, '$b'] },
    { a: Long.MAX_VALUE, b: new Date(-8.64e15) },
  ),
  'the text of a double halfway between two texts, above an even digit': evaluating(
    { $toString: '$a' },
    { a: new Double(0.0009765625) },
  ),
  'the text of a double halfway between two texts, above an odd digit': evaluating(
    { $toString: '$a' },
    { a: new Double(123_457.5) },
  ),
  'the text of a negative double halfway between two texts': evaluating(
    { $toString: '$a' },
    { a: new Double(-1_234_565) },
  ),
  'a product that is the negative zero in place of zero': {
    document: { a: new Double(0), b: new Double(-0), c: new Double(1) },
    update: { $mul: { a: -1, b: -1, c: new Double(-0) } },
  },
  'an exclusion with a path at another one': {
    document: {},
    update: [{ $project: { 'd.0.c': false, d: '$a.a' } }],
  },
  'an exclusion with a path within another one': {
    document: {},
    update: [{ $project: { b: false, 'b.a': '$c' } }],
  },
  'an exclusion with an operator within another path': {
    document: {},
    update: [{ $project: { b: false, 'b.a': { $add: ['$c'] } } }],
  },
  'an inclusion with an excluded path within another one': {
    document: {},
    update: [{ $project: { a: '$b', 'a.b': 0 } }],
  },
  'a path without a value, included beside a computed one': {
    document: { c: [3] },
    update: [
      { $project: { 'a.a': true, 'd.0': '$a' } },
      { $project: { c: false, d: false } },
      { $set: { a: 'aa', 'd.b': 1 } },
    ],
  },
  'a value that an inclusion leaves out, set again': {
    document: { a: 'a', b: 1 },
    update: [{ $project: { 'a.b': true } }, { $set: { c: 1, 'a.d': 2 } }],
  },
  'a value that an inclusion leaves out of a changed document, set again': {
    document: { a: 'a', b: 1 },
    update: [{ $set: { b: 2 } }, { $project: { 'a.b': true } }, { $set: { c: 1, 'a.d': 2 } }],
  },
  'a value that an inclusion leaves out of a part of the document, set again': {
    document: { a: { a: 'a', b: 1 } },
    update: [{ $replaceWith: '$a' }, { $project: { 'a.b': true } }, { $set: { c: 1, 'a.d': 2 } }],
  },
  'a value that an inclusion leaves out after an exclusion of nothing, set again': {
    document: { b: 1, d: [3] },
    update: [{ $unset: ['a.b'] }, { $project: { 'd.c': true } }, { $set: { c: '$d', 'd.a.0': '$x' } }],
  },
  ...collisions,
  ...flags,
  'an excluded value, computed by a projection': {
    document: { a: 'a', b: [1] },
    update: [{ $unset: 'a' }, { $project: { 'b.0': '$c', 'a.1': '$c' } }],
  },
  'a missing value of an object, set afterwards': {
    document: { c: 1 },
    update: [{ $replaceWith: { b: { x: '$a', y: 3 }, d: '$a' } }, { $set: { e: 1, d: 2, 'b.x': 4 } }],
  },
};

it.each(Object.entries(CASES))('agrees with the real server about %s', async (_, each) => {
  const tally = await compareAll(server, 1, () => each);
  expectAgreement(tally);
  expect(tally.compared).toBe(1);
});
