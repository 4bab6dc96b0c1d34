// A process that stands for a job, writes down its runs, and dies in the middle of one when it is told to.
import { appendFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

import { MongoClient } from 'mongodb';

import { LockProvider } from '../../../src/index.js';
import { randomFrom } from '../../../lab/random.js';
import type { FleetLine, FleetTask } from './fleet-lines.js';

type Told<L> = L extends FleetLine ? Omit<L, 'pid' | 'atNs'> : never;

const { uri, database, log, everyMs, leaseMs, seed } = JSON.parse(process.argv[2] ?? '') as FleetTask;
const client = new MongoClient(uri);
const locks = new LockProvider(client.db(database), { leaseMs, createIndexes: false });
const random = randomFrom(seed);
// A failover makes commands fail, and a killed leader's fellows have nothing else to complain of.
locks.on('storeError', () => undefined);
let mustDie = false;
let runs = 0;

// In one write, which is appended as a whole.
function tell(line: Told<FleetLine>): void {
  const atNs = String(process.hrtime.bigint());
  appendFileSync(log, `${JSON.stringify({ pid: process.pid, atNs, ...line })}\n`);
}

/** Some runs take longer than the time to the next. */
const takingMs = (): number =>
  (runs += 1) % 20 === 0 ? 2.5 * everyMs : everyMs * (0.1 + random.between(0, 333) / 1_000);

const job = locks.createScheduledJob('fleet', {
  everyMs,
  run: async ({ firedAt }) => {
    const firedAtMs = firedAt.getTime();
    tell({ says: 'start', firedAtMs });
    await pause(takingMs());
    if (mustDie) {
      tell({ says: 'dies', firedAtMs });
      process.kill(process.pid, 'SIGKILL');
    }
    tell({ says: 'end', firedAtMs });
  },
});
job.on('missed', ({ count, first, last, why }) => {
  tell({ says: 'missed', count, firstMs: first.getTime(), lastMs: last.getTime(), why });
});
process.on('SIGUSR2', () => (mustDie = true));
process.once('SIGTERM', () => {
  void (async () => {
    await job.stop();
    await locks.close();
    await client.close();
  })();
});
await client.connect();
await job.start();
tell({ says: 'ready' });
