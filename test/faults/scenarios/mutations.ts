import fc from 'fast-check';
import { BSONRegExp, Binary, Decimal128, Long, MaxKey, MinKey, ObjectId, Timestamp } from 'mongodb';

import { MISSING } from '../../model/documents/corruptions.js';

type Json = Readonly<Record<string, unknown>>;

const past = new Date(Date.now() - 60_000);
const scalar = fc.oneof(
  fc.constantFrom<unknown>(
    MISSING,
    null,
    true,
    '',
    'x',
    'mutex',
    'election',
    '$holder',
    '$$NOW',
    'write',
    '\0',
  ),
  fc.constantFrom<unknown>(
    0,
    1,
    2,
    3,
    99,
    -1,
    1.5,
    -0,
    NaN,
    Infinity,
    -Infinity,
    1e300,
    30_000,
    2 ** 31,
    2 ** 53,
  ),
  fc.constantFrom<unknown>(
    Long.MAX_VALUE,
    Long.MIN_VALUE,
    Long.ONE,
    Long.fromNumber(2 ** 53),
    new ObjectId(),
  ),
  fc.constantFrom<unknown>(new MinKey(), new MaxKey(), new BSONRegExp('^w'), new Timestamp({ t: 1, i: 1 })),
  fc.constantFrom<unknown>(...['NaN', '30000', '-Infinity'].map((text) => Decimal128.fromString(text))),
  fc.constantFrom<unknown>(past, new Date(8.64e15), new Date(-8.64e15), new Date(Date.now() + 60_000)),
  fc.constant<unknown>(new Binary(new Uint8Array([1]))),
);
const present = scalar.filter((value) => value !== MISSING);
const nested = (depth: number): unknown => (depth === 0 ? 'x' : { a: [nested(depth - 1)] });

/** A change of a document. The fraction `at` picks the path, which gets a value or a copy of another part. */
interface Mutation {
  readonly at: number;
  readonly extraKey: string | undefined;
  readonly value: unknown;
  readonly copyOf: number | undefined;
}

const KEYS = [
  '$x',
  '$',
  'a.b',
  '',
  '0',
  '__proto__',
  'id',
  'expiresAt',
  'ending',
  'mode',
  'permits',
  'v',
  'k',
];
const key = fc.constantFrom(...KEYS);
const fraction = fc.double({ min: 0, max: 0.999, noNaN: true });
export const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fraction,
  extraKey: fc.option(key, { nil: undefined, freq: 4 }),
  value: fc.oneof(
    { weight: 6, arbitrary: scalar },
    { weight: 1, arbitrary: fc.array(present, { maxLength: 3 }) },
    { weight: 1, arbitrary: fc.dictionary(key, present, { maxKeys: 3 }) },
    { weight: 1, arbitrary: fc.constant(nested(20)) },
  ),
  copyOf: fc.option(fraction, { nil: undefined, freq: 3 }),
});

const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && [Object, Array].includes(value.constructor as typeof Object);

const pathsIn = (value: unknown, path: readonly string[] = []): (readonly string[])[] =>
  isRecord(value)
    ? [
        ...(path.length > 0 ? [path] : []),
        ...Object.keys(value).flatMap((each) => pathsIn(value[each], [...path, each])),
      ]
    : [path];

const valueAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((part, each) => (isRecord(part) ? part[each] : undefined), value);

function withValueAt(value: unknown, [first, ...rest]: readonly string[], put: unknown): unknown {
  if (first === undefined) return put;
  if (Array.isArray(value)) {
    const list = [...(value as readonly unknown[])];
    list[Number(first)] = withValueAt(list[Number(first)], rest, put);
    return list.filter((each) => each !== MISSING);
  }
  const old = isRecord(value) ? value : {};
  const entries = Object.entries(old).filter(([name]) => name !== first);
  const changed = withValueAt(old[first], rest, put);
  return Object.fromEntries(changed === MISSING ? entries : [...entries, [first, changed]]);
}

export function mutated(document: Json, { at, extraKey, value, copyOf }: Mutation): Json {
  const paths = pathsIn(document).filter(([first]) => first !== '_id');
  const pick = (share: number): readonly string[] => paths[Math.floor(share * paths.length)] ?? [];
  const path = extraKey === undefined ? pick(at) : [...pick(at).slice(0, -1), extraKey];
  const put = copyOf === undefined ? value : valueAt(document, pick(copyOf));
  return withValueAt(document, path, put) as Json;
}
