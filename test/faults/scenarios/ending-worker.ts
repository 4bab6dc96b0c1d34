// A process that holds one lock, waits for another, and ends as it is told.
import { MongoClient } from 'mongodb';

import { onOrders, task, tell } from '../../../lab/processes/parent.js';
import { LockProvider } from '../../../src/index.js';

/** What it is started with, as its one argument. */
export interface EndingTask {
  readonly uri: string;
  readonly database: string;
  readonly leaseMs: number;
  /** Whether it gives everything back when it is asked to end. */
  readonly isPolite: boolean;
}

/** How it is told to end. */
export type EndingOrder = 'exit' | 'throw' | 'reject' | 'close the client';

const { uri, database, leaseMs, isPolite } = task() as EndingTask;
const client = new MongoClient(uri);
const locks = new LockProvider(client.db(database), { leaseMs, createIndexes: false });

if (isPolite) {
  process.once('SIGTERM', () => {
    void locks.close({ drainMs: 2_000 }).then(() => client.close());
    stopListening();
  });
}

const stopListening = onOrders((order: EndingOrder) => {
  if (order === 'exit') process.exit(3);
  if (order === 'throw') throw new Error('as it was told');
  if (order === 'reject') void Promise.reject(new Error('as it was told'));
  if (order === 'close the client') {
    stopListening();
    void client.close();
  }
});

const hold = await locks.acquireMutex('mine');
hold.releaseRequested.addEventListener('abort', () => void hold.release());
locks.once('waiting', () => {
  tell({ says: 'waiting' });
});
// What it waits for never comes; what it rejects with is nobody's concern.
locks.acquireMutex('theirs').catch(() => undefined);
