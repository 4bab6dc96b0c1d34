// A mutex. One of the processes that run this program works at a time; the others queue in the order of their requests.
// Start it in several terminals. Kill the process that holds the lock: the next one gets it when the lease expires.
import { setTimeout as sleep } from 'node:timers/promises';
import { LockProvider } from 'leasehold';
import { MongoClient } from 'mongodb';

const ROUNDS = 3;
const WORK_MS = 500;

const client = new MongoClient(process.env['MONGODB_URI'] ?? 'mongodb://localhost:27017');
const db = client.db(process.env['MONGODB_DATABASE'] ?? 'examples');
const locks = new LockProvider(db, { leaseMs: 3_000 });

for (let round = 0; round < ROUNDS; round += 1) {
  console.log('asks');
  await locks.useMutex('daily-report', async ({ fencingToken, signal }) => {
    console.log(`holds ${fencingToken}`);
    await sleep(WORK_MS, undefined, { signal }); // your work; the signal ends it early if the lock is lost
    console.log(`releases ${fencingToken}`);
  });
}

await locks.close();
await client.close();
