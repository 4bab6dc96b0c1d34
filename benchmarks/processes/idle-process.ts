// The process that holds many locks and does nothing else. Run with --expose-gc, so that its heap can be told.
import { MongoClient } from 'mongodb';
import { LockProvider } from '../../src/index.js';
import type { LockHandle } from '../../src/index.js';
import { serve } from '../remote-process.js';
import { sleep } from '../worker-process.js';

const AT_A_TIME = 100;
const LOOK_EVERY_MS = 50;

/** What a time of holding has cost. */
export interface Idle {
  readonly commands: number;
  readonly processorMs: number;
  /** The least that any look found left of any lease, before the allowance for clocks. */
  readonly leastLeftMs: number;
  readonly lost: number;
  /** At its end, when nothing is left of the requests. */
  readonly heapBytes: number;
}

let client: MongoClient | undefined;
let locks: LockProvider | undefined;
let commands = 0;
const holds: LockHandle[] = [];

const duties = {
  async connect(uri: string, dbName: string, leaseMs: number): Promise<void> {
    client = new MongoClient(uri, { monitorCommands: true });
    client.on('commandStarted', () => {
      commands += 1;
    });
    locks = new LockProvider((await client.connect()).db(dbName), { leaseMs });
    // The first holds make connections and the index, which are no cost of a hold.
    for (let turn = 0; turn < 10; turn += 1) {
      await duties.hold(AT_A_TIME);
      await giveBack();
    }
    await locks.ensureIndexes();
  },

  /** Holds so many locks from now on. */
  async hold(count: number): Promise<void> {
    while (holds.length < count) {
      const names = Array.from({ length: Math.min(AT_A_TIME, count - holds.length) }, (_, index) =>
        String(holds.length + index),
      );
      holds.push(...(await Promise.all(names.map((name) => provider().acquireMutex(name)))));
    }
  },

  /** Does nothing for so long. */
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
      // Looking is not what holding costs.
      processorMs: (user + system) / 1_000 - lookedMs,
      leastLeftMs,
      lost: holds.filter(({ isHeld }) => !isHeld).length,
      heapBytes: await heapBytes(),
    };
  },

  async letGo(): Promise<void> {
    await giveBack();
    await locks?.close();
    await client?.close();
  },
};

export type IdleDuties = typeof duties;

serve(duties);

function provider(): LockProvider {
  if (locks === undefined) throw new Error('not connected yet');
  return locks;
}

async function giveBack(): Promise<void> {
  while (holds.length > 0) await Promise.all(holds.splice(0, AT_A_TIME).map((hold) => hold.release()));
}

async function heapBytes(): Promise<number> {
  const { gc } = globalThis;
  if (gc === undefined) throw new Error('to be run with --expose-gc');
  // What waits to be finalised is gone only in the collection after.
  for (let turn = 0; turn < 3; turn += 1) {
    gc();
    await sleep(20);
  }
  return process.memoryUsage().heapUsed;
}
