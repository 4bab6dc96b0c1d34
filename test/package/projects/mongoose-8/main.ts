import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert';

import { LockProvider, StaleTokenError, fencedTransaction, fencedUpdateOne } from 'leasehold';
import { QuorumLockProvider } from 'leasehold/quorum';
import mongoose from 'mongoose';

import { Product, sell } from './stock.js';

const Account = mongoose.model('Account', new mongoose.Schema({ owner: String, balance: Number }));

await mongoose.connect(process.env['MONGODB_URI'] ?? '', { dbName: `mongoose-${String(process.pid)}` });
const { connection } = mongoose;
const { db } = connection;
ok(db);
const locks = new LockProvider(db);
const { _id } = await Account.create({ owner: 'a', balance: 0 });

const old = await locks.acquireMutex('account');
await old.release();
const lock = await locks.acquireMutex('account');
const result = await fencedUpdateOne(Account.collection, { _id }, { $inc: { balance: 1 } }, lock);
strictEqual(result.matchedCount, 1);
await rejects(fencedUpdateOne(Account.collection, { _id }, { $inc: { balance: 1 } }, old), StaleTokenError);
const doubled = await fencedTransaction(connection.getClient(), lock, async (session) => {
  const account = await Account.findById(_id).session(session);
  ok(account);
  account.balance = 2 * (account.balance ?? 0);
  await account.save({ session });
  return account.balance;
});
strictEqual(doubled, 2);
await lock.release();

await Product.create({ sku: 'tea', inStock: 10 });
const left = await Promise.all([1, 2, 3].map(() => sell(locks, 'tea', 3)));
deepStrictEqual(
  left.sort((a, b) => a - b),
  [1, 4, 7],
);
await rejects(sell(locks, 'tea', 3), RangeError);

const client = connection.getClient();
const quorum = new QuorumLockProvider(['a', 'b', 'c'].map((name) => client.db(`mongoose-${name}`)));
await quorum.createMutex('account').use(({ isHeld }) => {
  strictEqual(isHeld, true);
});
await quorum.close();
await locks.close();
await db.dropDatabase();
await mongoose.disconnect();
console.log(`Mongoose ${mongoose.version}: compiled and run`);
