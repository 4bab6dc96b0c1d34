import type { Db, Document } from 'mongodb';
import { beforeEach, expect, it } from 'vitest';
import { MemoryReplicaSet } from '../../../src/testing/index.js';
import { whenTestEnds } from '../../support/current-test.js';

const HOUR_MS = 3_600_000;

let set: MemoryReplicaSet;
let db: Db;

beforeEach(() => {
  set = new MemoryReplicaSet({ time: 'virtual', seed: 7 });
  db = set.db('app');
});

/** Runs a command, and changes its parts while it is on its way. */
async function changedOnItsWay(command: Document, change: () => void): Promise<Document> {
  whenTestEnds(() => set.close());
  const answer = db.command(command);
  change();
  return await answer;
}

it('an index purges documents as it was when its command was sent', async () => {
  const index: Document = { key: { at: 1 }, name: 'at', expireAfterSeconds: 3_600 };
  const indexes = [index];
  await changedOnItsWay({ createIndexes: 'a', indexes }, () => {
    index['expireAfterSeconds'] = 0;
    index['key'] = { other: 1 };
    indexes.length = 0;
  });
  await db.collection('a').insertOne({ at: set.now(), other: new Date(0) });
  await set.advance(HOUR_MS / 2);
  expect(set.documents()).toHaveLength(1);
  await set.advance(HOUR_MS);
  expect(set.documents()).toEqual([]);
});

it('a findAndModify inserts if it said so when it was sent', async () => {
  const command: Document = { findAndModify: 'a', query: { _id: 1 }, update: { $set: { b: 1 } }, new: true };
  command['upsert'] = true;
  const { value } = await changedOnItsWay(command, () => {
    command['upsert'] = false;
  });
  expect(value).toEqual({ _id: 1, b: 1 });
});

it('a list of collections has those that its filter selected when the command was sent', async () => {
  await db.collection('a').insertOne({});
  await db.collection('b').insertOne({});
  const filter = { name: 'a' };
  const { cursor } = await changedOnItsWay({ listCollections: 1, filter }, () => {
    filter.name = 'b';
  });
  expect(cursor).toMatchObject({ firstBatch: [{ name: 'a' }] });
});
