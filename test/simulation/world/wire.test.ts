import type { Db, Document } from 'mongodb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { randomFrom } from '../../../lab/random.js';
import { LockProvider } from '../../../src/index.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';
import { scattered } from '../plan/scattered.js';
import { DATABASE, LOCKS } from './names.js';
import { Wire } from './wire.js';

let set: MemoryReplicaSet;
let wire: Wire;
let db: Db;

beforeEach(() => {
  set = new MemoryReplicaSet({ time: 'virtual', seed: 5 });
  wire = new Wire(set);
  db = wire.through(set.db(DATABASE));
});

afterEach(async () => {
  await set.close();
});

const locks = (): Document[] => set.documents() as Document[];

/** Lets time pass until the promise has settled. */
async function settled<T>(promise: Promise<T>): Promise<T> {
  const state = { isOver: false };
  const over = (): void => {
    state.isOver = true;
  };
  promise.then(over, over);
  for (let ms = 0; !state.isOver && ms < 60_000; ms += 10) await set.advance(10);
  return await promise;
}

describe('a request that comes twice', () => {
  const bump = async (): Promise<Document> =>
    await db.command({
      update: 'counts',
      updates: [
        { q: { _id: 'x' }, u: [{ $set: { n: { $add: [{ $ifNull: ['$n', 0] }, 1] } } }], upsert: true },
      ],
    });

  it('is carried out twice before the process has an answer, and so are only as many as it says', async () => {
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const before = Number(locks()[0]?.['n'] ?? 0);
      wire.double(1, randomFrom(scattered(seed)));
      const answer = await settled(bump());
      expect(answer['ok']).toBe(1);
      expect(locks()[0]?.['n']).toBe(before + 2);
      await settled(bump());
      expect(locks()[0]?.['n']).toBe(before + 3);
    }
    expect(wire.doubled).toHaveLength(6);
  });

  it('sometimes is overtaken by its copy: then the answer is that of the second one to arrive', async () => {
    const upserts: boolean[] = [];
    for (let seed = 1; seed <= 20; seed += 1) {
      const name = `x${String(seed)}`;
      wire.double(1, randomFrom(scattered(seed)));
      const update = { q: { _id: name }, u: { $set: { n: 1 } }, upsert: true };
      const answer = await settled(db.command({ update: 'counts', updates: [update] }));
      upserts.push('upserted' in answer);
    }
    expect(upserts).toContain(true);
    expect(upserts).toContain(false);
  });
});

describe('a silent change stream', () => {
  it('shows its events in order when the silence is over, and breaks for nobody meanwhile', async () => {
    const provider = new LockProvider(db, { leaseMs: 30_000, clockAllowanceMs: 1_000 });
    const other = new LockProvider(wire.through(set.db(DATABASE)), {
      leaseMs: 30_000,
      clockAllowanceMs: 1_000,
    });
    const modes: string[] = [];
    provider.on('wakeups', ({ mode }) => modes.push(mode));
    const hold = await settled(other.createMutex('m').acquire());
    let isGranted = false;
    const waiting = provider
      .createMutex('m')
      .acquire()
      .then((handle) => {
        isGranted = true;
        return handle;
      });
    await set.advance(1_000);
    wire.streams.fallSilent();
    await settled(hold.release());
    await set.advance(4_000);
    expect(isGranted).toBe(false);
    wire.streams.speak();
    await set.settle();
    expect(isGranted).toBe(true);
    expect(modes).toEqual(['change-stream']);
    await settled((await waiting).release());
    await settled(Promise.all([provider.close(), other.close()]));
  });
});

describe('an old copy', () => {
  const named = (name: string): Document | undefined => locks().find(({ _id: id }) => id === name);

  it.each([true, false])(
    'takes the place of what came after it (drops the collection: %s)',
    async (drops) => {
      const provider = new LockProvider(db, {
        leaseMs: 30_000,
        clockAllowanceMs: 1_000,
        createIndexes: false,
      });
      const hold = await settled(provider.createMutex('old').acquire());
      const then = named('old');
      const thenMs = set.now().getTime();
      await set.advance(100);
      await settled(hold.release());
      await settled((await settled(provider.createMutex('new').acquire())).release());
      await set.advance(1_000);
      wire.restore.begin(thenMs, drops);
      await set.advance(100);
      expect(named('old')).toBeUndefined();
      wire.restore.end();
      await set.advance(100);
      expect(named('old')).toEqual(then);
      expect(named('new')).toBeUndefined();
      const next = await settled(provider.createMutex('old').acquire());
      expect(next.fencingToken).toBeGreaterThan(hold.fencingToken);
      await settled(next.release());
      await settled(provider.close());
    },
  );

  it('of a lock that nobody holds is whole: its fence of 0 is a long number', async () => {
    const provider = new LockProvider(db, { createIndexes: false });
    const semaphore = provider.createSemaphore('vacant', 2);
    const hold = await settled(semaphore.acquire());
    await settled(hold.release());
    const tampered = { q: { _id: 'vacant' }, u: [{ $set: { fence: { $toLong: 0 } } }] };
    await settled(db.command({ update: LOCKS, updates: [tampered] }));
    wire.restore.begin(set.now().getTime(), true);
    await set.advance(100);
    wire.restore.end();
    await set.advance(100);
    const next = await settled(semaphore.acquire());
    expect(next.fencingToken).toBeGreaterThan(hold.fencingToken);
    await settled(next.release());
    await settled(provider.close());
  });

  it('is not restored where nothing could be deleted', async () => {
    const provider = new LockProvider(db, { createIndexes: false });
    await settled((await settled(provider.createMutex('old').acquire())).release());
    const [before] = locks();
    set.stop();
    wire.restore.begin(set.now().getTime(), true);
    wire.restore.end();
    set.start();
    await set.advance(60_000);
    expect(locks()).toEqual([before]);
    await settled(provider.close());
  });
});
