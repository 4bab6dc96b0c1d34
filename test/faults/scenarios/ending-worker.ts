// A process that holds one lock, waits for another, and ends as it is told.
import { createInterface } from 'node:readline';

import { MongoClient } from 'mongodb';

import { LockProvider } from '../../../src/index.js';

/** What it is started with, as its one argument. */
export interface EndingTask {
  readonly uri: string;
  readonly database: string;
  readonly leaseMs: number;
  /** Whether it gives everything back when it is asked to end. */
  readonly isPolite: boolean;
}

const { uri, database, leaseMs, isPolite } = JSON.parse(process.argv[2] ?? '') as EndingTask;
const client = new MongoClient(uri);
const locks = new LockProvider(client.db(database), { leaseMs, createIndexes: false });

if (isPolite) {
  process.once('SIGTERM', () => {
    void locks.close({ drainMs: 2_000 }).then(() => client.close());
    input.close();
    process.stdin.destroy();
  });
}

const input = createInterface({ input: process.stdin });
input.on('line', (order) => {
  if (order === 'exit') process.exit(3);
  if (order === 'throw') throw new Error('as it was told');
  if (order === 'reject') void Promise.reject(new Error('as it was told'));
  if (order === 'close the client') {
    input.close();
    process.stdin.destroy();
    void client.close();
  }
});

const hold = await locks.acquireMutex('mine');
hold.releaseRequested.addEventListener('abort', () => void hold.release());
locks.once('waiting', () => {
  process.stdout.write('waiting\n');
});
// What it waits for never comes; what it rejects with is nobody's concern.
locks.acquireMutex('theirs').catch(() => undefined);
