import { BSON, Binary, Code, Decimal128, Long, MaxKey, MinKey, ObjectId, Timestamp } from 'mongodb';
import type { Document } from 'mongodb';
import { afterAll, describe, expect, inject, it } from 'vitest';

import { keyOf } from '../../../src/testing/replica-set/documents.js';
import { compareValues, fromDriver, sizeOf, toDriver } from '../../../src/testing/server/values.js';
import type { DocumentValue } from '../../../src/testing/server/values.js';
import { applyOperators } from '../../../src/testing/server/updates.js';
import { randomFrom } from '../../../lab/random.js';
import { byBreadth } from '../../support/breadth.js';
import { drawSeed } from '../../support/seed.js';
import { readBson } from './bson-reader.js';
import { drawFields } from './random-documents.js';
import { anyValue } from './random-values.js';
import { RealServer } from './real-server.js';
import { textOf } from './value-text.js';

const server = new RealServer(inject('mongoUri'));

afterAll(() => server[Symbol.asyncDispose]());

/** What JavaScript gives to the driver, and the driver encodes in a way of its own. */
const GIVEN: Document = {
  int: 7,
  least: -2_147_483_648,
  beyondInt: 2_147_483_648,
  fraction: 0.5,
  negativeZero: -0,
  nan: NaN,
  big: 7n,
  biggest: 2n ** 63n - 1n,
  nothing: undefined,
  invalid: new Date(NaN),
  date: new Date(8.64e15),
  list: [undefined, 1, [null]],
  listWithHole: Object.assign([1], { 2: 3 }),
  pattern: /^a.b/im,
  bytes: Buffer.from('ab'),
  map: new Map<string, unknown>([
    ['b', 1],
    ['work', () => 1],
    ['sign', Symbol('s')],
    ['a', { c: 2 }],
  ]),
  work: () => 1,
  sign: Symbol('s'),
  encoded: { toBSON: () => ({ x: 1n }) },
  ...{ encodedWork: Object.assign(() => 1, { toBSON: () => 2 }), encodedAsWork: { toBSON: () => () => 1 } },
  shortened: [
    1,
    () => 1,
    Symbol('s'),
    { toBSON: () => Symbol('s') },
    { work: () => 1, sign: Symbol('s') },
    2,
  ],
  __proto__field: '🔒é',
};

/** What a reader sees. The driver's classes for rare values have other private parts than those here. */
const seen = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) => {
    if (typeof each !== 'object' || each === null || !('_bsontype' in each)) return each;
    return `${String(each._bsontype)} ${each instanceof Code ? each.code : (each as { toString(): string }).toString()}`;
  });

describe('values', () => {
  const random = randomFrom(drawSeed('values'));
  const drawn = Array.from({ length: byBreadth(200, 5_000) }, (): Document => ({
    ...Object.fromEntries(drawFields(random)),
    value: anyValue(random, 0),
  }));
  const rare = {
    ...{ id: new ObjectId(), least: new MinKey(), most: new MaxKey(), stamp: new Timestamp({ t: 7, i: 9 }) },
    ...{
      long: Long.MAX_VALUE,
      negative: Long.fromString('-9007199254740993'),
      exact: Long.fromNumber(2 ** 53),
    },
    ...{
      binary: new Binary(new Uint8Array([1, 2])),
      decimal: Decimal128.fromString('-1.50E-7'),
      code: new Code('x'),
    },
  };
  const documents = [GIVEN, rare, ...drawn];

  it('are encoded as the driver encodes them', () => {
    for (const document of documents) {
      const bytes = BSON.serialize(document, { ignoreUndefined: false });
      const own = fromDriver(document) as DocumentValue;
      expect(textOf(own)).toBe(textOf(readBson(bytes)));
      expect(sizeOf(own)).toBe(bytes.length);
    }
  });

  it('are decoded as the driver decodes them', () => {
    for (const document of documents) {
      const decoded = BSON.deserialize(BSON.serialize(document, { ignoreUndefined: false }), {
        ...{ promoteValues: true, promoteLongs: true, promoteBuffers: false, useBigInt64: false },
      });
      expect(seen(toDriver(fromDriver(document)))).toBe(seen(decoded));
    }
  });

  it('have the order in which the real server sorts them', async () => {
    const sorted = drawn
      .slice(0, 400)
      .map((document, index) => ({ _id: `n${index}`, value: [document['value']] }));
    await server.store(sorted.map(({ _id, value }) => ({ _id, value: { of: value } })));
    const found = await server.list({}, {}, { value: 1, _id: 1 });
    expect(found.length).toBe(sorted.length);
    for (const [index, document] of found.entries()) {
      const before = found[index - 1];
      if (before === undefined) continue;
      expect(compareValues(before.get('value'), document.get('value'))).toBeLessThanOrEqual(0);
    }
  });

  it('have the same key as ids exactly if they are equal', () => {
    const values = documents.flatMap((document): unknown[] => Object.values(document)).slice(0, 600);
    const ids = values.map((value) => fromDriver(value));
    for (const [index, id] of ids.entries()) {
      for (const other of ids.slice(0, index)) {
        if ((keyOf(id) === keyOf(other)) === (compareValues(id, other) === 0)) continue;
        expect.unreachable(`${textOf(id)} and ${textOf(other)}: ${keyOf(id)} and ${keyOf(other)}`);
      }
    }
  });

  it('of the present date are stored by $currentDate', () => {
    const before = fromDriver({ _id: 1 }) as DocumentValue;
    const update = fromDriver({ $currentDate: { at: true, 'of.day': { $type: 'date' } } }) as DocumentValue;
    const after = applyOperators(before, update, false, 1_795_000_000_000);
    const now = new Date(1_795_000_000_000);
    expect(toDriver(after)).toEqual({ _id: 1, at: now, of: { day: now } });
  });
});
