import * as os from 'node:os';

import { LeaseholdError, LockProvider } from 'leasehold';
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
