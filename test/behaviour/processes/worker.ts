// A process that does what it is told with one lock, and tells what happens to it.
import { MongoClient } from 'mongodb';

import { LockLostError, LockProvider } from '../../../src/index.js';
import type { LockHandle } from '../../../src/index.js';
import { pause } from '../../../lab/patience.js';
import { nowNs, onOrders, task, tell as tellParent } from '../../../lab/processes/parent.js';
import { PERMITS } from './worker-lines.js';
import type { HeldAs, Line, Order, WorkerTask } from './worker-lines.js';

const LOOK_EVERY_MS = 10;

const { uri, database, lockName, heldAs, options } = task() as WorkerTask;
const client = new MongoClient(uri);
const locks = new LockProvider(client.db(database), options);
// Losses and a store that is away are what the tests are about; they look at signals and answers.
for (const event of ['lost', 'storeError'] as const) locks.on(event, () => undefined);
const lock = open(heldAs);
let hold: LockHandle | null = null;
let watching: NodeJS.Timeout | undefined;

interface Lock {
  acquire(): Promise<LockHandle>;
  tryAcquire(): Promise<LockHandle | null>;
}

function open(as: HeldAs): Lock {
  switch (as) {
    case 'mutex':
      return locks.createMutex(lockName);
    case 'permit':
      return locks.createSemaphore(lockName, PERMITS);
    case 'read': {
      const readerWriter = locks.createReaderWriterLock(lockName);
      return {
        acquire: () => readerWriter.acquireRead(),
        tryAcquire: () => readerWriter.tryAcquireRead(),
      };
    }
  }
}

const tell: (line: Line) => void = tellParent;

async function take(ask: () => Promise<LockHandle | null>): Promise<void> {
  tell({ says: 'asking', atNs: nowNs() });
  const granted = await ask().catch((error: unknown) => error);
  const atNs = nowNs();
  if (granted === null || granted instanceof Error) {
    const code = (granted as { code?: unknown } | null)?.code;
    tell({ says: 'not granted', atNs, code: typeof code === 'string' ? code : String(granted) });
    return;
  }
  const mine = granted as LockHandle;
  hold = mine;
  const { fencingToken: token, remainingMs } = mine;
  mine.signal.addEventListener('abort', () => {
    tell({ says: 'signalled', atNs: nowNs(), why: (mine.signal.reason as LockLostError).why });
  });
  tell({ says: 'granted', atNs, token, remainingMs });
}

async function giveBack(): Promise<void> {
  // The belief ends before the release is sent.
  tell({ says: 'releasing', atNs: nowNs() });
  const wasHeld = (await hold?.release()) ?? false;
  hold = null;
  tell({ says: 'released', atNs: nowNs(), wasHeld });
}

function look(says: 'look' | 'look after blocking'): void {
  if (hold === null) return;
  const fromNs = nowNs();
  const { isHeld, remainingMs } = hold;
  const { aborted } = hold.signal;
  let asserts = true;
  try {
    hold.assertHeld();
  } catch {
    asserts = false;
  }
  tell({ says, fromNs, atNs: nowNs(), isHeld, remainingMs, aborted, asserts });
}

function block(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
  look('look after blocking');
}

async function rounds(count: number): Promise<void> {
  for (let round = 0; round < count; round += 1) {
    await take(() => lock.acquire());
    await pause(1);
    look('look');
    await giveBack();
  }
}

async function end(close: readonly ('provider' | 'client')[]): Promise<void> {
  clearInterval(watching);
  stopListening();
  for (const what of close) await (what === 'provider' ? locks.close({ drainMs: 100 }) : client.close());
  tell({ says: 'ending', atNs: nowNs() });
}

async function obey(order: Order): Promise<void> {
  switch (order.do) {
    case 'acquire':
      await take(() => lock.acquire());
      break;
    case 'try':
      await take(() => lock.tryAcquire());
      break;
    case 'release':
      await giveBack();
      break;
    case 'look':
      look('look');
      break;
    case 'watch':
      watching = setInterval(() => {
        look('look');
      }, LOOK_EVERY_MS);
      break;
    case 'block':
      block(order.ms);
      break;
    case 'rounds':
      await rounds(order.count);
      break;
    case 'end':
      await end(order.close);
      break;
    case 'exit':
      // Without a release, as a program does that ends by an uncaught error.
      process.exit(3);
  }
}

locks.on('waiting', () => {
  tell({ says: 'waiting', atNs: nowNs() });
});
const stopListening = onOrders((order: Order) => void obey(order));
await client.connect();
tell({ says: 'ready', atNs: nowNs() });
