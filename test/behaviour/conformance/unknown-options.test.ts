import { MongoClient } from 'mongodb';
import type { Collection, Db } from 'mongodb';
import { afterAll, describe, expect, it } from 'vitest';
import { LockProvider, fencedTransaction, fencedUpdateOne } from '../../../src/index.js';
import { QuorumLockProvider } from '../../../src/quorum/index.js';
import type { LockHandle } from '../../../src/index.js';
import { later, pause, rejection, thrown } from '../../../lab/patience.js';

// No server listens there, and nothing may be sent.
const silentClient = (port: number): MongoClient =>
  new MongoClient(`mongodb://127.0.0.1:${port}`, { serverSelectionTimeoutMS: 100 });
const client = silentClient(9);
const clients = [client, silentClient(10), silentClient(11)];
const sent: string[] = [];
for (const each of clients) each.on('serverOpening', () => sent.push('a connection'));
const dbs: readonly Db[] = clients.map((each) => each.db('never'));
const db = client.db('never');
const locks = new LockProvider(db);
const quorum = new QuorumLockProvider(dbs);

afterAll(async () => {
  await Promise.all([locks.close(), quorum.close()]);
  await Promise.all(clients.map((each) => each.close()));
});

const mutex = locks.createMutex('x');
const semaphore = locks.createSemaphore('s', 5);
const lock = locks.createReaderWriterLock('rw');
const election = locks.createLeaderElection('e');
const run = (): undefined => undefined;
const job = locks.createScheduledJob('j', { everyMs: 1_000, run });
const collection: Collection<{ _id: number; a?: number }> = db.collection('orders');
// Options are checked before the handle.
const noHandle = undefined as unknown as LockHandle;

/** The name of what takes the options, a misspelt key, the key that was meant, and the call. */
type Row = readonly [of: string, key: string, meant: string, call: (options: never) => unknown];

const MAKERS: readonly Row[] = [
  ['LockProvider', 'leaseMS', 'leaseMs', (options) => new LockProvider(db, options)],
  ['LockProvider', 'wakeup', 'wakeups', (options) => new LockProvider(db, options)],
  ['LockProvider', 'collection', 'collectionName', (options) => new LockProvider(db, options)],
  ['QuorumLockProvider', 'minValidity', 'minValidityMs', (options) => new QuorumLockProvider(dbs, options)],
  ['QuorumLockProvider', 'storeTimeout', 'storeTimeoutMs', (options) => new QuorumLockProvider(dbs, options)],
  ['pollMs', 'mim', 'min', (pollMs) => new LockProvider(db, { pollMs })],
  ['createMutex', 'lease', 'leaseMs', (options) => locks.createMutex('x', options)],
  ['createReaderWriterLock', 'leasems', 'leaseMs', (options) => locks.createReaderWriterLock('x', options)],
  [
    'createSemaphore',
    'whenLimitDiffer',
    'whenLimitDiffers',
    (options) => locks.createSemaphore('x', 2, options),
  ],
  ['createMutex', 'leaseMS', 'leaseMs', (options) => quorum.createMutex('x', options)],
  ['createReaderWriterLock', 'keepMS', 'keepMs', (options) => quorum.createReaderWriterLock('x', options)],
  ['createLeaderElection', 'onElect', 'onElected', (options) => locks.createLeaderElection('x', options)],
  [
    'createScheduledJob',
    'timezone',
    'timeZone',
    (options: object) => locks.createScheduledJob('x', { cron: '0 2 * * *', run, ...options }),
  ],
  [
    'createScheduledJob',
    'miss',
    'missed',
    (options: object) => locks.createScheduledJob('x', { everyMs: 1_000, run, ...options }),
  ],
  ['observe', 'signals', 'signal', (options) => election.observe(options)],
];

const CALLS: readonly Row[] = [
  ['acquire', 'timeout', 'timeoutMs', (options) => mutex.acquire(options)],
  ['tryAcquire', 'timeoutMilliseconds', 'timeoutMs', (options) => mutex.tryAcquire(options)],
  ['acquire', 'Signal', 'signal', (options) => mutex.use(() => 1, options)],
  ['acquire', 'timeOutMs', 'timeoutMs', (options) => locks.acquireMutex('x', options)],
  ['acquire', 'leaseMS', 'leaseMs', (options) => lock.acquireRead(options)],
  ['tryAcquire', 'timeoutms', 'timeoutMs', (options) => lock.tryAcquireWrite(options)],
  ['acquire', 'wy', 'why', (options) => lock.useUpgradeableRead(() => 1, options)],
  ['acquire', 'permit', 'permits', (options) => semaphore.acquire(options)],
  ['tryAcquire', 'permitts', 'permits', (options) => semaphore.tryAcquire(options)],
  ['acquire', 'timeout', 'timeoutMs', (options) => semaphore.use(() => 1, options)],
  ['acquireAll', 'timeout', 'timeoutMs', (options) => locks.acquireAll([{ mutex }], options)],
  ['tryAcquireAll', 'timeout', 'timeoutMs', (options) => locks.tryAcquireAll([{ mutex }], options)],
  [
    'requests[1]',
    'permit',
    'permits',
    (options: object) => locks.acquireAll([{ mutex }, { semaphore, ...options }]),
  ],
  ['acquire', 'timeout', 'timeoutMs', (options) => quorum.createMutex('x').acquire(options)],
  ['tryAcquire', 'timeout', 'timeoutMs', (options) => quorum.createMutex('x').tryAcquire(options)],
  ['untilElected', 'timeout', 'timeoutMs', (options) => election.untilElected(options)],
  ['stop', 'drain', 'drainMs', (options) => election.stop(options)],
  ['stop', 'drainMS', 'drainMs', (options) => job.stop(options)],
  ['revoke', 'froce', 'force', (options) => locks.revoke('x', options)],
  ['list', 'perfix', 'prefix', (filter) => locks.list(filter).next()],
  ['close', 'drain', 'drainMs', (options) => locks.close(options)],
  ['close', 'timeoutMs', '', (options) => quorum.close(options)],
  [
    'fencedUpdateOne',
    'fields',
    'field',
    (options) => fencedUpdateOne(collection, { _id: 1 }, { $set: { a: 1 } }, noHandle, options),
  ],
  [
    'fencedUpdateOne',
    'upsrt',
    'upsert',
    (options) => fencedUpdateOne(collection, { _id: 1 }, { $set: { a: 1 } }, noHandle, options),
  ],
  [
    'fencedTransaction',
    'collection',
    'collectionName',
    (options) => fencedTransaction(client, noHandle, () => Promise.resolve(), options),
  ],
];

const options = (key: string, value: unknown = 1): never => ({ [key]: value }) as never;

function expectRefused(error: unknown, of: string, key: string, meant: string): void {
  expect(error).toBeInstanceOf(TypeError);
  const named = `unknown option "${key}" of ${of}; `;
  expect((error as Error).message).toContain(
    meant === '' ? `${named}it takes ` : `${named}did you mean "${meant}"?`,
  );
}

describe('a misspelt option', () => {
  it.each(MAKERS)(
    'makes %s throw a TypeError that names it and the nearest known option: %s',
    (of, key, meant, call) => {
      expectRefused(
        thrown(() => call(options(key))),
        of,
        key,
        meant,
      );
    },
  );

  it.each(CALLS)(
    'makes %s reject with a TypeError that names it and the nearest known option: %s',
    async (of, key, meant, call) => {
      const called = later(Promise.resolve(call(options(key))));
      // A call that does not reject would wait for a server that does not exist.
      const accepted = pause(200).then(() => new Error('it was accepted'));
      expectRefused(await Promise.race([rejection(called), accepted]), of, key, meant);
    },
  );

  it('is a TypeError even if its value is undefined', () => {
    expectRefused(
      thrown(() => locks.createMutex('x', options('leaseMS', undefined))),
      'createMutex',
      'leaseMS',
      'leaseMs',
    );
  });

  it('is a TypeError that names all known options if none is similar', () => {
    const error = thrown(() => locks.createMutex('x', options('ttl')));
    expect((error as Error).message).toBe(
      'unknown option "ttl" of createMutex; it takes leaseMs, keepMs, passes',
    );
  });

  it('opens no connection', () => {
    expect(sent).toEqual([]);
  });
});

describe('keys of an options object', () => {
  it('are ignored if they are inherited, symbols or not enumerable', () => {
    class Defaults {
      readonly leaseMs = 1_000;
      get leaseMS(): number {
        return this.leaseMs;
      }
    }
    const given = Object.assign(new Defaults(), { [Symbol('timeout')]: 1 });
    Object.defineProperty(given, 'keep', { value: 1, enumerable: false });
    expect(() => locks.createMutex('x', given)).not.toThrow();
  });

  it('are unknown even if every object has a property of that name', () => {
    for (const key of ['constructor', 'toString', '__proto__']) {
      const given = Object.defineProperty({}, key, { value: 1, enumerable: true });
      expect(() => locks.createMutex('x', given)).toThrow(`unknown option "${key}" of createMutex`);
    }
  });

  it('may be options of the driver in fencedUpdateOne', async () => {
    const given = { sort: { at: 1 } } as object;
    const update = fencedUpdateOne(collection, { _id: 1 }, { $set: { a: 1 } }, noHandle, given);
    await expect(update).rejects.toThrow('lock must be');
  });
});
