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
});
