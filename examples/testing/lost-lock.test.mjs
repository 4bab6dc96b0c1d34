// For node:test. An import must go on after its lock is lost: another process may have worked meanwhile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  fencedUpdateOne,
  LockLostError,
  LockProvider,
  StaleTokenError,
  StoreUnavailableError,
} from 'leasehold';
import { MemoryReplicaSet } from 'leasehold/testing';

/** The code under test: imports each order once, whatever becomes of the lock. Returns how often it has begun. */
async function importOrders(locks, stored, orders, readOrder) {
  const mutex = locks.createMutex('import');
  for (let attempts = 1; ; attempts += 1) {
    try {
      await mutex.use(async (lock) => {
        for (const _id of orders) {
          const cents = await readOrder(_id);
          await fencedUpdateOne(stored, { _id }, { $set: { cents } }, lock, { upsert: true });
        }
      });
      return attempts;
    } catch (error) {
      const isLost = [LockLostError, StaleTokenError, StoreUnavailableError].some(
        (each) => error instanceof each,
      );
      if (!isLost) throw error;
    }
  }
}

test('an import that is cut off for longer than its lease does not write over the work of another process', async () => {
  const set = new MemoryReplicaSet({ time: 'virtual', seed: 7 });
  const [here, there] = [set.db('app'), set.db('app')];
  const [locksHere, locksThere] = [here, there].map((db) => new LockProvider(db, { leaseMs: 10_000 }));
  for (const locks of [locksHere, locksThere]) {
    for (const event of ['lost', 'storeError']) locks.on(event, () => undefined);
  }

  // The first process reads an old price, and is then cut off for a minute.
  let goOn;
  const isCutOff = new Promise((resolve) => (goOn = resolve));
  const first = importOrders(locksHere, here.collection('orders'), ['a', 'b'], async (order) => {
    const price = prices[order];
    if (order === 'b') await isCutOff;
    return price;
  });
  const prices = { a: 100, b: 200 };
  await set.settle();
  set.cut(here);
  await set.advance(60_000);

  // The second process gets the lock when the lease has expired, and imports the new price.
  prices.b = 250;
  const second = importOrders(
    locksThere,
    there.collection('orders'),
    ['a', 'b'],
    async (order) => prices[order],
  );
  await set.advance(10_000);
  assert.equal(await second, 1);

  // The first one comes back with its old price: MongoDB refuses it, and the import begins anew.
  set.heal(here);
  goOn();
  await set.advance(60_000);
  assert.equal(await first, 2);
  const stored = await there.collection('orders').find().toArray();
  assert.deepEqual(Object.fromEntries(stored.map(({ _id, cents }) => [_id, cents])), { a: 100, b: 250 });
  assert.deepEqual(set.violations(), []);
  await set.close();
});
