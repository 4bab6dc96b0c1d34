import type { Db } from 'mongodb';
import { afterEach, describe, expect, it } from 'vitest';
import { LockProvider } from '../../../src/index.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';
import { keepHold } from '../../support/keep-hold.js';

const LEASE_MS = 10_000;

const sets: MemoryReplicaSet[] = [];

afterEach(async () => {
  for (const set of sets.splice(0)) await set.close();
});

function newSet(seed = 7): MemoryReplicaSet {
  const set = new MemoryReplicaSet({ time: 'virtual', seed });
  sets.push(set);
  return set;
}

interface Process {
  readonly db: Db;
  readonly locks: LockProvider;
  /** What the process reports about its lost holds and about the store. */
  readonly reports: string[];
}

function newProcess(set: MemoryReplicaSet): Process {
  const db = set.db('app');
  const locks = new LockProvider(db, { leaseMs: LEASE_MS });
  const reports: string[] = [];
  locks.on('lost', ({ lockName }) => void reports.push(`lost ${lockName}`));
  locks.on('storeError', ({ during, error }) => void reports.push(`${during}: ${(error as Error).message}`));
  return { db, locks, reports };
}

describe('a MemoryReplicaSet', () => {
  it('serves the classes of production, and needs no time for that', async () => {
    const set = newSet();
    const { locks } = newProcess(set);
    const before = set.now().getTime();
    const lock = await locks.createMutex('a').acquire();
    expect(lock.isHeld).toBe(true);
    expect(set.now().getTime() - before).toBeLessThan(20);
    await lock.release();
    expect(await locks.createMutex('a').inspect()).toMatchObject({ holders: [] });
  });

  it('lets exactly so much time pass, and everything that falls due happens', async () => {
    const set = newSet();
    const { locks } = newProcess(set);
    const lock = await locks.createMutex('a').acquire();
    const [before, versions] = [set.now().getTime(), set.versions.length];
    await set.advance(30_000);
    expect(set.now().getTime() - before).toBe(30_000);
    expect(lock.isHeld).toBe(true);
    // A lease of ten seconds is extended every third of it.
    expect(set.versions.length - versions).toBeGreaterThanOrEqual(8);
  });

  it('passes a lock on after settle(), without time', async () => {
    const set = newSet();
    const [a, b] = [newProcess(set), newProcess(set)];
    const lock = await a.locks.createMutex('a').acquire();
    let isGranted = false;
    const next = b.locks.createMutex('a').acquire();
    void next.then(() => (isGranted = true));
    await set.settle();
    expect(isGranted).toBe(false);
    await lock.release();
    await set.settle();
    expect(isGranted).toBe(true);
    expect((await next).fencingToken).toBeGreaterThan(lock.fencingToken);
  });

  it('has the same clock and tokens for the same seed, and others for another one', async () => {
    const facts = async (seed: number): Promise<readonly unknown[]> => {
      const set = newSet(seed);
      const lock = await newProcess(set).locks.createMutex('a').acquire();
      return [set.now().toISOString(), lock.fencingToken, set.documents()];
    };
    const seven = await facts(7);
    expect(await facts(7)).toEqual(seven);
    for (const [index, fact] of (await facts(8)).entries()) expect(fact).not.toEqual(seven[index]);
  });

  it('ends a wait when its time is up', async () => {
    const set = newSet();
    const [a, b] = [newProcess(set), newProcess(set)];
    await keepHold(a.locks.createMutex('a').acquire());
    const waiting = b.locks.createMutex('a').acquire({ timeoutMs: 5_000 });
    const refused = expect(waiting).rejects.toMatchObject({ name: 'AcquireTimeoutError' });
    await set.advance(4_900);
    const [{ queue } = {}] = set.documents();
    expect(Object.keys(queue as object)).toHaveLength(1);
    await set.advance(200);
    await refused;
  });

  it('shows documents and every version of them', async () => {
    const set = newSet();
    const { locks, db } = newProcess(set);
    const lock = await locks.createMutex('a').acquire();
    expect(set.documents()).toMatchObject([
      { _id: 'a', kind: 'mutex', holder: { token: lock.fencingToken } },
    ]);
    await lock.release();
    await db.collection('distributed.locks').deleteMany({});
    await set.settle();
    expect(set.documents()).toEqual([]);
    expect(set.versions).toMatchObject([
      { namespace: 'app.distributed.locks', id: 'a', document: { holder: { token: lock.fencingToken } } },
      { id: 'a', document: { queue: {} } },
      { id: 'a', document: null },
    ]);
    expect(set.violations()).toEqual([]);
  });

  it('purges unused documents after their retention', async () => {
    const set = newSet();
    const { locks } = newProcess(set);
    await (await locks.createMutex('a').acquire()).release();
    await set.advance(6 * 86_400_000);
    expect(set.documents()).toHaveLength(1);
    await set.advance(2 * 86_400_000);
    expect(set.documents()).toHaveLength(0);
    expect(set.violations()).toEqual([]);
  });
});

describe('what a MemoryReplicaSet tells', () => {
  it('is a copy: what a caller does to it changes neither the set nor its judge', async () => {
    const set = newSet();
    const { locks } = newProcess(set);
    const mutex = locks.createMutex('a');
    const lock = await mutex.acquire();
    await set.settle();
    const [stored] = set.documents() as { fence: number }[];
    if (stored === undefined) throw new Error('no document');
    const versions = set.versions as unknown as {
      document: { fence: number; holder: { expiresAt: Date } } | null;
    }[];
    const fences = versions.map(({ document }) => document?.fence);
    stored.fence = -5;
    for (const { document } of versions) {
      document?.holder.expiresAt.setTime(0);
      if (document !== null) document.fence = 1e9;
    }
    expect(() => versions.pop()).toThrow(TypeError);
    await lock.release();
    await (await mutex.acquire()).release();
    await set.settle();
    expect(set.violations()).toEqual([]);
    expect(set.documents()).not.toMatchObject([{ fence: -5 }]);
    expect(versions).toHaveLength(fences.length);
    expect(set.versions.length).toBeGreaterThan(fences.length);
  });

  it('is the same list until something changes', async () => {
    const set = newSet();
    const { locks } = newProcess(set);
    const lock = await locks.createMutex('a').acquire();
    const { versions } = set;
    expect(set.versions).toBe(versions);
    await lock.release();
    expect(set.versions).not.toBe(versions);
    expect(set.versions.slice(0, versions.length)).toEqual(versions);
  });

  it('is what a server of MongoDB 6.0 says', async () => {
    const { db } = newProcess(newSet());
    expect(await db.command({ hello: 1 })).toMatchObject({ maxWireVersion: 17 });
    await expect(db.command({ drop: 'missing' })).rejects.toMatchObject({ codeName: 'NamespaceNotFound' });
  });
});

describe('a fault of a MemoryReplicaSet', () => {
  it('stop: the holder loses its lock; start: the lock is granted again', async () => {
    const set = newSet();
    const { locks, reports } = newProcess(set);
    const lock = await locks.createMutex('a').acquire();
    set.stop();
    await set.advance(2 * LEASE_MS);
    expect(lock.isHeld).toBe(false);
    expect(reports).toContain('lost a');
    expect(reports).toContainEqual(expect.stringContaining('connect ECONNREFUSED'));
    const again = locks.createMutex('a').acquire();
    set.start();
    await set.advance(2_000);
    expect((await again).fencingToken).toBeGreaterThan(lock.fencingToken);
  });

  it('stepDown: a holder goes on, and a grant follows after the election', async () => {
    const set = newSet();
    const [a, b] = [newProcess(set), newProcess(set)];
    const lock = await a.locks.createMutex('a').acquire();
    set.stepDown({ electionMs: 3_000 });
    const other = b.locks.createMutex('b').acquire();
    let isGranted = false;
    void other.then(() => (isGranted = true));
    await set.advance(2_900);
    expect(isGranted).toBe(false);
    await set.advance(1_500);
    expect(isGranted).toBe(true);
    await set.advance(20_000);
    expect(lock.isHeld).toBe(true);
    expect(set.violations()).toEqual([]);
  });

  it('stepDown that loses what no majority has: a write of the old primary is rolled back', async () => {
    const set = newSet();
    const { locks, db } = newProcess(set);
    await (await locks.createMutex('a').acquire()).release();
    set.stepDown({ losesUnacknowledged: true, electionMs: 500 });
    const notes = db.collection('notes');
    await notes.insertOne({ _id: 'local' as never }, { writeConcern: { w: 1 } });
    expect(await notes.findOne({}, { readConcern: { level: 'local' } })).toEqual({ _id: 'local' });
    expect(await notes.findOne({}, { readConcern: { level: 'majority' } })).toBeNull();
    expect(await notes.findOne({}, { readConcern: 'majority' })).toBeNull();
    await set.advance(3_000);
    expect(await notes.findOne({}, { readConcern: { level: 'local' } })).toBeNull();
    expect(set.documents().map(({ _id }) => _id)).toEqual(['a']);
  });

  it('skewClock: moves the clock that leases are judged by', async () => {
    const set = newSet();
    const [a, b] = [newProcess(set), newProcess(set)];
    const lock = await a.locks.createMutex('a').acquire();
    set.skewClock(LEASE_MS / 2);
    set.skewClock(LEASE_MS / 2 + 1_000);
    const next = await b.locks.createMutex('a').acquire();
    // The clock has jumped by more than clockAllowanceMs, so both believe to hold the lock. The tokens tell them apart.
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    await set.advance(LEASE_MS);
    expect(lock.isHeld).toBe(false);
  });

  it('delayReplies: an answer takes so much longer', async () => {
    const set = newSet();
    const { locks } = newProcess(set);
    await (await locks.createMutex('a').acquire()).release();
    set.delayReplies(400);
    let isGranted = false;
    void locks
      .createMutex('b')
      .acquire()
      .then(() => (isGranted = true));
    await set.advance(390);
    expect(isGranted).toBe(false);
    expect(set.documents()).toHaveLength(2);
    await set.advance(20);
    expect(isGranted).toBe(true);
  });

  it('loseReplies: the write is applied, and the process asks again', async () => {
    const set = newSet();
    const { locks, reports } = newProcess(set);
    set.loseReplies(1);
    const acquiring = locks.createMutex('a').acquire();
    await set.settle();
    expect(set.documents()).toHaveLength(1);
    await set.advance(6_000);
    const lock = await acquiring;
    expect(reports).toEqual(['transition: no answer within 5000 ms']);
    expect(set.versions[0]).toMatchObject({ document: { holder: { token: lock.fencingToken } } });
    expect(lock.isHeld).toBe(true);
  });

  it('loseReplies: only writes that are applied, at least in part, count', async () => {
    const set = newSet();
    const collection = set.db('app').collection<{ _id: number }>('a');
    const replies: string[] = [];
    const write = async (name: string, written: Promise<unknown>): Promise<void> => {
      void written.then(
        () => replies.push(`${name}: done`),
        () => replies.push(`${name}: refused`),
      );
      await set.settle();
    };
    await collection.insertOne({ _id: 1 });
    set.loseReplies(2);
    const changedId = { $set: { _id: 2 } };
    await write('an insert of a known id', collection.insertOne({ _id: 1 }));
    await write('an update of an id', collection.updateOne({ _id: 1 }, changedId));
    await write('a findAndModify', collection.findOneAndUpdate({ _id: 1 }, changedId));
    await write('an insert', collection.insertOne({ _id: 2 }));
    await write('inserts, refused in part', collection.insertMany([{ _id: 3 }, { _id: 1 }]));
    await write('a later insert', collection.insertOne({ _id: 4 }));
    expect(replies).toEqual([
      'an insert of a known id: refused',
      'an update of an id: refused',
      'a findAndModify: refused',
      'a later insert: done',
    ]);
    expect(set.documents().map(({ _id }) => _id)).toEqual([1, 2, 3, 4]);
  });

  it('stepDown: a drop that is rolled back leaves the index that purges documents', async () => {
    const set = newSet();
    const db = set.db('app');
    const collection = db.collection<{ _id: number }>('a');
    const index = { key: { at: 1 }, name: 'at', expireAfterSeconds: 0 };
    await db.command({ createIndexes: 'a', indexes: [index] });
    await collection.insertOne({ _id: 1, at: new Date(0) } as never);
    set.stepDown({ electionMs: 100, losesUnacknowledged: true });
    const dropped = collection.drop().catch(() => undefined);
    await set.advance(5_000);
    await dropped;
    expect(set.documents().map(({ _id }) => _id)).toEqual([1]);
    await set.advance(120_000);
    expect(set.documents()).toEqual([]);
  });

  it('a dropped collection has lost the index that purges documents', async () => {
    const set = newSet();
    const db = set.db('app');
    const collection = db.collection<{ _id: number }>('a');
    const index = { key: { at: 1 }, name: 'at', expireAfterSeconds: 0 };
    await db.command({ createIndexes: 'a', indexes: [index] });
    await collection.insertOne({ _id: 1 });
    await collection.drop();
    await collection.insertOne({ _id: 2, at: new Date(0) } as never);
    await set.advance(120_000);
    expect(set.documents().map(({ _id }) => _id)).toEqual([2]);
  });

  it('breakStreams: a waiter hears of its grant all the same', async () => {
    const set = newSet();
    const [a, b] = [newProcess(set), newProcess(set)];
    const lock = await a.locks.createMutex('a').acquire();
    const next = b.locks.createMutex('a').acquire();
    await set.advance(1_000);
    set.breakStreams();
    await set.settle();
    expect(b.reports).toEqual(['stream: the cursor was killed']);
    await lock.release();
    await set.advance(1_000);
    expect((await next).isHeld).toBe(true);
  });

  it('openCursors: counts the change stream of a waiter, until its provider closes', async () => {
    const set = newSet();
    const [a, b] = [newProcess(set), newProcess(set)];
    const lock = await a.locks.createMutex('a').acquire();
    expect(set.openCursors).toBe(0);
    const next = b.locks.createMutex('a').acquire();
    await set.advance(1_000);
    expect(set.openCursors).toBe(1);
    await lock.release();
    await (await next).release();
    const closing = Promise.all([a.locks.close(), b.locks.close()]);
    await set.advance(1_000);
    await closing;
    expect(set.openCursors).toBe(0);
  });

  it('freeze: the process does nothing, and finds out after thaw', async () => {
    const set = newSet();
    const [a, b] = [newProcess(set), newProcess(set)];
    const lock = await a.locks.createMutex('a').acquire();
    set.freeze(a.db);
    const next = b.locks.createMutex('a').acquire();
    await set.advance(LEASE_MS + 5_000);
    expect((await next).isHeld).toBe(true);
    expect(a.reports).toEqual([]);
    set.thaw(a.db);
    await set.settle();
    expect(a.reports).toEqual(['lost a']);
    expect(lock.isHeld).toBe(false);
    expect(set.violations()).toEqual([]);
  });

  it('cut: the process loses its lock by its own clock, and works again after heal', async () => {
    const set = newSet();
    const [a, b] = [newProcess(set), newProcess(set)];
    await keepHold(a.locks.createMutex('a').acquire());
    set.cut(a.db);
    await set.advance(LEASE_MS - 500);
    expect(a.reports).toContain('lost a');
    await set.advance(1_000);
    expect((await b.locks.createMutex('a').acquire()).isHeld).toBe(true);
    set.heal(a.db);
    await set.advance(1_000);
    expect((await a.locks.createMutex('b').acquire()).isHeld).toBe(true);
  });

  it('names a Db that it does not know', () => {
    const [set, other] = [newSet(), newSet()];
    expect(() => {
      set.cut(other.db());
    }).toThrow('db must be a Db of this MemoryReplicaSet');
  });
});

describe('the options of a MemoryReplicaSet', () => {
  it('are checked', () => {
    const make = (options: object) => () => new MemoryReplicaSet(options);
    expect(make({ time: 'fake' })).toThrow("time must be 'real', 'virtual' or a MemoryReplicaSet");
    expect(make({ seed: 1.5 })).toThrow('seed must be an integer from 0 to 4294967295');
    expect(make({ sed: 1 })).toThrow('unknown option "sed" of MemoryReplicaSet; did you mean "seed"?');
  });
});

describe('the options of stepDown', () => {
  it.each([
    [{ electonMs: 5 }, 'did you mean "electionMs"?'],
    [{ electionMs: null }, 'electionMs must be a number, got null'],
    [{ electionMs: -1 }, 'electionMs must be between 0 and'],
    [{ losesUnacknowledged: 'no' }, 'losesUnacknowledged must be a boolean, got "no"'],
    [5, 'options must be an object, got 5'],
    [null, 'options must be an object, got null'],
  ])('are checked: %o', async (options, message) => {
    const set = newSet();
    const { db } = newProcess(set);
    expect(() => {
      set.stepDown(options as never);
    }).toThrow(message);
    expect(await db.command({ hello: 1 })).toMatchObject({ isWritablePrimary: true });
  });
});

describe('in real time', () => {
  it('the same set works with the timers of the process', async () => {
    const set = new MemoryReplicaSet({ time: 'real', seed: 1 });
    sets.push(set);
    const [a, b] = [newProcess(set), newProcess(set)];
    const lock = await a.locks.createMutex('a').acquire();
    const next = b.locks.createMutex('a').acquire();
    await set.settle();
    await set.advance(50);
    await lock.release();
    expect((await next).fencingToken).toBeGreaterThan(lock.fencingToken);
    await a.locks.close();
    await b.locks.close({ drainMs: 0 });
  });
});
