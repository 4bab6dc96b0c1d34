// A process in which many providers, each with a client of its own, wait for one held lock.
import { MongoClient } from 'mongodb';
import { LockProvider } from '../../src/index.js';
import { monotonicMs, sleep } from '../measure.js';
import { serve } from '../remote-process.js';

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

interface Standby {
  readonly client: MongoClient;
  readonly locks: LockProvider;
}

const standbys: Standby[] = [];
let waits: readonly Promise<Turn>[] = [];
let sent = { writes: 0, reads: 0 };

const WRITES: ReadonlySet<string> = new Set(['findAndModify', 'update', 'insert', 'delete']);

const duties = {
  /** Each provider connects and uses a lock once, so that afterwards it only waits. */
  async connect(uri: string, dbName: string, count: number, leaseMs: number): Promise<void> {
    while (standbys.length < count) {
      const client = new MongoClient(uri, { monitorCommands: true });
      client.on('commandStarted', ({ commandName }) => {
        if (WRITES.has(commandName)) sent.writes += 1;
        // The only aggregation of the library opens a change stream, so every read is a find.
        if (commandName === 'find') sent.reads += 1;
      });
      const locks = new LockProvider((await client.connect()).db(dbName), { leaseMs, createIndexes: false });
      await (await locks.acquireMutex(`own ${process.pid} ${standbys.length}`)).release();
      standbys.push({ client, locks });
    }
  },

  /** Every provider begins to wait. When its turn comes, it holds for this time, once. */
  async wait(name: string, holdMs: number): Promise<void> {
    waits = standbys.map(async ({ locks }) => {
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

  async sent(): Promise<Sent> {
    const until = sent;
    sent = { writes: 0, reads: 0 };
    return Promise.resolve(until);
  },

  /** Resolves when every provider has had its turn. */
  async turns(): Promise<readonly Turn[]> {
    return await Promise.all(waits);
  },

  async close(): Promise<void> {
    await Promise.all(standbys.map(({ locks }) => locks.close()));
    await Promise.all(standbys.map(({ client }) => client.close()));
  },
};

export type StandbyDuties = typeof duties;

serve(duties);
