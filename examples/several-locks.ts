// Several locks at once. A transfer locks both accounts or none. Two transfers in opposite directions do not deadlock:
// acquireAll takes the locks in the order of their names, whatever order the callers give.
import { LockProvider } from 'leasehold';
import { MongoClient } from 'mongodb';

const client = new MongoClient(process.env['MONGODB_URI'] ?? 'mongodb://localhost:27017');
const db = client.db(process.env['MONGODB_DATABASE'] ?? 'examples');
const locks = new LockProvider(db);

const accounts = db.collection<{ _id: string; cents: number }>('accounts');
for (const _id of ['Ann', 'Bob']) await accounts.replaceOne({ _id }, { cents: 100 }, { upsert: true });

async function balance(account: string): Promise<number> {
  return (await accounts.findOne({ _id: account }))?.cents ?? 0;
}

async function transfer(from: string, to: string, cents: number): Promise<void> {
  await using both = await locks.acquireAll(
    [{ mutex: locks.createMutex(`account:${from}`) }, { mutex: locks.createMutex(`account:${to}`) }],
    { timeoutMs: 10_000, why: 'transfer' },
  );
  if ((await balance(from)) < cents) {
    console.log(`${from} has less than ${cents} cents`);
    return;
  }
  both.assertHeld();
  await accounts.updateOne({ _id: from }, { $inc: { cents: -cents } });
  await accounts.updateOne({ _id: to }, { $inc: { cents } });
  console.log(`${from} pays ${cents} cents to ${to}`);
}

await Promise.all([transfer('Ann', 'Bob', 60), transfer('Bob', 'Ann', 30), transfer('Ann', 'Bob', 90)]);
console.log(`Ann has ${await balance('Ann')} cents, Bob has ${await balance('Bob')}`);

await locks.close();
await client.close();
