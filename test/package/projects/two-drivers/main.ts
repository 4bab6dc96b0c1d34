import { rejects, strictEqual } from 'node:assert';

import { LockProvider, StaleTokenError, fencedTransaction, fencedUpdateOne } from 'leasehold';
import type { LockHandle } from 'leasehold';
import { QuorumLockProvider } from 'leasehold/quorum';
import * as seven from 'mongodb';
import * as six from 'mongodb-6';
import * as sixTen from 'mongodb-6-10';

interface Account {
  readonly _id: string;
  readonly balance: number;
}

const uri = process.env['MONGODB_URI'] ?? '';
const clients = [new seven.MongoClient(uri), new six.MongoClient(uri), new sixTen.MongoClient(uri)] as const;
const [onSeven, onSix, onSixTen] = clients;
const name = `two-drivers-${String(process.pid)}`;

const transaction: seven.TransactionOptions = {
  readConcern: { level: 'majority' },
  readPreference: 'primary',
};
const update: seven.UpdateOptions = { comment: 'by 7', writeConcern: new seven.WriteConcern('majority') };
const updateOfSix: six.UpdateOptions = { comment: 'by 6', readPreference: six.ReadPreference.primary };

async function add(lock: LockHandle): Promise<void> {
  const accounts = onSeven.db(name).collection<Account>('accounts');
  const { modifiedCount } = await fencedUpdateOne(
    accounts,
    { _id: 'a' },
    { $inc: { balance: 1 } },
    lock,
    update,
  );
  strictEqual(modifiedCount, 1);
  const balance: number = await fencedTransaction(
    onSeven,
    lock,
    async (session: seven.ClientSession) => {
      await accounts.updateOne({ _id: 'a' }, { $inc: { balance: 1 } }, { session });
      return (await accounts.findOne({ _id: 'a' }, { session }))?.balance ?? 0;
    },
    { transaction },
  );
  strictEqual(balance > 0, true);
}

async function addBySix(lock: LockHandle): Promise<void> {
  const accounts = onSix.db(name).collection<Account>('accounts');
  await fencedUpdateOne(accounts, { _id: 'a' }, { $inc: { balance: 1 } }, lock, updateOfSix);
  // @ts-expect-error -- the filter belongs to the collection
  const misspelt: Parameters<typeof accounts.updateOne>[0] = { _id: 1 };
  // @ts-expect-error -- the collection has numbers there
  void (() => fencedUpdateOne(accounts, { _id: 'a' }, { $set: { balance: 'x' } }, lock));
  strictEqual(misspelt._id, 1);
  await fencedTransaction(onSix, lock, async (session) => {
    await accounts.updateOne({ _id: 'a' }, { $inc: { balance: 1 } }, { session });
    const own: six.ClientSession = session;
    // @ts-expect-error -- a session of driver 6 is none of driver 7
    const other: seven.ClientSession = session;
    strictEqual(own, other);
  });
  const byTen = onSixTen.db(name).collection<Account>('accounts');
  await fencedTransaction(onSixTen, lock, async (session) => {
    await byTen.updateOne({ _id: 'a' }, { $inc: { balance: 1 } }, { session });
  });
}

const providers = clients.map((client) => new LockProvider(client.db(name)));
await onSeven.db(name).collection<Account>('accounts').insertOne({ _id: 'a', balance: 0 });
let old: LockHandle | undefined;
for (const locks of providers) {
  await locks.useMutex('account', async (lock) => {
    old ??= lock;
    await add(lock);
    await addBySix(lock);
  });
}
const accounts = onSix.db(name).collection<Account>('accounts');
strictEqual((await accounts.findOne({ _id: 'a' }))?.balance, 15);
const stale = old;
if (stale === undefined) throw new Error('no lock was held');
await rejects(fencedUpdateOne(accounts, { _id: 'a' }, { $inc: { balance: 1 } }, stale), StaleTokenError);

const quorum = new QuorumLockProvider([
  onSeven.db(`${name}-a`),
  onSix.db(`${name}-b`),
  onSixTen.db(`${name}-c`),
]);
await quorum.createMutex('account').use(({ isHeld }) => {
  strictEqual(isHeld, true);
});
await quorum.close();
await Promise.all(providers.map((locks) => locks.close()));
await onSeven.db(name).dropDatabase();
await Promise.all(clients.map((client) => client.close()));
console.log('drivers 6.10, 6 and 7 in one process: compiled and run');
