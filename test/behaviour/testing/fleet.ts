import type { Db } from 'mongodb';
import { LockProvider } from '../../../src/index.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';

/** One process of a fleet. */
export interface Member {
  readonly db: Db;
  readonly locks: LockProvider;
  /** Lets virtual time pass for this process. */
  sleep(ms: number): Promise<void>;
}

/** Lets time pass until the promise settles, at most so long. */
export async function untilSettled<T>(
  set: MemoryReplicaSet,
  promise: Promise<T>,
  mostMs = 300_000,
): Promise<T> {
  const progress = { isOver: false };
  const end = (): void => {
    progress.isOver = true;
  };
  promise.then(end, end);
  await set.settle();
  for (let ms = 0; !progress.isOver && ms < mostMs; ms += 250) await set.advance(250);
  if (!progress.isOver) throw new Error(`not settled after ${mostMs} ms of virtual time (seed ${set.seed})`);
  return await promise;
}

/** Three processes that use one set in virtual time. */
export class Fleet {
  readonly set: MemoryReplicaSet;
  readonly members: readonly Member[];
  /** What the processes report about the store. */
  readonly reports: string[] = [];

  constructor(seed: number, leaseMs = 10_000) {
    this.set = new MemoryReplicaSet({ time: 'virtual', seed });
    this.members = [1, 2, 3].map(() => {
      const db = this.set.db('app');
      const locks = new LockProvider(db, { leaseMs });
      locks.on('lost', () => undefined);
      locks.on('storeError', ({ error }) => void this.reports.push(String(error)));
      return { db, locks, sleep: (ms) => this.set.sleep(ms, db) };
    });
  }

  /** Runs the work so often in each process. Work that fails is tried again. */
  async work(rounds: number, work: (member: Member) => Promise<void>): Promise<void> {
    await Promise.all(
      this.members.map(async (member) => {
        for (let done = 0; done < rounds;) {
          const isDone = await work(member).then(
            () => true,
            () => false,
          );
          if (isDone) done += 1;
          else await member.sleep(100);
        }
      }),
    );
  }

  /** Lets time pass until the promise settles, at most so long. */
  async until<T>(promise: Promise<T>, mostMs = 300_000): Promise<T> {
    return await untilSettled(this.set, promise, mostMs);
  }

  async close(): Promise<void> {
    await this.until(Promise.all(this.members.map(({ locks }) => locks.close({ drainMs: 0 }))));
    await this.set.close();
  }
}
