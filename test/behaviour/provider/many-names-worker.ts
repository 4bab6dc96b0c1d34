// A process that uses many names in every way, each a few times, and never again. It has no reference to them afterwards.
import { setTimeout as pause } from 'node:timers/promises';
import { writeHeapSnapshot } from 'node:v8';

import { MongoClient } from 'mongodb';

import { LockProvider } from '../../../src/index.js';
import type { LockHandle } from '../../../src/index.js';
import { onOrders, task, tell } from '../../../lab/processes/parent.js';
import { OTHER, WAYS } from './many-names-lines.js';
import type { ManyNamesOrder, ManyNamesTask, Way } from './many-names-lines.js';

const { uri, database, wakeups, namesEach } = task() as ManyNamesTask;
/**
 * Long enough for a busy machine. Far shorter than the test looks, because a name is remembered while a lease or a request
 * that may still arrive needs it.
 */
const SOON = { leaseMs: 10_000, storeTimeoutMs: 10_000 };
const KEEP_MS = 50;

const provider = (): LockProvider =>
  new LockProvider(new MongoClient(uri).db(database), { wakeups, ...SOON });
const here = provider();
const there = provider();

const refused = (promise: Promise<unknown>): Promise<unknown> => promise.then(unexpected, () => undefined);
const unexpected = (): never => {
  throw new Error('it was granted');
};
const release = async (hold: Promise<LockHandle>): Promise<void> => {
  await (await hold).release();
};
const keptTwice = async (acquire: () => Promise<LockHandle>): Promise<void> => {
  await release(acquire());
  await release(acquire());
};

/** Does something under a lock of the other provider. */
async function whileBusy(name: string, work: (hold: LockHandle) => Promise<unknown>): Promise<void> {
  const hold = await there.acquireMutex(name);
  await work(hold);
  await hold.release();
}

const USES: Readonly<Record<Way, (name: string) => Promise<unknown>>> = {
  'a mutex': (name) => release(here.acquireMutex(name)),
  'the work of useMutex': (name) =>
    here.useMutex(name, () =>
      here.useMutex(`${name} nested`, () => release(here.acquireMutex(`${name} within`))),
    ),
  'a read': (name) => release(here.createReaderWriterLock(name).acquireRead()),
  'a write': (name) => release(here.createReaderWriterLock(name).acquireWrite()),
  'an upgrade': async (name) => {
    const hold = await here.createReaderWriterLock(name).acquireUpgradeableRead();
    await hold.upgrade();
    await hold.downgrade('read');
    await hold.release();
  },
  permits: async (name) => {
    const semaphore = here.createSemaphore(name, 3);
    await release(semaphore.acquire({ permits: 2 }));
    await semaphore.resize(2);
  },
  'a kept mutex': (name) => keptTwice(() => here.createMutex(name, { keepMs: KEEP_MS }).acquire()),
  'a kept read': (name) =>
    keptTwice(() => here.createReaderWriterLock(name, { keepMs: KEEP_MS }).acquireRead()),
  'a kept permit': (name) => keptTwice(() => here.createSemaphore(name, 2, { keepMs: KEEP_MS }).acquire()),
  'a try of a busy lock': (name) => whileBusy(name, () => here.tryAcquireMutex(name)),
  'a wait that times out': (name) =>
    whileBusy(name, () => refused(here.acquireMutex(name, { timeoutMs: 100 }))),
  'a wait that is aborted': (name) =>
    whileBusy(name, () => refused(here.acquireMutex(name, { signal: AbortSignal.timeout(100) }))),
  'a hand-over': async (name) => {
    const hold = await there.acquireMutex(name);
    const next = here.acquireMutex(name);
    await pause(50);
    await hold.release();
    await release(next);
  },
  'several locks at once': async (name) => {
    const names = [name, `${name} and another`];
    await (await here.acquireAll(names.map((each) => ({ mutex: here.createMutex(each) })))).release();
  },
  'an eviction': (name) =>
    whileBusy(name, async (hold) => {
      await here.revoke(name, { force: true });
      await refused(hold.confirm());
    }),
  'a revocation': (name) => whileBusy(name, () => here.revoke(name, { why: 'maintenance' })),
  'another kind': (name) => whileBusy(name, () => refused(here.createSemaphore(name, 2).acquire())),
  'an inspection': (name) => whileBusy(name, () => here.inspect(name)),
  'an abandoned handle': async (name) => {
    // eslint-disable-next-line no-restricted-syntax -- the handle is to be collected
    await here.acquireMutex(name);
  },
  'an election': async (name) => {
    const election = here.createLeaderElection(name, { candidateId: `candidate of ${name}` });
    await election.start();
    await election.untilElected();
    await election.leader();
    await election.stop();
  },
};

/** A string of its own: a heap snapshot does not show the text of one that was put together. */
const nameOf = (way: string, number: number): string => Buffer.from(`${way}#${String(number)}`).toString();

let abandoned = 0;

async function useAll(): Promise<void> {
  for (const way of WAYS) {
    await Promise.all(Array.from({ length: namesEach }, (_, number) => USES[way](nameOf(way, number))));
  }
  while (abandoned < namesEach) {
    globalThis.gc?.();
    await pause(100);
  }
}

/** Whatever remembers so many names has then forgotten those before. */
async function useOthers(count: number): Promise<void> {
  for (const locks of [here, there]) {
    let used = 0;
    const caller = async (): Promise<void> => {
      while (used < count) {
        used += 1;
        await release(locks.acquireMutex(nameOf(`${OTHER} of ${locks.processId}`, used)));
      }
    };
    await Promise.all(Array.from({ length: 128 }, caller));
  }
}

for (const locks of [here, there]) {
  for (const event of ['lost', 'storeError', 'releaseRequested'] as const) locks.on(event, () => undefined);
  locks.on('abandoned', () => (abandoned += 1));
}

onOrders((order: ManyNamesOrder) => {
  void obey(order).then(() => {
    tell({ says: order.does });
  });
});

async function obey(order: ManyNamesOrder): Promise<void> {
  if (order.does === 'use all') await useAll();
  else if (order.does === 'use others') await useOthers(order.count);
  else {
    globalThis.gc?.();
    writeHeapSnapshot(order.path);
  }
}
