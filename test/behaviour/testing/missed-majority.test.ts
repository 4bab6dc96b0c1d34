import type { Db } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { later, rejection } from '../../../lab/patience.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';
import { whenTestEnds } from '../../support/current-test.js';
import { ownDatabase } from '../../support/test-provider.js';

const DOCUMENT = { _id: 1 as never };

/** Calls of the driver that write one document. */
const WRITES: readonly (readonly [
  name: string,
  write: (db: Db, writeConcern: object) => Promise<unknown>,
])[] = [
  ['Db.command', (db, writeConcern) => db.command({ insert: 'a', documents: [DOCUMENT], writeConcern })],
  ['Collection.insertOne', (db, writeConcern) => db.collection('a').insertOne(DOCUMENT, { writeConcern })],
];

type Write = (typeof WRITES)[number][1];

/** The error of a write that needs more members than the set has. */
async function onServer(write: Write): Promise<unknown> {
  return await rejection(write(ownDatabase().client().db, { w: 40, wtimeout: 1 }));
}

/** The error of a write to a primary that was cut off from the other members. */
async function inMemory(write: Write): Promise<unknown> {
  const set = new MemoryReplicaSet({ time: 'virtual', seed: 7 });
  whenTestEnds(() => set.close());
  const db = set.db('app');
  await db.command({ ping: 1 });
  set.stepDown({ losesUnacknowledged: true });
  const failed = later(rejection(write(db, { w: 'majority' })));
  await set.advance(5_000);
  return await failed;
}

describe.each([
  ['on a real server', onServer, 100],
  ['in memory', inMemory, 189],
] as const)('%s', (_, errorOf, code) => {
  it.each(WRITES)('%s rejects if its write was applied, but not by a majority', async (__, write) => {
    expect(await errorOf(write)).toMatchObject({
      name: 'MongoWriteConcernError',
      code,
      result: { ok: 1, n: 1, writeConcernError: { code } },
    });
  });
});
