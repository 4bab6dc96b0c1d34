// An election and a job. One of the processes that run this program leads, and the leader runs the job. When the leader
// stops or dies, another process leads and continues the schedule. Each instant of the schedule runs at most once.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { LockProvider } from 'leasehold';
import { MongoClient } from 'mongodb';

const LIFETIME_MS = 3_000;

const client = new MongoClient(process.env['MONGODB_URI'] ?? 'mongodb://localhost:27017');
const db = client.db(process.env['MONGODB_DATABASE'] ?? 'examples');
const locks = new LockProvider(db);

const election = locks.createLeaderElection('reports', {
  onElected: ({ fencingToken }) => {
    console.log(`leads, token ${fencingToken}`);
  },
  onDeposed: () => {
    console.log('leads no more');
  },
});
const job = locks.createScheduledJob('report', {
  election,
  everyMs: 500,
  run: ({ firedAt }) => {
    console.log(`reports for ${firedAt.toISOString()}`);
  },
});
job.on('missed', ({ count, why }) => {
  console.log(`missed ${count}: ${why}`);
});
await job.start(); // starts the election too

// A service runs until it is told to end. This program also ends by itself, and the next process leads at once.
await Promise.race([once(process, 'SIGTERM'), sleep(LIFETIME_MS)]);

await locks.close();
await client.close();
