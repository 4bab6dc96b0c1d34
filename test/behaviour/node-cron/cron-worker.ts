// A process of a fleet with a task of node-cron, which fires every second. It tells each run when it begins, and goes on
// with it until it is killed if it is told to.
import { MongoClient } from 'mongodb';
import cron from 'node-cron';

import { LockProvider } from '../../../src/index.js';
import { runCoordinator } from '../../../src/node-cron/index.js';
import { onOrders, task, tell as tellParent } from '../../../lab/processes/parent.js';
import type { CronLine, CronOrder, CronTask } from './cron-lines.js';

const { uri, database } = task() as CronTask;
const client = new MongoClient(uri);
const locks = new LockProvider(client.db(database), { createIndexes: false });
const tell: (line: CronLine) => void = tellParent;
let hangs = false;

cron.schedule(
  '* * * * * *',
  async ({ date }) => {
    tell({ says: 'runs', instantMs: date.getTime() });
    if (hangs) await new Promise(() => undefined);
  },
  // A busy machine may wake a process late; the fire then counts as missed without this.
  {
    name: 'every-second',
    distributed: true,
    runCoordinator: runCoordinator(locks),
    missedExecutionTolerance: 900,
  },
);

onOrders(({ does }: CronOrder) => {
  hangs = true;
  tell({ says: does });
});

tell({ says: 'ready' });
