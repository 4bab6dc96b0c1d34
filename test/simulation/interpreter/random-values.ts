import { BSONRegExp, BSONSymbol, Binary, Code, Decimal128, Double, Int32, Long } from 'mongodb';
import { MaxKey, MinKey, ObjectId, Timestamp } from 'mongodb';

import type { Random } from '../../../lab/random.js';

const id = new ObjectId('0123456789abcdef01234567');

export const NUMBERS: readonly [unknown, ...unknown[]] = [
  ...([0, 1, 2, 3, -1, 7, 100, 30_000, 86_400_000, 2_147_483_647, -2_147_483_648] as const).map(
    (n) => new Int32(n),
  ),
  ...[0, 1, 3, -1, 100, 30_000, 2_147_483_648, 1_795_000_000_000_000, 2 ** 53, 2 ** 53 + 2].map((n) =>
    Long.fromNumber(n),
  ),
  ...[Long.MAX_VALUE, Long.MIN_VALUE, Long.fromString('9007199254740993')],
  ...[
    0,
    -0,
    1,
    3,
    0.5,
    -2.5,
    0.1,
    0.2,
    0.3,
    0.7,
    123456.7,
    1e-5,
    1e300,
    2 ** 53,
    2 ** 63,
    NaN,
    Infinity,
    -Infinity,
  ].map((n) => new Double(n)),
] as unknown as readonly [unknown, ...unknown[]];

export const DECIMALS: readonly unknown[] = [
  ...['NaN', 'Infinity', '-Infinity', '1E+6144', '0', '3', '3.0', '-2.5', '30000'].map((text) =>
    Decimal128.fromString(text),
  ),
];

export const DATES: readonly unknown[] = [
  new Date(0),
  new Date(-1),
  new Date(1_795_000_000_000),
  new Date(8.64e15),
  new Date(-8.64e15),
];

export const STRINGS: readonly unknown[] = [
  '',
  'a',
  'b',
  'aa',
  'k',
  '7',
  '-12',
  '1.5',
  'x y',
  'é',
  '\u{1f512}',
  '\uffee',
  'p0',
];

const OTHERS: readonly unknown[] = [
  ...[new BSONSymbol('a'), new Code('a'), new BSONRegExp('^a', 'i'), new Timestamp({ t: 1, i: 1 })],
  ...[new Binary(new Uint8Array([1])), new Binary(new Uint8Array([0, 1])), id, new MinKey(), new MaxKey()],
];

/** A value of any type. Absent: the field is missing. */
export const ABSENT = Symbol('absent');

export type Draw = (random: Random, depth: number) => unknown;

const oneOf = (random: Random, list: readonly unknown[]): unknown => list[random.between(0, list.length - 1)];

export const anyNumber: Draw = (random) => oneOf(random, NUMBERS);
export const anyInt: Draw = (random) => new Int32(random.between(-4, 6));
export const anyString: Draw = (random) => oneOf(random, STRINGS);
export const anyDate: Draw = (random) => oneOf(random, DATES);

/** An array whose elements are mostly alike. */
export const anyArray: Draw = (random, depth) => {
  const draw = oneOf(random, [
    anyInt,
    anyNumber,
    anyString,
    anyValue,
    anyEntry,
    anyPair,
    anyDocument,
  ]) as Draw;
  return Array.from({ length: random.between(0, 4) }, () => draw(random, depth + 1));
};

/** An object that `$arrayToObject` accepts in most cases. */
export const anyEntry: Draw = (random, depth) => {
  const entry = {
    k: random.percent(95) ? anyString(random, depth) : anyValue(random, depth + 1),
    v: anyValue(random, depth + 1),
  };
  return random.percent(95) ? entry : { ...entry, w: 1 };
};

const anyPair: Draw = (random, depth) => [anyString(random, depth), anyValue(random, depth + 1)];

const NAMES = ['a', 'b', 'c', 'k', 'v', 'id', '0', 'expiresAt'] as const;

export const anyDocument: Draw = (random, depth) => {
  const names = Array.from({ length: random.between(0, 4) }, () => random.pick(NAMES));
  return new Map(names.map((name) => [name, anyValue(random, depth + 1)]));
};

export const anyValue: Draw = (random, depth) => {
  const kind = random.between(1, 100);
  if (kind <= 40) return anyNumber(random, depth);
  if (kind <= 50) return anyString(random, depth);
  if (kind <= 57) return anyDate(random, depth);
  if (kind <= 64) return null;
  if (kind <= 68) return random.percent(50);
  if (kind <= 72) return oneOf(random, DECIMALS);
  if (kind <= 78) return oneOf(random, OTHERS);
  if (depth >= 3) return anyInt(random, depth);
  return kind <= 90 ? anyArray(random, depth) : anyDocument(random, depth);
};
