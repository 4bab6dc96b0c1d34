import { expect, describe, it } from 'vitest';
import type { Collection } from 'mongodb';
import { rejection } from '../../../lab/patience.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';
import { whenTestEnds } from '../../support/current-test.js';
import { ownDatabase, useOwnServer } from '../../support/test-provider.js';

type Things = Collection;

function inMemory(): Things {
  const set = new MemoryReplicaSet({ time: 'real', seed: 7 });
  whenTestEnds(() => set.close());
  return set.db('app').collection('things');
}

useOwnServer();

const COLLECTIONS: readonly (readonly [where: string, collection: () => Things])[] = [
  ['on a real server', () => ownDatabase().client().db.collection('things')],
  ['in memory', inMemory],
];

const MAX_BYTES = 16 * 1_024 * 1_024;
/** The bytes of a document with a number as its `_id` and a text, beside those of the text. */
const FRAME_BYTES = 25;

const documentOf = (bytes: number): { readonly text: string } => ({ text: 'x'.repeat(bytes - FRAME_BYTES) });
const half = 'x'.repeat(9 * 1_024 * 1_024);

const REFUSED: readonly (readonly [
  what: string,
  code: number,
  write: (things: Things) => Promise<unknown>,
])[] = [
  ['an array as _id', 53, (things) => things.insertOne({ _id: [1] as never })],
  ['a regular expression as _id', 53, (things) => things.insertOne({ _id: /a/ as never })],
  [
    'an upsert with an array as _id',
    53,
    (things) => things.updateOne({ _id: [1] as never }, { $set: { text: '' } }, { upsert: true }),
  ],
  [
    'an insert of 16 MB and a byte',
    2,
    (things) => things.insertOne({ _id: 1 as never, ...documentOf(MAX_BYTES + 1) }),
  ],
  [
    'an update to 16 MB and a byte',
    17_419,
    async (things) => {
      await things.insertOne({ _id: 1 as never });
      await things.updateOne({ _id: 1 as never }, { $set: documentOf(MAX_BYTES + 1) });
    },
  ],
  [
    'an upsert of 16 MB and a byte',
    17_420,
    (things) => things.updateOne({ _id: 1 as never }, { $set: documentOf(MAX_BYTES + 1) }, { upsert: true }),
  ],
  [
    'an update to 18 MB',
    10_334,
    async (things) => {
      await things.insertOne({ _id: 1 as never, text: half });
      await things.updateOne({ _id: 1 as never }, [{ $set: { other: '$text' } }]);
    },
  ],
];

describe.each(COLLECTIONS)('%s', (_, collection) => {
  it.each(REFUSED)('%s is refused with the code %i', async (_what, code, write) => {
    const things = collection();
    expect(await rejection(write(things))).toMatchObject({ name: 'MongoServerError', code });
  });

  it('a document of 16 MB is stored', async () => {
    const things = collection();
    await things.insertOne({ _id: 1 as never, ...documentOf(MAX_BYTES) });
    expect(await things.countDocuments({})).toBe(1);
  });

  it('an insert gives a document its _id, and tells it', async () => {
    const things = collection();
    const one: { _id?: unknown; text: string } = { text: 'a' };
    const inserted = await things.insertOne(one as never);
    expect(inserted).toEqual({ acknowledged: true, insertedId: one._id });
    const many: { _id?: unknown; text: string }[] = [{ text: 'b' }, { _id: 5, text: 'c' }];
    expect(await things.insertMany(many as never)).toEqual({
      acknowledged: true,
      insertedCount: 2,
      insertedIds: { 0: many[0]?._id, 1: 5 },
    });
    expect(String(one._id)).toMatch(/^[\da-f]{24}$/);
    expect(await things.findOne({ _id: one._id as never })).toMatchObject({ text: 'a' });
    expect(String((await things.findOne({ text: 'b' }))?._id)).toBe(String(many[0]?._id));
  });
});
