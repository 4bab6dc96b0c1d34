// The process that holds thousands of locks and waits hundreds of times for one.
import { setMaxListeners } from 'node:events';
import { MongoClient } from 'mongodb';
import { LockProvider } from '../src/index.js';
import type { LockHandle } from '../src/index.js';
import type { Load, Order, Report } from './overload-messages.js';
import { ParentProcess, sleep } from './worker-process.js';

const AT_A_TIME = 100;
const LOOK_EVERY_MS = 250;

interface Loaded {
  readonly clients: readonly MongoClient[];
  readonly providers: readonly LockProvider[];
  readonly holds: LockHandle[];
  readonly leaving: AbortController;
  readonly waits: readonly Promise<unknown>[];
  readonly looking: NodeJS.Timeout;
  leastLeftMs: number;
}

let loaded: Loaded | undefined;

const parent = new ParentProcess<Order, Report>((order) => {
  obey(order).then(
    (report) => {
      parent.report(report);
      if (order.type === 'end') parent.leave();
    },
    (error: unknown) => {
      const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
      parent.report({ type: 'failed', message });
    },
  );
});

async function obey(order: Order): Promise<Report> {
  switch (order.type) {
    case 'load':
      loaded = await takeUp(order.uri, order.dbName, order.load);
      return { type: 'loaded' };
    case 'unload':
      return await layDown();
    case 'end':
      return { type: 'ended' };
  }
}

async function takeUp(uri: string, dbName: string, load: Load): Promise<Loaded> {
  const { leaseMs, holds: count, waiters, waitingProviders } = load;
  const clients: MongoClient[] = [];
  const provider = (): LockProvider => {
    const client = new MongoClient(uri);
    clients.push(client);
    return new LockProvider(client.db(dbName), { leaseMs, createIndexes: false });
  };
  const holder = provider();
  const holds: LockHandle[] = [];
  while (holds.length < count) {
    const names = Array.from({ length: AT_A_TIME }, (_, index) => `held ${holds.length + index}`);
    holds.push(...(await Promise.all(names.map((name) => holder.acquireMutex(name)))));
  }
  holds.push(await holder.acquireMutex('hot'));
  const leaving = new AbortController();
  setMaxListeners(0, leaving.signal);
  const crowd = Array.from({ length: waitingProviders }, provider);
  const waits = Array.from({ length: waiters }, async (_, index) => {
    const locks = crowd[index % crowd.length];
    await locks?.acquireMutex('hot', { signal: leaving.signal }).catch(() => undefined);
  });
  while (((await holder.inspect('hot'))?.waiters.length ?? 0) < waiters) await sleep(20);
  const looking = setInterval(() => {
    const least = holds.reduce((min, { remainingMs }) => Math.min(min, remainingMs), Infinity);
    if (loaded !== undefined) loaded.leastLeftMs = Math.min(loaded.leastLeftMs, least);
  }, LOOK_EVERY_MS);
  return { clients, providers: [holder, ...crowd], holds, leaving, waits, looking, leastLeftMs: Infinity };
}

async function layDown(): Promise<Report> {
  if (loaded === undefined) throw new Error('there is no load');
  const { clients, providers, holds, leaving, waits, looking, leastLeftMs } = loaded;
  clearInterval(looking);
  const lost = holds.filter(({ isHeld }) => !isHeld).length;
  leaving.abort();
  await Promise.all(waits);
  while (holds.length > 0) await Promise.all(holds.splice(0, AT_A_TIME).map((hold) => hold.release()));
  await Promise.all(providers.map((provider) => provider.close()));
  await Promise.all(clients.map((client) => client.close()));
  loaded = undefined;
  return { type: 'unloaded', lost, leastLeftMs };
}
