// A process that holds many locks, and can wait many times for one of them.
import type { LockHandle, LockProvider } from '../../src/index.js';
import { sleep } from '../measure.js';
import { newProvider } from './connections.js';
import { heapBytes } from './heap.js';

const AT_A_TIME = 100;
const LOOK_EVERY_MS = 50;

/** The cost of holding the locks for some time, and the state of the holds after it. */
export interface Idle {
  readonly commands: number;
  readonly processorMs: number;
  /** The shortest remainder of any lease at any look, before the allowance for clocks. */
  readonly leastLeftMs: number;
  readonly lost: number;
  /** At the end, when no garbage of the requests is left. */
  readonly heapBytes: number;
}

const holds: LockHandle[] = [];
let locks: LockProvider | undefined;
let crowd: readonly LockProvider[] = [];
let commands = 0;

export const holder = {
  /** The first holds open connections and create the index, which are no cost of a hold. */
  async prepare(leaseMs: number): Promise<void> {
    locks = newProvider({ leaseMs }, () => {
      commands += 1;
    });
    for (let turn = 0; turn < 10; turn += 1) {
      await holder.hold(AT_A_TIME);
      await releaseAll();
    }
    await locks.ensureIndexes();
  },

  /** Acquires locks until it holds this many. They are named by their numbers, from `0` on. */
  async hold(count: number): Promise<void> {
    while (holds.length < count) {
      const length = Math.min(AT_A_TIME, count - holds.length);
      const names = Array.from({ length }, (_, index) => String(holds.length + index));
      holds.push(...(await Promise.all(names.map((name) => prepared().acquireMutex(name)))));
    }
  },

  /** Waits this many times for the lock `0`, through this many other providers. */
  async crowd(waiters: number, providerCount: number, leaseMs: number): Promise<void> {
    crowd = Array.from({ length: providerCount }, () => newProvider({ leaseMs }));
    for (let waiter = 0; waiter < waiters; waiter += 1) {
      crowd[waiter % providerCount]?.acquireMutex('0').catch(() => undefined);
    }
    while (((await prepared().inspect('0'))?.waiters.length ?? 0) < waiters) await sleep(20);
  },

  /** Does nothing for this time. */
  async idle(forMs: number): Promise<Idle> {
    const [commandsBefore, before] = [commands, process.cpuUsage()];
    const endMs = performance.now() + forMs;
    let leastLeftMs = Infinity;
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

  /** Ends the waits by closing their providers, then releases all holds. */
  async giveBack(): Promise<void> {
    await Promise.all(crowd.map((each) => each.close()));
    await releaseAll();
  },
};

function prepared(): LockProvider {
  if (locks === undefined) throw new Error('prepare was not called');
  return locks;
}

async function releaseAll(): Promise<void> {
  while (holds.length > 0) await Promise.all(holds.splice(0, AT_A_TIME).map((hold) => hold.release()));
}
