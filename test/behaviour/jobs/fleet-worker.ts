// A process that stands for a job, writes down its runs, and dies in the middle of one when it is told to.
import { MongoClient } from 'mongodb';

import { LockProvider } from '../../../src/index.js';
import { pause } from '../../../lab/patience.js';
import { nowNs, onOrders, task, tell as tellParent } from '../../../lab/processes/parent.js';
import { randomFrom } from '../../../lab/random.js';
import type { FleetLine, FleetOrder, FleetTask } from './fleet-lines.js';

type Told<L> = L extends FleetLine ? Omit<L, 'atNs'> : never;

const { uri, database, everyMs, leaseMs, seed } = task() as FleetTask;
const client = new MongoClient(uri);
const locks = new LockProvider(client.db(database), { leaseMs, createIndexes: false });
const random = randomFrom(seed);
// A failover makes commands fail, and a killed leader's fellows have nothing else to complain of.
locks.on('storeError', () => undefined);
// In a slow failover, the lease of the leader may expire.
locks.on('lost', () => undefined);
let mustDie = false;
let runs = 0;

function tell(line: Told<FleetLine>): void {
  tellParent({ atNs: nowNs(), ...line });
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
// A request to lead that a failover leaves without an answer is made again.
job.election.on('error', (error) => {
  if ((error as { code?: unknown }).code !== 'STORE_UNAVAILABLE') console.error(error);
});
job.on('missed', ({ count, first, last, why }) => {
  tell({ says: 'missed', count, firstMs: first.getTime(), lastMs: last.getTime(), why });
});
async function stop(): Promise<void> {
  stopListening();
  await job.stop();
  await locks.close();
  await client.close();
}

const stopListening = onOrders((order: FleetOrder) => {
  if (order.do === 'die') mustDie = true;
  else void stop();
});
await client.connect();
await job.start();
tell({ says: 'ready' });
