// A process that holds many locks, and can wait many times for one of them. It needs --expose-gc to measure its heap.
import { setMaxListeners } from 'node:events';
import { MongoClient } from 'mongodb';
import { LockProvider } from '../../src/index.js';
import type { LockHandle } from '../../src/index.js';
import { sleep } from '../measure.js';
import { serve } from '../remote-process.js';

const AT_A_TIME = 100;
const LOOK_EVERY_MS = 50;

/** What it cost to hold the locks for some time, and how the holds fared. */
export interface Idle {
  readonly commands: number;
  readonly processorMs: number;
  /** The shortest remainder of any lease at any look, before the allowance for clocks. */
  readonly leastLeftMs: number;
  readonly lost: number;
  /** At the end, when no garbage of the requests is left. */
  readonly heapBytes: number;
}

const clients: MongoClient[] = [];
const providers: LockProvider[] = [];
const holds: LockHandle[] = [];
const leaving = new AbortController();
setMaxListeners(0, leaving.signal);
let place = { uri: '', dbName: '', leaseMs: 0 };
let waits: readonly Promise<unknown>[] = [];
let commands = 0;

const duties = {
  async connect(uri: string, dbName: string, leaseMs: number): Promise<void> {
    place = { uri, dbName, leaseMs };
    newProvider(true);
    // The first holds open connections and create the index, which are no cost of a hold.
    for (let turn = 0; turn < 10; turn += 1) {
      await duties.hold(AT_A_TIME);
      await giveBack();
    }
    await holder().ensureIndexes();
  },

  /** Acquires locks until it holds this many. They are named by their numbers, from `0` on. */
  async hold(count: number): Promise<void> {
    while (holds.length < count) {
      const names = Array.from({ length: Math.min(AT_A_TIME, count - holds.length) }, (_, index) =>
        String(holds.length + index),
      );
      holds.push(...(await Promise.all(names.map((name) => holder().acquireMutex(name)))));
    }
  },

  /** Waits this many times for the lock `0`, through this many other providers. */
  async crowd(waiters: number, providerCount: number): Promise<void> {
    const crowd = Array.from({ length: providerCount }, () => newProvider(false));
    waits = Array.from({ length: waiters }, async (_, index) => {
      const locks = crowd[index % crowd.length];
      await locks?.acquireMutex('0', { signal: leaving.signal }).catch(() => undefined);
    });
    while (((await holder().inspect('0'))?.waiters.length ?? 0) < waiters) await sleep(20);
  },

  /** Does nothing for this time. */
  async idle(forMs: number): Promise<Idle> {
    const [commandsBefore, before] = [commands, process.cpuUsage()];
    const endMs = performance.now() + forMs;
    let leastLeftMs = Number.MAX_VALUE;
    let lookedMs = 0;
    while (performance.now() < endMs) {
      const startedMs = performance.now();
      for (const { remainingMs } of holds) leastLeftMs = Math.min(leastLeftMs, remainingMs);
      lookedMs += performance.now() - startedMs;
      await sleep(Math.max(LOOK_EVERY_MS, holds.length / 20));
    }
    const { user, system } = process.cpuUsage(before);
    return {
      commands: commands - commandsBefore,
      // The looks themselves are no cost of holding.
      processorMs: (user + system) / 1_000 - lookedMs,
      leastLeftMs,
      lost: holds.filter(({ isHeld }) => !isHeld).length,
      heapBytes: await heapBytes(),
    };
  },

  async close(): Promise<void> {
    leaving.abort();
    await Promise.all(waits);
    await giveBack();
    await Promise.all(providers.map((locks) => locks.close()));
    await Promise.all(clients.map((client) => client.close()));
  },
};

export type HolderDuties = typeof duties;

serve(duties);

function newProvider(countsCommands: boolean): LockProvider {
  const { uri, dbName, leaseMs } = place;
  const client = new MongoClient(uri, { monitorCommands: countsCommands });
  client.on('commandStarted', () => {
    commands += 1;
  });
  const locks = new LockProvider(client.db(dbName), { leaseMs });
  clients.push(client);
  providers.push(locks);
  return locks;
}

function holder(): LockProvider {
  const [first] = providers;
  if (first === undefined) throw new Error('connect was not called');
  return first;
}

async function giveBack(): Promise<void> {
  while (holds.length > 0) await Promise.all(holds.splice(0, AT_A_TIME).map((hold) => hold.release()));
}

async function heapBytes(): Promise<number> {
  const { gc } = globalThis;
  if (gc === undefined) throw new Error('this program needs --expose-gc');
  // Objects with finalisers are freed only by a later collection.
  for (let turn = 0; turn < 3; turn += 1) {
    gc();
    await sleep(20);
  }
  return process.memoryUsage().heapUsed;
}
