import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { ownDatabase, useOwnServer } from '../../support/test-provider.js';
import { untilWaiting } from '../../support/waiters.js';

const MAX_BYTES = 16 * 1_024 * 1_024;

/** Left for the other fields of the filling waiter, and for the wake words of a few updates. */
const ROOM = 700;

useOwnServer();

/** A waiter of another process whose `why` has this many bytes. */
const filler = (bytes: number): Document => ({
  ...{ process: 'other:1:0', leaseMs: 600_000, since: new Date(), expiresAt: new Date(Date.now() + 600_000) },
  why: 'x'.repeat(bytes),
});

describe('a lock document of the maximum size', () => {
  it('makes a request that does not fit fail with QUEUE_FULL, and the other waits go on', async () => {
    const database = ownDatabase();
    const [one, other] = [database.client(), database.client()];
    const locks = one.provider({ leaseMs: 60_000, createIndexes: false });
    const crowd = other.provider({ leaseMs: 60_000, createIndexes: false });
    const stored = database.plain.db.collection<{ _id: string }>('distributed.locks');
    const held = await locks.acquireMutex('a');
    const order: string[] = [];
    const waits = ['first', 'second', 'third'].map(async (why) => {
      const lock = await crowd.acquireMutex('a', { why });
      order.push(why);
      await lock.release();
    });
    await untilWaiting(locks, 'a', 3);
    const [found] = await stored.aggregate([{ $project: { size: { $bsonSize: '$$ROOT' } } }]).toArray();
    const bytes = MAX_BYTES - Number(found?.['size']) - ROOM;
    await stored.updateOne({ _id: 'a' }, { $set: { 'queue.wfa7': filler(bytes) } });
    const before = other.count('findAndModify');
    const why = 'y'.repeat(1_000);
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () =>
        crowd.acquireMutex('a', { why, timeoutMs: 60_000 }).then(
          () => ({ code: 'granted' }),
          (error: unknown) => error,
        ),
      ),
    );
    const full = expect.objectContaining({
      code: 'QUEUE_FULL',
      cause: expect.anything() as unknown,
    }) as unknown;
    expect(outcomes).toEqual(outcomes.map(() => full));
    expect(other.count('findAndModify') - before).toBeLessThan(30);
    await stored.updateOne({ _id: 'a' }, { $unset: { 'queue.wfa7': '' } });
    expect(await held.release()).toBe(true);
    await Promise.all(waits);
    expect(order).toEqual(['first', 'second', 'third']);
  });
});
