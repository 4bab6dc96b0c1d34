// The process that holds thousands of locks and waits hundreds of times for one.
import { setMaxListeners } from 'node:events';
import { MongoClient } from 'mongodb';
import { LockProvider } from '../../src/index.js';
import type { LockHandle } from '../../src/index.js';
import { serve } from '../remote-process.js';
import { sleep } from '../worker-process.js';

export interface Load {
  readonly leaseMs: number;
  readonly holds: number;
  /** Of one lock, in so many providers. */
  readonly waiters: number;
  readonly waitingProviders: number;
}

/** How the holds have fared; `leastLeftMs` is the least that any look found left of any of them. */
export interface Fared {
  readonly lost: number;
  readonly leastLeftMs: number;
}

interface Loaded {
  readonly clients: readonly MongoClient[];
  readonly providers: readonly LockProvider[];
  readonly holds: LockHandle[];
  readonly leaving: AbortController;
  readonly waits: readonly Promise<unknown>[];
  readonly looking: NodeJS.Timeout;
  leastLeftMs: number;
}

const AT_A_TIME = 100;
const LOOK_EVERY_MS = 250;

let loaded: Loaded | undefined;

const duties = {
  async takeUp(uri: string, dbName: string, load: Load): Promise<void> {
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
    const providers = [holder, ...crowd];
    loaded = { clients, providers, holds, leaving, waits, looking, leastLeftMs: Infinity };
  },

  async layDown(): Promise<Fared> {
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
    return { lost, leastLeftMs };
  },
};

export type OverloadDuties = typeof duties;

serve(duties);
