import type { Db } from 'mongodb';
import { afterEach, describe, expect, it } from 'vitest';
import { fencedUpdateOne, LockProvider } from '../../../src/index.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';

const sets: MemoryReplicaSet[] = [];

afterEach(async () => {
  for (const set of sets.splice(0)) await set.close();
});

function newSet(): { readonly set: MemoryReplicaSet; readonly db: Db } {
  const set = new MemoryReplicaSet({ time: 'virtual', seed: 7 });
  sets.push(set);
  return { set, db: set.db('app') };
}

interface Call {
  /** `pending`, `done`, or the name of the error. */
  state: string;
}

function followed(promise: Promise<unknown>): Call {
  const call: Call = { state: 'pending' };
  promise.then(
    () => (call.state = 'done'),
    (error: unknown) => (call.state = (error as Error).name),
  );
  return call;
}

const insert = (db: Db, id: number): Call =>
  followed(db.collection<{ _id: number }>('a').insertOne({ _id: id }));

describe('a call without a bound', () => {
  it('whose reply is lost waits until the members stop: then its connection breaks', async () => {
    const { set, db } = newSet();
    const locks = new LockProvider(db);
    const lock = await locks.createMutex('a').acquire();
    set.loseReplies(1);
    const update = { $set: { paid: true } };
    const filter = { _id: 'a' as never };
    const call = followed(fencedUpdateOne(db.collection('b'), filter, update, lock, { upsert: true }));
    await set.advance(60_000);
    expect(call.state).toBe('pending');
    set.stop();
    await set.settle();
    expect(call.state).toBe('MongoNetworkError');
  });

  it('whose reply is late fails when the members stop, and its reply does not come any more', async () => {
    const { set, db } = newSet();
    await db.command({ ping: 1 });
    set.delayReplies(60_000);
    const call = insert(db, 1);
    await set.settle();
    set.stop();
    await set.settle();
    expect(call.state).toBe('MongoNetworkError');
    await set.advance(120_000);
    expect(call.state).toBe('MongoNetworkError');
  });

  it('that is sent after a stop and a start does not hear of the connections that broke before', async () => {
    const { set, db } = newSet();
    await db.command({ ping: 1 });
    set.loseReplies(1);
    const before = insert(db, 1);
    await set.settle();
    set.stop();
    set.start();
    const after = insert(db, 2);
    await set.advance(1_000);
    // The member that was primary answers that it is not, which shows that this connection is another one.
    expect([before.state, after.state]).toEqual(['MongoNetworkError', 'MongoServerError']);
  });

  it('of a frozen process hears of the stop when the process goes on', async () => {
    const { set, db } = newSet();
    await db.command({ ping: 1 });
    set.loseReplies(1);
    const call = insert(db, 1);
    await set.settle();
    set.freeze(db);
    set.stop();
    await set.advance(60_000);
    expect(call.state).toBe('pending');
    set.thaw(db);
    await set.settle();
    expect(call.state).toBe('MongoNetworkError');
  });

  it('that is in flight when its process is cut off fails when the monitors give the members up', async () => {
    const { set, db } = newSet();
    await db.command({ ping: 1 });
    const call = insert(db, 1);
    set.cut(db);
    await set.advance(9_900);
    expect(call.state).toBe('pending');
    await set.advance(200);
    expect(call.state).toBe('PoolClearedOnNetworkError');
  });
});

describe('a process that was cut off, and is healed while it stands still,', () => {
  it('hears of nothing before it goes on', async () => {
    const { set, db } = newSet();
    await db.command({ ping: 1 });
    set.cut(db);
    const call = insert(db, 1);
    await set.advance(100);
    set.freeze(db);
    set.heal(db);
    await set.advance(1_000);
    expect(call.state).toBe('pending');
    set.thaw(db);
    await set.settle();
    expect(call.state).toBe('MongoNetworkError');
  });

  it('gives the members up if it is cut off again before it goes on', async () => {
    const { set, db } = newSet();
    await db.command({ ping: 1 });
    set.cut(db);
    const call = insert(db, 1);
    set.freeze(db);
    set.heal(db);
    set.cut(db);
    set.thaw(db);
    await set.advance(10_100);
    expect(call.state).toBe('PoolClearedOnNetworkError');
  });
});
