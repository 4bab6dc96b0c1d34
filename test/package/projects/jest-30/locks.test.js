import * as os from 'node:os';

import { LeaseholdError, LockProvider } from 'leasehold';
import { MemoryReplicaSet } from 'leasehold/testing';
import { MongoClient } from 'mongodb';

test('a mutex is acquired, and refuses another holder', async () => {
  const client = new MongoClient(process.env.MONGODB_URI, { runtimeAdapters: { os } });
  const locks = new LockProvider(client.db('jest'));
  const controller = new AbortController();
  const lock = await locks.acquireMutex('js', { signal: controller.signal });
  expect(await locks.createMutex('js').tryAcquire()).toBeNull();
  await expect(locks.acquireMutex('js', { timeoutMs: 50 })).rejects.toBeInstanceOf(LeaseholdError);
  await lock.release();
  await locks.close();
  await client.close();
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
