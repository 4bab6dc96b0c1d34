import { MongoClient } from 'mongodb';
import type { Collection, Document } from 'mongodb';

import { versionOf } from '../../src/testing/judge/lock-version.js';
import { eventually, pause } from '../../lab/patience.js';
import { readCounters } from '../judge/leak-checker.js';
import type { Counters } from '../judge/leak-checker.js';
import type { FaultCluster } from '../../lab/cluster/fault-cluster.js';
import { APP_NAME } from './workload/messages.js';

/** The longest lease of a killed worker, with the greatest difference of clocks. */
const REST_BOUND_MS = 45_000;

const CLOSED_BOUND_MS = 60_000;

/** The lock documents once every lease is over: those of killed workers last until their expiry. */
export async function documentsAtRest(locks: Collection): Promise<readonly Document[]> {
  const endMs = performance.now() + REST_BOUND_MS;
  for (;;) {
    const documents = await locks.find().toArray();
    const members = documents.flatMap((document) => {
      const { leases, queue } = versionOf(document);
      return [...leases, ...queue.map(([, waiter]) => waiter)];
    });
    const isAtRest = members.every(({ expiresAt }) => expiresAt.getTime() < Date.now());
    if (isAtRest || performance.now() > endMs) return documents;
    await pause(100);
  }
}

/** Reads what the members have open for the workers. */
export class ServerCounters {
  readonly #cluster: FaultCluster;
  readonly #countsCursors: boolean;

  constructor(cluster: FaultCluster, countsCursors: boolean) {
    this.#cluster = cluster;
    this.#countsCursors = countsCursors;
  }

  async read(): Promise<readonly Counters[]> {
    const counters = await Promise.all(
      this.#cluster.members.map(({ directUri }) =>
        connected(directUri, (client) => readCounters(client, APP_NAME)),
      ),
    );
    return this.#countsCursors ? counters : counters.map((one) => ({ ...one, openCursors: 0 }));
  }

  /** The counters once they are as before, because servers notice a little later that a client is gone. */
  async atRest(before: readonly Counters[]): Promise<readonly Counters[]> {
    const endMs = performance.now() + CLOSED_BOUND_MS;
    for (;;) {
      const after = await this.read();
      const isBack = cursorsIn(after) <= cursorsIn(before) && connectionsIn(after) <= connectionsIn(before);
      if (isBack || performance.now() > endMs) return after;
      await pause(200);
    }
  }

  /** R1: each process has one stream, however often its streams broke. */
  async cursorsAreFew(before: readonly Counters[], processes: number): Promise<void> {
    const most = cursorsIn(before) + processes;
    await eventually(
      `at most ${most} cursors are open`,
      async (see) => see(cursorsIn(await this.read())) <= most,
    );
  }
}

const cursorsIn = (counters: readonly Counters[]): number =>
  counters.reduce((sum, { openCursors }) => sum + openCursors, 0);

const connectionsIn = (counters: readonly Counters[]): number =>
  counters.reduce((sum, { connections }) => sum + connections, 0);

export async function connected<T>(uri: string, act: (client: MongoClient) => Promise<T>): Promise<T> {
  const client = new MongoClient(uri, { appName: 'leasehold-faults' });
  try {
    return await act(client);
  } finally {
    await client.close();
  }
}
