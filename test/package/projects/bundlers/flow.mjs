import { ok, rejects, strictEqual } from 'node:assert';

/** One pass through the library. */
export async function flow({ AcquireTimeoutError, LockProvider }, { QuorumLockProvider }, MongoClient, name) {
  const client = new MongoClient(process.env.MONGODB_URI);
  const locks = new LockProvider(client.db('flow'));
  const lock = await locks.acquireMutex(name);
  await rejects(locks.acquireMutex(name, { timeoutMs: 50 }), (error) => {
    strictEqual(error.name, 'AcquireTimeoutError');
    return error instanceof AcquireTimeoutError;
  });
  await lock.release();
  const quorum = new QuorumLockProvider(['a', 'b', 'c'].map((each) => client.db(`flow-${each}`)));
  await quorum.createMutex(name).use(({ isHeld }) => ok(isHeld));
  await quorum.close();
  await locks.close();
  await client.close();
  console.log(`${name}: works`);
}
