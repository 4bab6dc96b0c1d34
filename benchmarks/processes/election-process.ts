// A candidate in a process of its own, which leads and hands its term over.
import { MongoClient } from 'mongodb';
import { LockProvider } from '../../src/index.js';
import type { LeaderElection } from '../../src/index.js';
import { monotonicMs, sleep } from '../measure.js';
import { serve } from '../remote-process.js';

let client: MongoClient | undefined;
let locks: LockProvider | undefined;
let election: LeaderElection | undefined;
let electedAtMs = 0;

const duties = {
  async connect(uri: string): Promise<void> {
    client = await new MongoClient(uri).connect();
  },

  /** The provider is a new one, so that no stream is open when something else is measured. */
  async stand(dbName: string, candidateId: string): Promise<void> {
    if (client === undefined) throw new Error('connect was not called');
    locks = new LockProvider(client.db(dbName));
    election = locks.createLeaderElection('benchmark', {
      candidateId,
      onElected: () => {
        electedAtMs = monotonicMs();
      },
    });
    await election.start();
  },

  /** Waits for `onElected`, and returns when it was called. */
  async elected(): Promise<number> {
    await election?.untilElected();
    return electedAtMs;
  },

  /** Returns the moment just before the call that handed over. */
  async handOver(to: string): Promise<number> {
    for (;;) {
      const startedMs = monotonicMs();
      if (await election?.handOverTo(to)) return startedMs;
      // The named candidate has just led, and is not back in the queue yet.
      await sleep(2);
    }
  },

  async leave(): Promise<void> {
    await locks?.close();
  },

  async close(): Promise<void> {
    await client?.close();
  },
};

export type ElectionDuties = typeof duties;

serve(duties);
