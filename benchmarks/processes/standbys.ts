// Many providers, each with a client of its own, that wait for one held lock.
import type { LockProvider } from '../../src/index.js';
import { monotonicMs, sleep } from '../measure.js';
import { newProvider } from './connections.js';
import { isWrite } from './holds.js';

/** The commands that were sent since the last count. */
export interface Sent {
  readonly writes: number;
  readonly reads: number;
}

/** The turn of one provider. */
export interface Turn {
  readonly token: number;
  readonly grantedMs: number;
  /** The moment just before the release call. */
  readonly releasedMs: number;
}

const providers: LockProvider[] = [];
let waits: readonly Promise<Turn>[] = [];
let sent = { writes: 0, reads: 0 };

export const standbys = {
  /** Each provider uses a lock once, so that afterwards it only waits. */
  async gather(count: number, leaseMs: number): Promise<void> {
    while (providers.length < count) {
      const locks = newProvider({ leaseMs, createIndexes: false }, (name) => {
        if (isWrite(name)) sent.writes += 1;
        // The only aggregation of the library opens a change stream, so every read is a find.
        if (name === 'find') sent.reads += 1;
      });
      await (await locks.acquireMutex(`own ${process.pid} ${providers.length}`)).release();
      providers.push(locks);
    }
  },

  /** Every provider begins to wait. When its turn comes, it holds for this time, once. */
  wait(name: string, holdMs: number): Promise<void> {
    waits = providers.map(async (locks) => {
      const lock = await locks.acquireMutex(name);
      const grantedMs = monotonicMs();
      await sleep(holdMs);
      const releasedMs = monotonicMs();
      await lock.release();
      return { token: lock.fencingToken, grantedMs, releasedMs };
    });
    for (const wait of waits) wait.catch(() => undefined);
    return Promise.resolve();
  },

  sent(): Promise<Sent> {
    const until = sent;
    sent = { writes: 0, reads: 0 };
    return Promise.resolve(until);
  },

  /** Resolves when every provider has had its turn. */
  turns(): Promise<readonly Turn[]> {
    return Promise.all(waits);
  },
};
