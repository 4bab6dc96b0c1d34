import { Long } from 'mongodb';
import type { Db } from 'mongodb';
import { describe, expect, it } from 'vitest';

import type { LockHandle, LockProvider } from '../../../src/index.js';
import { OwnDatabase } from '../../support/test-provider.js';
import { eventually, later, within } from '../../../lab/patience.js';
import { untilWaiting } from '../../support/waiters.js';

const COLLECTION = 'distributed.locks';
const LIMIT = 3;
const LEASE_MS = 18_000;

/** How a lock of each kind is held several times, and requested in a way that fits beside none of the holds. */
interface Kind {
  readonly hold: (locks: LockProvider) => Promise<readonly LockHandle[]>;
  readonly want: (locks: LockProvider) => Promise<LockHandle>;
}

const KINDS: Readonly<Record<string, Kind>> = {
  mutex: {
    hold: async (locks) => [await locks.acquireMutex('x')],
    want: (locks) => locks.acquireMutex('x'),
  },
  'reader-writer lock': {
    hold: async (locks) => {
      const lock = locks.createReaderWriterLock('x');
      return [await lock.acquireRead(), await lock.acquireUpgradeableRead()];
    },
    want: (locks) => locks.createReaderWriterLock('x').acquireWrite(),
  },
  semaphore: {
    hold: async (locks) => {
      const semaphore = locks.createSemaphore('x', LIMIT);
      return [await semaphore.acquire({ permits: LIMIT - 1 }), await semaphore.acquire()];
    },
    want: (locks) => locks.createSemaphore('x', LIMIT).acquire({ permits: LIMIT }),
  },
};

const ENDS: Readonly<Record<string, (db: Db) => Promise<unknown>>> = {
  'the document is deleted': (db) => db.collection<{ _id: string }>(COLLECTION).deleteOne({ _id: 'x' }),
  'the collection is dropped': (db) => db.collection(COLLECTION).drop(),
  'the collection is renamed': (db) => db.collection(COLLECTION).rename('elsewhere'),
  'the database is dropped': (db) => db.dropDatabase(),
  'the document is restored from before the grants': (db) => {
    const stored = db.collection<{ _id: string }>(COLLECTION);
    const old = { kind: 'mutex', v: 1, fence: Long.fromNumber(1), holder: null, queue: {}, wake: '' };
    return stored.replaceOne({ _id: 'x' }, { ...old, purgeAt: new Date(Date.now() + 86_400_000) });
  },
};

const CASES = Object.entries(KINDS).flatMap(([kind, how]) =>
  Object.entries(ENDS).map(([what, end]) => [kind, what, how, end] as const),
);

describe.concurrent('holders learn of their loss and waiters go on', () => {
  it.each(CASES)('for a %s when %s', async (_, __, { hold, want }, end) => {
    await using database = new OwnDatabase();
    const options = { leaseMs: LEASE_MS, extendEveryMs: 1_500, createIndexes: false };
    const [here, there, third] = [0, 1, 2].map(() => database.client().provider(options));
    if (here === undefined || there === undefined || third === undefined) throw new Error('there are three');
    const holds = await hold(here);
    const waits = [there, third].map((locks) => later(want(locks)));
    await untilWaiting(here, 'x', 2);
    // The signals are read before, so that the handles report their loss.
    const signals = holds.map(({ signal }) => signal);
    const startedMs = performance.now();
    await end(database.plain.db);

    const first = await within(30_000, 'a grant', Promise.race(waits));
    await eventually('the holders learn of their loss', () => signals.every(({ aborted }) => aborted));
    // Sooner than by their deadlines.
    expect(performance.now() - startedMs).toBeLessThan(LEASE_MS * 0.75);
    for (const { reason } of signals) {
      expect(reason).toMatchObject({
        code: 'LOCK_LOST',
        why: expect.stringMatching(/missing|evicted/) as string,
      });
    }
    const highest = Math.max(...holds.map(({ fencingToken }) => fencingToken));
    expect(first.fencingToken).toBeGreaterThan(highest);
    expect(await holds[0]?.release()).toBe(false);
    expect(await first.release()).toBe(true);
    const others = await within(30_000, 'the other grant', Promise.all(waits));
    const [one = 0, other = 0] = others.map(({ fencingToken }) => fencingToken).sort((a, b) => a - b);
    expect(one).toBe(first.fencingToken);
    expect(other).toBeGreaterThan(one);
    await Promise.all(others.map((next) => next.release()));
    expect(await here.inspect('x')).toMatchObject({ holders: [], waiters: [] });
  });
});
