import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { LockProvider } from '../../../src/index.js';
import { startReplicaSet } from '../../support/mongo-server/start.js';
import type { MongoServer } from '../../support/mongo-server/start.js';
import { eventually } from '../../support/patience.js';
import { startFaultProxy } from '../cluster/fault-proxy.js';
import type { FaultProxy } from '../cluster/fault-proxy.js';

let server: MongoServer;
let proxy: FaultProxy;

beforeAll(async () => {
  server = await startReplicaSet({ say: () => undefined });
  proxy = await startFaultProxy(server.members[0]?.port ?? 0);
});

afterAll(async () => {
  await proxy.close();
  await server.stop();
});

/** Far longer than the test waits for the seat to be free again. */
const LEASE_MS = 60_000;

it('a copy of a request that comes after its repeat was granted and given back takes no seat for good (E2)', async () => {
  const client = new MongoClient(`mongodb://127.0.0.1:${proxy.port}/?directConnection=true`);
  const observing = new MongoClient(server.uri);
  const options = { leaseMs: LEASE_MS, createIndexes: false };
  const locks = new LockProvider(client.db('late'), { ...options, storeTimeoutMs: 1_500 });
  const observer = new LockProvider(observing.db('late'), options);
  try {
    // The first request of all makes the provider meet the server.
    await (await locks.acquireMutex('other')).release();
    const holding = proxy.holdRequests(1, ({ command }) => command === 'findAndModify');
    const hold = await locks.acquireMutex('a');
    expect(holding.held).toBe(1);
    expect(await hold.release()).toBe(true);
    expect(await holding.deliver()).toBe(1);
    const { id } = hold;
    const taken = (await observer.inspect('a'))?.holders.map((holder) => holder.id);
    // It came in time: otherwise there is nothing to see.
    expect(taken).toEqual([id]);
    await eventually(
      'the seat is free again',
      async () => (await observer.inspect('a'))?.holders.length === 0,
    );
  } finally {
    proxy.heal();
    await locks.close();
    await observer.close();
    await client.close();
    await observing.close();
  }
});
