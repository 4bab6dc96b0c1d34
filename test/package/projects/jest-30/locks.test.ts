import * as os from 'node:os';

import { AcquireTimeoutError, LockProvider, fencedTransaction, fencedUpdateOne } from 'leasehold';
import { QuorumLockProvider } from 'leasehold/quorum';
import { MemoryReplicaSet } from 'leasehold/testing';
import { MongoClient } from 'mongodb';

// Driver 7.8 imports `node:os` dynamically, which Jest refuses without `--experimental-vm-modules`.
const client = new MongoClient(process.env['MONGODB_URI'] ?? '', { runtimeAdapters: { os } });
const db = client.db('jest');
const locks = new LockProvider(db);

afterAll(async () => {
  await locks.close();
  await client.close();
});

test('a second request for a held mutex times out', async () => {
  const lock = await locks.acquireMutex('ts');
  const error: unknown = await locks
    .acquireMutex('ts', { timeoutMs: 100 })
    .catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(AcquireTimeoutError);
  await lock.release();
});

test('a waiter gets the mutex when it is released, with a higher token', async () => {
  const first = await locks.acquireMutex('ts-waiter');
  const waiting = locks.acquireMutex('ts-waiter');
  await first.release();
  const second = await waiting;
  expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
  await second.release();
});

test('a fenced update and a fenced transaction write', async () => {
  interface Account {
    readonly _id: string;
    readonly balance: number;
  }
  const accounts = db.collection<Account>('accounts');
  await accounts.updateOne({ _id: 'a' }, { $set: { balance: 1 } }, { upsert: true });
  const lock = await locks.acquireMutex('ts-fence');
  const result = await fencedUpdateOne(accounts, { _id: 'a' }, { $set: { balance: 2 } }, lock);
  expect(result.matchedCount).toBe(1);
  await fencedTransaction(client, lock, async (session) => {
    await accounts.updateOne({ _id: 'a' }, { $inc: { balance: 1 } }, { session });
  });
  expect(await accounts.findOne({ _id: 'a' })).toMatchObject({ balance: 3 });
  await lock.release();
});

test('a quorum grants a mutex', async () => {
  const quorum = new QuorumLockProvider(['a', 'b', 'c'].map((name) => client.db(`jest-${name}`)));
  const lock = await quorum.createMutex('ts').acquire({ timeoutMs: 10_000 });
  expect(lock.isHeld).toBe(true);
  await lock.release();
  await quorum.close();
});

test('a lease ends in a replica set in memory while its process is cut off', async () => {
  const set = new MemoryReplicaSet({ time: 'virtual', seed: 7 });
  const db = set.db('jest');
  const memoryLocks = new LockProvider(db, { leaseMs: 10_000 });
  memoryLocks.on('lost', () => undefined);
  memoryLocks.on('storeError', () => undefined);
  const lock = await memoryLocks.acquireMutex('memory');
  set.cut(db);
  await set.advance(30_000);
  expect(lock.isHeld).toBe(false);
  set.heal(db);
  const closed = memoryLocks.close();
  await set.advance(10_000);
  await closed;
  await set.close();
});
