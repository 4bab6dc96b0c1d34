// For Jest. A transfer between two accounts, and the primary is lost after the first half of it.
import { expect, test } from '@jest/globals';
import { LockProvider } from 'leasehold';
import { MemoryReplicaSet } from 'leasehold/testing';

/** Books an amount once, however often it is called. */
async function book(accounts, account, transfer, cents) {
  const filter = { _id: account, booked: { $ne: transfer } };
  const update = { $inc: { cents }, $push: { booked: transfer } };
  for (let tries = 1; ; tries += 1) {
    try {
      await accounts.updateOne(filter, update);
      return;
    } catch (error) {
      if (tries === 10) throw error;
    }
  }
}

/** The code under test: moves cents from one account to another, both or none of them locked. */
async function pay(locks, accounts, transfer, { from, to, cents }) {
  const both = await locks.acquireAll(
    [from, to].map((name) => ({ mutex: locks.createMutex(`account:${name}`) })),
  );
  try {
    await book(accounts, from, transfer, -cents);
    both.assertHeld();
    await book(accounts, to, transfer, cents);
  } finally {
    await both.release();
  }
}

test('a failover in the middle of a transfer loses no cent and books none twice', async () => {
  const set = new MemoryReplicaSet({ time: 'virtual', seed: 11 });
  const db = set.db('bank');
  const accounts = db.collection('accounts');
  const open = (_id) => accounts.insertOne({ _id, cents: 100, booked: [] });
  await Promise.all(['ann', 'bob'].map(open));
  const locks = new LockProvider(db, { leaseMs: 30_000 });
  locks.on('storeError', () => undefined);
  const balances = () =>
    Object.fromEntries(
      set.documents().flatMap(({ _id, cents }) => (cents === undefined ? [] : [[_id, cents]])),
    );

  set.delayReplies(50);
  const paying = pay(locks, accounts, 't1', { from: 'ann', to: 'bob', cents: 60 });
  while (balances().ann === 100) await set.advance(5);
  expect(balances()).toEqual({ ann: 40, bob: 100 });
  set.stepDown({ electionMs: 5_000, losesUnacknowledged: true });
  set.delayReplies(0);
  await set.advance(30_000);
  await paying;
  expect(balances()).toEqual({ ann: 40, bob: 160 });
  expect(set.violations()).toEqual([]);
  await set.close();
});
