// A fenced update. A process stands still for longer than its lease, continues, and still believes that it holds the
// lock. MongoDB compares the fencing tokens in the update itself and refuses the older one.
import { fencedUpdateOne, LockProvider, StaleTokenError } from 'leasehold';
import type { LockHandle } from 'leasehold';
import { MongoClient } from 'mongodb';

const client = new MongoClient(process.env['MONGODB_URI'] ?? 'mongodb://localhost:27017');
const db = client.db(process.env['MONGODB_DATABASE'] ?? 'examples');
const here = new LockProvider(db);
const there = new LockProvider(db); // stands for another process

const stock = db.collection<{ _id: string; pieces: number }>('stock');
const lamp = { _id: 'lamp' };
await stock.replaceOne(lamp, { pieces: 10 }, { upsert: true });

async function sell(pieces: number, lock: LockHandle): Promise<void> {
  await fencedUpdateOne(stock, lamp, { $set: {} }, lock); // before the read: from here on older holders are refused
  const left = (await stock.findOne(lamp))?.pieces ?? 0;
  await fencedUpdateOne(stock, lamp, { $set: { pieces: left - pieces } }, lock);
  console.log(`sold ${pieces}, ${left - pieces} left`);
}

here.on('lost', ({ why }) => {
  console.log(`the first holder hears of its loss: ${why}`);
});
const first = await here.acquireMutex('stock:lamp');
await there.revoke('stock:lamp', { force: true }); // takes the lock away, as an expired lease would
const second = await there.acquireMutex('stock:lamp');

await sell(5, second);
try {
  await sell(3, first);
} catch (error) {
  if (!(error instanceof StaleTokenError)) throw error;
  console.log('refused: a newer holder has written');
}

await Promise.all([first.release(), second.release()]);
await Promise.all([here.close(), there.close()]);
await client.close();
