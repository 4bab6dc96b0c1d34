import { MongoClient } from 'mongodb';
import type { Db, Document } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { LockProvider } from '../../src/index.js';
import { versionOf } from '../../src/testing/judge/lock-version.js';
import { startReplicaSet } from '../../lab/mongo-server/start.js';
import type { MongoServer } from '../../lab/mongo-server/start.js';
import { rejection } from '../../lab/patience.js';
import { checkOplog } from './oplog-checker.js';
import { oplogEnd, replay } from './oplog-replay.js';
import type { Oplog } from './oplog-replay.js';
import type { Change, OplogEntry } from './oplog-entry.js';
import { untilWaiting } from '../support/waiters.js';

const COLLECTION = 'distributed.locks';

let server: MongoServer;
let client: MongoClient;
let databases = 0;

beforeAll(async () => {
  server = await startReplicaSet();
  const [member] = server.members;
  client = new MongoClient(`mongodb://127.0.0.1:${String(member?.port)}/?directConnection=true`);
});

afterAll(async () => {
  await client.close();
  await server.stop();
});

/** A database of its own, and the oplog of its locks from now on. */
async function freshOplog(): Promise<{ db: Db; oplog: Oplog }> {
  databases += 1;
  const db = client.db(`replayed-${databases}`);
  return {
    db,
    oplog: { client, namespace: `${db.databaseName}.${COLLECTION}`, from: await oplogEnd(client) },
  };
}

async function changesIn(oplog: Oplog): Promise<readonly Change[]> {
  const changes: Change[] = [];
  await replay(oplog, (change) => changes.push(change));
  return changes;
}

/** Uses every kind of lock, in turns and at the same time, through two providers. */
async function useAllKinds(db: Db, rounds: number): Promise<void> {
  await using one = new LockProvider(db, { leaseMs: 30_000 });
  await using other = new LockProvider(db, { leaseMs: 30_000 });
  const uses = Array.from({ length: rounds }, (_, index) => {
    const locks = index % 2 === 0 ? one : other;
    const readerWriter = locks.createReaderWriterLock('reader-writer');
    return [
      locks.useMutex('mutex', () => index),
      readerWriter.useRead(() => index),
      readerWriter.useWrite(() => index),
      readerWriter.useUpgradeableRead(async (lock) => {
        if (index % 3 > 0) await lock.upgrade();
        if (index % 3 > 1) await lock.downgrade('read');
      }),
      locks.createSemaphore('semaphore', 3).use(() => index, { permits: (index % 3) + 1 }),
    ];
  });
  await Promise.all(uses.flat());
}

describe('the replay of an oplog', () => {
  it('ends with what is stored, and reports each version of each lock', async () => {
    const { db, oplog } = await freshOplog();
    await useAllKinds(db, 8);
    const changes = await changesIn(oplog);
    const names = [...new Set(changes.map(({ name }) => name))].sort();
    expect(names).toEqual(['mutex', 'reader-writer', 'semaphore']);
    for (const name of names) {
      const ofLock = changes.filter((change) => change.name === name);
      expect(ofLock[0]?.before).toBeNull();
      for (const [index, { before }] of ofLock.slice(1).entries()) expect(before).toBe(ofLock[index]?.after);
      const stored = await db.collection<{ _id: string }>(COLLECTION).findOne({ _id: name });
      expect(ofLock.at(-1)?.after).toEqual(stored);
    }
    for (const { wallMs, laterWallMs } of changes) expect(laterWallMs).toBeGreaterThan(wallMs);
    expect(changes[0]?.laterWallMs).toBeLessThan(Infinity);
  });

  it('has no violations when it is judged, and lists every grant in the order of the tokens', async () => {
    const { db, oplog } = await freshOplog();
    await useAllKinds(db, 12);
    const { violations, versions, grants } = await checkOplog(oplog, { toleranceMs: 50 });
    expect(violations).toEqual([]);
    expect(versions).toBeGreaterThan(12);
    const tokens = grants.flatMap(({ lock, token }) => (lock === 'reader-writer' ? [token] : []));
    expect(tokens).toEqual([...tokens].sort((a, b) => a - b));
    // Three requests each; 8 of 12 upgrade, and 4 of these downgrade again.
    expect(tokens).toHaveLength(12 * 3 + 8 + 4);
  });

  it('keeps the order of a queue of 500 while it moves', async () => {
    const { db, oplog } = await freshOplog();
    const locks = new LockProvider(db, { leaseMs: 60_000, createIndexes: false });
    const holder = await locks.acquireMutex('crowded');
    const served: string[] = [];
    const waits = Array.from({ length: 500 }, async () => {
      const hold = await locks.acquireMutex('crowded');
      served.push(hold.id);
      await hold.release();
    });
    await untilWaiting(locks, 'crowded', 500);
    const queued = await db.collection<{ _id: string }>(COLLECTION).findOne({ _id: 'crowded' });
    await holder.release();
    await Promise.all(waits);
    await locks.close();
    const { violations, grants } = await checkOplog(oplog, { toleranceMs: 50 });
    expect(violations).toEqual([]);
    expect(served).toEqual(versionOf(queued).queue.map(([id]) => id));
    expect(grants.slice(1).map(({ id }) => id)).toEqual(served);
  });

  it('follows deletes, a drop, renames back and forth, and the drop of the database', async () => {
    const { db, oplog } = await freshOplog();
    const locks = db.collection<{ _id: string }>(COLLECTION);
    await useAllKinds(db, 2);
    await useAllKinds(db, 2);
    await locks.deleteOne({ _id: 'mutex' });
    await locks.deleteMany({});
    await useAllKinds(db, 2);
    await locks.drop();
    await useAllKinds(db, 2);
    await db.renameCollection(COLLECTION, 'elsewhere');
    await db
      .collection<{ _id: string }>('elsewhere')
      .updateOne({ _id: 'mutex' }, { $set: { wake: 'changed' } });
    await useAllKinds(db, 2);
    await db.renameCollection('elsewhere', COLLECTION, { dropTarget: true });
    const changes = await changesIn(oplog);
    expect(changes.at(-1)?.after).not.toBeNull();
    expect(changes.findLast(({ name }) => name === 'mutex')?.after?.['wake']).toBe('changed');
    const deaths = changes.filter(({ name, after }) => name === 'mutex' && after === null);
    expect(deaths).toHaveLength(3);
    await db.dropDatabase();
    expect((await changesIn(oplog)).at(-1)?.after).toBeNull();
  });

  it('applies only what a transaction has committed, however long it is', async () => {
    const { db, oplog } = await freshOplog();
    const locks = db.collection<{ _id: string }>(COLLECTION);
    await useAllKinds(db, 2);
    const others = await db.createCollection('others');
    const session = client.startSession();
    try {
      await session.withTransaction(async () => {
        await locks.updateOne({ _id: 'mutex' }, { $set: { wake: 'committed' } }, { session });
        for (const part of ['a', 'b', 'c']) await others.insertOne({ part }, { session });
        await locks.insertOne({ _id: 'of the transaction' }, { session });
      });
      session.startTransaction();
      await locks.updateOne({ _id: 'mutex' }, { $set: { wake: 'aborted' } }, { session });
      await session.abortTransaction();
    } finally {
      await session.endSession();
    }
    const changes = await changesIn(oplog);
    expect(changes.slice(-2)).toMatchObject([
      { name: 'mutex', after: { wake: 'committed' } },
      { name: 'of the transaction', before: null },
    ]);
  });

  it('applies differences of every shape as the server does', async () => {
    const { db, oplog } = await freshOplog();
    const locks = db.collection<Document & { _id: string }>(COLLECTION);
    const words = 'so long that a difference is smaller than the whole '.repeat(20);
    await locks.insertOne({
      _id: 'x',
      words,
      a: 1,
      b: { c: { d: [1, 2, { e: 3 }, 4, 5] }, keep: words },
      z: [],
    });
    const updates: readonly Document[] = [
      { $unset: { a: 1 }, $set: { 'b.c.f': 1.5, added: 1 } },
      { $set: { 'b.c.d.2.e': 4, 'b.c.d.7': 'far' } },
      { $pop: { 'b.c.d': 1 } },
      { $push: { 'b.c.d': { $each: [{ g: [0] }], $slice: -3 } } },
      { $set: { a: 'back, at the end', 'b.c.d.2.g.1': null } },
      { $rename: { a: 'constructor' } },
    ];
    for (const update of updates) await locks.updateOne({ _id: 'x' }, update);
    await locks.updateOne({ _id: 'x' }, [{ $unset: 'b' }, { $set: { b: { c: 1 }, z: { o: 1 } } }]);
    await locks.updateOne({ _id: 'x' }, [
      { $replaceWith: { $mergeObjects: [{ _id: 'x', last: 1 }, '$$ROOT', { words: 'w' }] } },
    ]);
    await locks.replaceOne({ _id: 'x' }, { new: 'from top to bottom' });
    expect(await changesIn(oplog)).toHaveLength(updates.length + 4);
    const shapes = (await writesIn(oplog)).map(({ op, o }) => (op === 'u' && '$v' in o ? 'difference' : op));
    expect(new Set(shapes)).toEqual(new Set(['i', 'difference', 'u']));
  });

  it('throws if it does not end with what is stored', async () => {
    const { db, oplog } = await freshOplog();
    await useAllKinds(db, 1);
    const from = await oplogEnd(client);
    await useAllKinds(db, 1);
    expect(await rejection(changesIn({ ...oplog, from }))).toMatchObject({
      message: expect.stringMatching(/before it was there|is wrong/) as string,
    });
  });
});

async function writesIn({ namespace, from }: Oplog): Promise<readonly OplogEntry[]> {
  const entries = client.db('local').collection<OplogEntry>('oplog.rs');
  return await entries.find({ ts: { $gt: from }, ns: namespace }).toArray();
}
