import { BSONSymbol, Decimal128, Double, Long } from 'mongodb';
import type { Db } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { rejection } from '../../../lab/patience.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';
import { whenTestEnds } from '../../support/current-test.js';
import { ownDatabase } from '../../support/test-provider.js';

function inMemory(): Db {
  const set = new MemoryReplicaSet({ time: 'real', seed: 7 });
  whenTestEnds(() => set.close());
  return set.db('app');
}

const DATABASES: readonly (readonly [where: string, database: () => Db])[] = [
  ['on a real server', () => ownDatabase().client().db],
  ['in memory', inMemory],
];

interface Cursor {
  readonly id: number;
  readonly nextBatch: readonly { readonly operationType: string }[];
}

const decimal = (text: string): Decimal128 => Decimal128.fromString(text);

/** Pairs of ids that are one id. */
const SAME: readonly (readonly [name: string, one: unknown, other: unknown])[] = [
  ['an int and a decimal', 1, decimal('1.0')],
  ['a double and an int', new Double(-0), 0],
  ['a large long and a decimal', Long.MAX_VALUE, decimal('9223372036854775807')],
  ['an int and a decimal with an exponent', 100, decimal('1E+2')],
  ['a double and a decimal with the same fraction', new Double(0.5), decimal('0.50')],
  ['two decimals of the same value', decimal('1E+6000'), decimal('10E+5999')],
  ['a double and a decimal that are no number', new Double(NaN), decimal('NaN')],
  ['a double and a decimal within objects', { a: { b: new Double(2) } }, { a: { b: decimal('2') } }],
  ['an int and a double within arrays of objects', { a: [1] }, { a: [new Double(1)] }],
  ['a text and a symbol', { a: 'x' }, { a: new BSONSymbol('x') }],
];

const DIFFERENT: readonly (readonly [name: string, one: unknown, other: unknown])[] = [
  ['objects with a text like the rest of the other one', { a: 'x,"b":sy' }, { a: 'x', b: 'y' }],
  ['a double and a decimal that is only near', new Double(0.1), decimal('0.1')],
  ['a long and a double that is only near', Long.MAX_VALUE, new Double(2 ** 63)],
  ['objects with another order of their fields', { a: 1, b: 2 }, { b: 2, a: 1 }],
];

/** Filters of upserts, and the document that is stored, or the code of the error. */
const UPSERTS: readonly (readonly [filter: object, stored: object | number])[] = [
  [
    { _id: 1, 'a.b': 2 },
    { _id: 1, a: { b: 2 }, v: 1 },
  ],
  [
    { 'z.b': 1, m: 2, _id: 1, 'z.a': { c: 3 } },
    { _id: 1, m: 2, z: { a: { c: 3 }, b: 1 }, v: 1 },
  ],
  [
    { b: 1, '_id.y': 1, '_id.x': 2 },
    { _id: { x: 2, y: 1 }, b: 1, v: 1 },
  ],
  [
    { _id: 1, ab: 1, 'a.0': 2, 'a-': null },
    { _id: 1, 'a-': null, a: { 0: 2 }, ab: 1, v: 1 },
  ],
  [
    { _id: 1, $and: [{ z: 1 }, { b: { $gt: 1 } }, { $and: [{ c: 1 }] }] },
    { _id: 1, c: 1, z: 1, v: 1 },
  ],
  [
    { _id: { $in: [1] }, $or: [{ a: { $in: [5] } }] },
    { _id: 1, a: 5, v: 1 },
  ],
  [
    { _id: 1, $or: [{ a: 5 }, { a: 6 }], b: { $in: [1, 2] } },
    { _id: 1, v: 1 },
  ],
  [
    { _id: 1, a: { $eq: /x/ }, b: /x/, c: { $gt: 1, $eq: 3 } },
    { _id: 1, a: /x/, c: 3, v: 1 },
  ],
  [
    { _id: 1, a: { $eq: null }, b: { $in: [/x/] } },
    { _id: 1, a: null, v: 1 },
  ],
  [{ _id: 1, a: { $eq: 1, $in: [1] } }, 54],
  [{ _id: 1, 'a.b': 2, a: { c: 1 } }, 54],
  [{ _id: 1, a: { c: 1 }, 'a.b': 2 }, 54],
  [{ _id: 1, $and: [{ a: 1 }, { a: 1 }] }, 54],
];

describe.each(DATABASES)('%s', (_, database) => {
  it('a change stream ends after the drop of its collection, and its cursor is closed', async () => {
    const db = database();
    await db.collection('a').insertOne({});
    const opened = await db.command({ aggregate: 'a', pipeline: [{ $changeStream: {} }], cursor: {} });
    let { id } = opened['cursor'] as Cursor;
    const next = { getMore: id, collection: 'a', maxTimeMS: 1_000 };
    await db.collection('a').drop();
    const events: string[] = [];
    while (id !== 0) {
      const { cursor } = (await db.command(next)) as { readonly cursor: Cursor };
      ({ id } = cursor);
      events.push(...cursor.nextBatch.map(({ operationType }) => operationType));
    }
    expect(events).toEqual(['drop', 'invalidate']);
    expect(await rejection(db.command(next))).toMatchObject({ code: 43 });
  });

  it('a drop says whether there was a collection', async () => {
    const db = database();
    await db.collection('a').insertOne({});
    expect([await db.collection('a').drop(), await db.collection('a').drop()]).toEqual([true, false]);
  });

  const insertBoth = async (one: unknown, other: unknown): Promise<unknown> => {
    const ids = database().collection<{ _id: unknown }>('a');
    await ids.insertOne({ _id: one });
    return await ids.insertOne({ _id: other });
  };

  it.each(SAME)('%s are one _id', async (__, one, other) => {
    expect(await rejection(insertBoth(one, other))).toMatchObject({ code: 11_000 });
  });

  it.each(DIFFERENT)('%s are two ids', async (__, one, other) => {
    expect(await insertBoth(one, other)).toMatchObject({ acknowledged: true });
  });

  it.each(UPSERTS)('an upsert makes a document of its filter: %j', async (filter, stored) => {
    const collection = database().collection('a');
    const upserting = collection.updateOne(filter, { $set: { v: 1 } }, { upsert: true });
    if (typeof stored === 'number') {
      expect(await rejection(upserting)).toMatchObject({ code: stored });
      return;
    }
    await upserting;
    const found = await collection.findOne();
    expect(found).toEqual(stored);
    expect(JSON.stringify(found)).toBe(JSON.stringify(stored));
  });

  it('a projection by a decimal includes the field, or excludes it if the decimal is zero', async () => {
    const collection = database().collection<{ _id: number; a: number; b: number }>('a');
    await collection.insertOne({ _id: 1, a: 2, b: 3 });
    const shown = (a: Decimal128): Promise<unknown> => collection.findOne({}, { projection: { a } });
    expect(await shown(decimal('1'))).toEqual({ _id: 1, a: 2 });
    expect(await shown(decimal('0'))).toEqual({ _id: 1, b: 3 });
    expect(await shown(decimal('0E+3'))).toEqual({ _id: 1, b: 3 });
  });
});
