// One of the processes in which many providers, each with a client of its own, wait for one lock that is held.
import { MongoClient } from 'mongodb';
import { LockProvider } from '../../src/index.js';
import { serve } from '../remote-process.js';
import { monotonicMs, sleep } from '../worker-process.js';

/** What has been sent since the last time that it was asked for. */
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
  /** Connects, and has used a lock: what comes after that is waiting and nothing else. */
  async connect(uri: string, dbName: string, count: number, leaseMs: number): Promise<void> {
    while (standbys.length < count) {
      const client = new MongoClient(uri, { monitorCommands: true });
      client.on('commandStarted', ({ commandName }) => {
        if (WRITES.has(commandName)) sent.writes += 1;
        // The only aggregation of the library opens a change stream.
        if (commandName === 'find') sent.reads += 1;
      });
      const locks = new LockProvider((await client.connect()).db(dbName), { leaseMs, createIndexes: false });
      await (await locks.acquireMutex(`own ${process.pid} ${standbys.length}`)).release();
      standbys.push({ client, locks });
    }
  },

  /** Everybody waits from now on; whose turn it is holds for so long, once. */
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

  /** When everybody has had a turn. */
  async turns(): Promise<readonly Turn[]> {
    return await Promise.all(waits);
  },

  async disconnect(): Promise<void> {
    await Promise.all(standbys.map(({ locks }) => locks.close()));
    await Promise.all(standbys.map(({ client }) => client.close()));
  },
};

export type StandbyDuties = typeof duties;

serve(duties);
