// A candidate in a process of its own, which leads, and hands its term over.
import { MongoClient } from 'mongodb';
import { LockProvider } from '../../src/index.js';
import type { LeaderElection } from '../../src/index.js';
import { serve } from '../remote-process.js';
import { monotonicMs, sleep } from '../worker-process.js';

let client: MongoClient | undefined;
let locks: LockProvider | undefined;
let election: LeaderElection | undefined;
let electedAtMs = 0;

const duties = {
  async connect(uri: string): Promise<void> {
    client = await new MongoClient(uri).connect();
  },

  /** By a provider of its own, so that no stream is open when something else is measured. */
  async stand(dbName: string, candidateId: string): Promise<void> {
    if (client === undefined) throw new Error('not connected yet');
    locks = new LockProvider(client.db(dbName));
    election = locks.createLeaderElection('benchmark', {
      candidateId,
      onElected: () => {
        electedAtMs = monotonicMs();
      },
    });
    await election.start();
  },

  /** When `onElected` was called, as soon as it was. */
  async elected(): Promise<number> {
    await election?.untilElected();
    return electedAtMs;
  },

  /** When it was told to, just before it did. */
  async handOver(to: string): Promise<number> {
    for (;;) {
      const startedMs = monotonicMs();
      if (await election?.handOverTo(to)) return startedMs;
      // It has just led itself, and is not back in the queue yet.
      await sleep(2);
    }
  },

  async leave(): Promise<void> {
    await locks?.close();
  },

  async disconnect(): Promise<void> {
    await client?.close();
  },
};

export type ElectionDuties = typeof duties;

serve(duties);
