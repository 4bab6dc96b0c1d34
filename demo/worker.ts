// One process that wants the lock again and again, and tells the demo what it believes and when.
import { MongoClient } from 'mongodb';
import { ParentProcess, monotonicMs, sleep } from '../benchmarks/worker-process.js';
import { LockProvider } from '../src/index.js';
import type { LockHandle, Mutex } from '../src/index.js';
import { LOCK_NAME } from './messages.js';
import type { Order, Report } from './messages.js';

const stop = new AbortController();
let pace = { holdMs: 0, thinkMs: 0 };
let keepsNext = false;
let start!: () => void;
const started = new Promise<void>((resolve) => {
  start = resolve;
});

const parent = new ParentProcess<Order, Report>((order) => {
  switch (order.type) {
    case 'connect':
      run(order).catch((error: unknown) => {
        parent.report({ type: 'failed', message: error instanceof Error ? error.message : String(error) });
      });
      break;
    case 'pace':
      pace = order;
      start();
      break;
    case 'keep':
      keepsNext = true;
      break;
    case 'stop':
      stop.abort();
  }
});

async function run({ uri, collectionName, leaseMs }: Extract<Order, { type: 'connect' }>): Promise<void> {
  const client = new MongoClient(uri);
  try {
    const locks = new LockProvider(client.db(), { collectionName, leaseMs });
    locks.on('wakeups', ({ mode }) => {
      parent.report({ type: 'wakeups', mode });
    });
    locks.on('extended', ({ fencingToken, remainingMs }) => {
      parent.report({ type: 'extended', token: fencingToken, remainingMs });
    });
    // A look at the server connects, so that all start alike.
    await locks.inspect(LOCK_NAME);
    parent.report({ type: 'ready' });
    await started;
    const mutex = locks.createMutex(LOCK_NAME);
    while (!stop.signal.aborted) await holdOnce(mutex);
    await locks.close();
  } finally {
    await client.close();
  }
  parent.leave();
}

async function holdOnce(mutex: Mutex): Promise<void> {
  const askedMs = monotonicMs();
  const lock = await mutex.acquire({ signal: stop.signal, why: 'demo' }).catch(nullIfStopped);
  if (lock === null) return;
  const token = lock.fencingToken;
  parent.report({ type: 'granted', token, askedMs, atMs: monotonicMs(), keeps: keepsNext });
  lock.signal.addEventListener('abort', () => {
    parent.report({ type: 'ended', token, atMs: monotonicMs(), by: 'loss' });
  });
  await (keepsNext ? keep(lock) : sleep(pace.holdMs));
  const atMs = monotonicMs();
  const released = lock.release();
  parent.report({ type: 'ended', token, atMs, by: 'release' });
  await released;
  await sleep(pace.thinkMs);
}

function nullIfStopped(error: unknown): LockHandle | null {
  if (stop.signal.aborted && error === stop.signal.reason) return null;
  throw error;
}

/** Until the process ends. Asking goes on holding: a handle that nobody refers to any more is given back. */
async function keep(lock: LockHandle): Promise<never> {
  for (;;) {
    lock.assertHeld();
    await sleep(50);
  }
}
