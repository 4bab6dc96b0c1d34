// One process that wants the lock again and again, and tells the demo what it believes and when.
import { MongoClient } from 'mongodb';
import { ParentProcess, monotonicMs, sleep } from '../benchmarks/worker-process.js';
import { LockLostError, LockProvider } from '../src/index.js';
import type { LockHandle, Mutex } from '../src/index.js';
import { LOCK_NAME } from './messages.js';
import type { Order, Report } from './messages.js';

const stop = new AbortController();
let pace = { holdMs: 0, thinkMs: 0 };
let keepNext = false;
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
      keepNext = true;
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
    // The first look at the server also connects, so that all start alike.
    await locks.inspect(LOCK_NAME);
    parent.report({ type: 'ready' });
    await started;
    while (!stop.signal.aborted) await holdOnce(locks.createMutex(LOCK_NAME));
    await locks.close();
  } finally {
    await client.close();
  }
  parent.leave();
}

async function holdOnce(mutex: Mutex): Promise<void> {
  const askedMs = monotonicMs();
  const lock = await mutex.acquire({ signal: stop.signal, why: 'demo' }).catch(ignoreStop);
  if (lock === null) return;
  const token = lock.fencingToken;
  parent.report({ type: 'granted', token, askedMs, atMs: monotonicMs() });
  lock.signal.addEventListener('abort', () => {
    const why = lock.signal.reason instanceof LockLostError ? lock.signal.reason.why : 'unknown';
    parent.report({ type: 'lost', token, atMs: monotonicMs(), why });
  });
  await (keepNext ? forEver() : sleep(pace.holdMs));
  const atMs = monotonicMs();
  const released = lock.release();
  parent.report({ type: 'released', token, atMs });
  await released;
  await sleep(pace.thinkMs);
}

function ignoreStop(error: unknown): LockHandle | null {
  if (stop.signal.aborted && error === stop.signal.reason) return null;
  throw error;
}

const forEver = (): Promise<never> => new Promise(() => undefined);
