// A queue of tasks in a collection, with any number of workers. The tasks of one account are done one at a time and in
// their order; those of different accounts side by side. Start it in several terminals.
import { setTimeout as sleep } from 'node:timers/promises';
import { LockProvider, StaleTokenError, fencedUpdateOne } from 'leasehold';
import type { LockHandle } from 'leasehold';
import { MongoClient } from 'mongodb';

interface Task {
  readonly _id: string;
  readonly account: string;
  readonly number: number;
  readonly isDone: boolean;
}

const client = new MongoClient(process.env['MONGODB_URI'] ?? 'mongodb://localhost:27017');
const db = client.db(process.env['MONGODB_DATABASE'] ?? 'examples');
const locks = new LockProvider(db, { leaseMs: 3_000 });
const tasks = db.collection<Task>('tasks');

await addTasks();
for (;;) {
  const accounts = await tasks.distinct('account', { isDone: false });
  if (accounts.length === 0) break;
  let hasWorked = false;
  for (const account of accounts) hasWorked = (await workFor(account)) || hasWorked;
  if (!hasWorked) await sleep(50); // other workers have all the accounts
}
await locks.close();
await client.close();

/** Does the oldest task of the account, unless another worker has the account. */
async function workFor(account: string): Promise<boolean> {
  await using lock = await locks.tryAcquireMutex(`account:${account}`);
  if (lock === null) return false;
  const [task] = await tasks.find({ account, isDone: false }).sort({ number: 1 }).limit(1).toArray();
  if (task === undefined) return false;
  await perform(task, lock);
  return true;
}

async function perform(task: Task, lock: LockHandle): Promise<void> {
  try {
    await sleep(20, undefined, { signal: lock.signal }); // your work; a crash repeats it, so it must bear that
    // The token refuses this update if the lock was lost and a newer holder has done the task.
    await fencedUpdateOne(tasks, { _id: task._id }, { $set: { isDone: true } }, lock);
    console.log(`did ${task._id}`);
  } catch (error) {
    if (!lock.signal.aborted && !(error instanceof StaleTokenError)) throw error;
    console.log(`lost ${task._id}`); // another worker does it
  }
}

/** Three tasks for each of three accounts, once for all workers. */
async function addTasks(): Promise<void> {
  for (const account of ['ann', 'bob', 'cy']) {
    for (const number of [1, 2, 3]) {
      const _id = `${account}-${number}`;
      await tasks.updateOne({ _id }, { $setOnInsert: { account, number, isDone: false } }, { upsert: true });
    }
  }
}
