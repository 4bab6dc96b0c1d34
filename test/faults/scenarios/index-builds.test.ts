import type { ClientSession, Db, Document, MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startReplicaSet } from '../../../lab/mongo-server/start.js';
import type { MongoServer } from '../../../lab/mongo-server/start.js';
import { OwnDatabase } from '../../support/test-provider.js';
import { eventually, later, pause, within } from '../../../lab/patience.js';
import { untilWaiting } from '../../support/waiters.js';

const COLLECTION = 'distributed.locks';

const makeIndex = (db: Db, index: Document): Promise<Document> =>
  db.command({ createIndexes: COLLECTION, indexes: [index] });

/** Builds an index behind an open transaction on the collection, so that all later commands wait until it ends. */
async function blockCollection(client: MongoClient, db: Db): Promise<() => Promise<void>> {
  const session: ClientSession = client.startSession();
  session.startTransaction();
  await client
    .db(db.databaseName)
    .collection<{ _id: string }>(COLLECTION)
    .insertOne({ _id: 'of a user' }, { session });
  const building = later(makeIndex(db, { key: { 'holder.label': 1 }, name: 'label' }));
  const isBuilding = async (): Promise<boolean> => {
    const match = {
      'command.createIndexes': COLLECTION,
      waitingForLock: true,
      ns: { $regex: db.databaseName },
    };
    const found = await db.client
      .db('admin')
      .aggregate([{ $currentOp: {} }, { $match: match }])
      .toArray();
    return found.length > 0;
  };
  await eventually('the build waits for the transaction', isBuilding);
  return async () => {
    await session.abortTransaction();
    await session.endSession();
    await within(20_000, 'the index', building);
  };
}

describe.concurrent('an index build behind a long transaction', () => {
  it('ends no hold if it is over within a lease', async () => {
    await using database = new OwnDatabase();
    await using user = database.client();
    const options = { leaseMs: 30_000, extendEveryMs: 3_000, createIndexes: false };
    const [here, there] = [database.client().provider(options), database.client().provider(options)];
    const lost: unknown[] = [];
    here.on('lost', (event) => lost.push(event));
    const holds = [await here.acquireMutex('x'), await here.createSemaphore('s', 2).acquire()];
    const wait = later(there.acquireMutex('x'));
    await untilWaiting(here, 'x');
    const unblock = await blockCollection(user.client, database.plain.db);
    // Longer than until the first extension.
    await pause(4_000);
    await unblock();
    await eventually('they are extended', () => holds.every(({ remainingMs }) => remainingMs > 26_500));
    expect(lost).toEqual([]);
    expect(await holds[0]?.release()).toBe(true);
    expect((await within(10_000, 'the grant', wait)).isHeld).toBe(true);
  });

  it('ends the hold at its deadline if it takes longer than a lease, and then one request is granted', async () => {
    await using database = new OwnDatabase();
    await using user = database.client();
    const options = { leaseMs: 6_000, storeTimeoutMs: 1_000, createIndexes: false };
    const [here, there] = [database.client().provider(options), database.client().provider(options)];
    const hold = await here.acquireMutex('x');
    const wait = later(there.acquireMutex('x'));
    await untilWaiting(here, 'x');
    let grantedMs = 0;
    void wait.then(() => (grantedMs = performance.now()));
    const { signal } = hold;
    let lostMs = 0;
    signal.addEventListener('abort', () => (lostMs = performance.now()));
    const unblock = await blockCollection(user.client, database.plain.db);
    await eventually('its lease runs out', () => signal.aborted);
    expect(signal.reason).toMatchObject({ why: 'expired' });
    expect(grantedMs).toBe(0);
    // Tries, looks and extensions meanwhile are bounded.
    const tried = await within(
      30_000,
      'an answer',
      there.tryAcquireMutex('x').catch((error: unknown) => error),
    );
    expect(tried).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await unblock();
    const next = await within(10_000, 'the grant', wait);
    expect(next.fencingToken).toBeGreaterThan(hold.fencingToken);
    expect(lostMs).toBeLessThan(grantedMs);
    await next.confirm();
    expect(hold.isHeld).toBe(false);
    expect((await here.inspect('x'))?.holders.map(({ id }) => id)).toEqual([next.id]);
    expect(await next.release()).toBe(true);
    await eventually('nothing is left', async () => {
      const snapshot = await here.inspect('x');
      return snapshot !== null && snapshot.holders.length + snapshot.waiters.length === 0;
    });
  });
});

describe('the purge index', () => {
  const WAYS: Readonly<Record<string, (db: Db) => Promise<unknown>>> = {
    'without an expiry': (db) => makeIndex(db, { key: { purgeAt: 1 }, name: 'purgeAt_1' }),
    'with another expiry': (db) =>
      makeIndex(db, { key: { purgeAt: 1 }, name: 'purgeAt_1', expireAfterSeconds: 3_600 }),
    'under another name': (db) => makeIndex(db, { key: { purgeAt: 1 }, name: 'mine', expireAfterSeconds: 0 }),
    'with another key': (db) => makeIndex(db, { key: { kind: 1 }, name: 'purgeAt_1' }),
  };

  it.concurrent.each(Object.entries(WAYS))(
    'causes one event and no failure if an operator has created it %s',
    async (_, make) => {
      await using database = new OwnDatabase();
      await make(database.plain.db);
      const locks = database.client().provider({ leaseMs: 6_000 });
      const errors: unknown[] = [];
      locks.on('indexError', ({ error }) => errors.push(error));
      const hold = await locks.acquireMutex('x');
      await eventually('it is tried', () => errors.length > 0);
      expect(String(errors[0])).toMatch(/index/i);
      await hold.confirm();
      expect(await hold.release()).toBe(true);
      await within(5_000, 'the close', locks.close());
      expect(errors).toHaveLength(1);
    },
  );
});

describe('a server that purges every second', () => {
  let server: MongoServer;

  beforeAll(async () => {
    // The default is once a minute.
    const parameters = ['ttlMonitorSleepSecs=1'];
    server = await startReplicaSet({ parameters, say: () => undefined });
  });

  afterAll(async () => {
    await server.stop();
  });

  it('deletes what is due, and nothing that is in use or was in use recently', async () => {
    await using database = new OwnDatabase(server.uri);
    const locks = database.client().provider({ leaseMs: 30_000, retentionMs: 60_000 });
    await locks.ensureIndexes();
    const lost: unknown[] = [];
    locks.on('lost', (event) => lost.push(event));
    const holds = [
      await locks.acquireMutex('mutex'),
      await locks.createSemaphore('semaphore', 3).acquire(),
      await locks.createReaderWriterLock('reader-writer').acquireRead(),
    ];
    const wait = later(locks.acquireMutex('mutex'));
    await (await locks.acquireMutex('idle', { leaseMs: 1_000 })).release();
    const stored = database.plain.db.collection<{ _id: string }>(COLLECTION);
    const passes = async (): Promise<number> => {
      const status = (await database.plain.db.admin().serverStatus()) as {
        metrics: { ttl: { passes: unknown } };
      };
      return Number(status.metrics.ttl.passes);
    };
    for (const round of [1, 2]) {
      // The date alone makes a document due, and the server deletes it within a pass or two.
      await (await locks.acquireMutex(`due ${round}`)).release();
      await stored.updateOne({ _id: `due ${round}` }, { $set: { purgeAt: new Date(0) } });
      const before = await passes();
      await eventually('two passes', async () => (await passes()) >= before + 2);
      await eventually('it is gone', async () => (await stored.findOne({ _id: `due ${round}` })) === null);
    }
    const names = (await stored.find().sort({ _id: 1 }).toArray()).map(({ _id }) => _id);
    expect(names).toEqual(['idle', 'mutex', 'reader-writer', 'semaphore']);
    expect(lost).toEqual([]);
    expect(await Promise.all(holds.map((hold) => hold.release()))).toEqual([true, true, true]);
    await (await within(10_000, 'the grant', wait)).release();
  });

  it('ends only the hold whose document is made due from outside: its loss is reported, and tokens go on rising', async () => {
    await using database = new OwnDatabase(server.uri);
    const locks = database.client().provider({ leaseMs: 6_000 });
    await locks.ensureIndexes();
    const beside = await locks.acquireMutex('y');
    const hold = await locks.acquireMutex('x');
    const { signal } = hold;
    const stored = database.plain.db.collection<{ _id: string }>(COLLECTION);
    // An extension before the server's next pass moves the date again, so the test repeats the change.
    await eventually('it is purged', async () => {
      await stored.updateOne({ _id: 'x' }, { $set: { purgeAt: new Date(0) } });
      return (await stored.findOne({ _id: 'x' })) === null;
    });
    await eventually('its loss is reported', () => signal.aborted);
    expect(signal.reason).toMatchObject({ why: 'document-missing' });
    const next = await within(20_000, 'the grant', locks.acquireMutex('x'));
    expect(next.fencingToken).toBeGreaterThan(hold.fencingToken);
    await beside.confirm();
    expect(beside.signal.aborted).toBe(false);
    expect(await Promise.all([next.release(), beside.release()])).toEqual([true, true]);
  });
});
