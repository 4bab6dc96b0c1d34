import { MongoClient } from 'mongodb';
import { describe, expect, it } from 'vitest';

import { startFaultProxy } from '../../../lab/cluster/fault-proxy.js';
import { within } from '../../../lab/patience.js';
import { LockProvider } from '../../../src/index.js';
import { whenTestEnds } from '../../support/current-test.js';
import { randomName, testProvider, useOwnServer } from '../../support/test-provider.js';

useOwnServer();

/**
 * One way. To open a connection and to get an answer over it takes four times as long, which is two thirds of the time
 * bound. So does an extension, which is two commands.
 */
const LATENCY_MS = 240;
const STORE_TIMEOUT_MS = 1_500;

/** While all locks are asked for, each answer is late, also those of extensions: 50 s if the processors are busy. */
const LEASE_MS = 90_000;

/** As many as the largest group and half of another one. The driver opens two connections at a time. */
const LOCKS = 96;

/** If each connection is closed with the caller's time, no call is ever answered. Otherwise all locks take about 10 s. */
const ENOUGH_MS = 120_000;

describe('a process without connections, on a slow network', () => {
  it('gets all its locks and loses none, because answers that are on their way still use their connections', async () => {
    const { db } = await testProvider();
    const proxy = await startFaultProxy(db.client.options.hosts[0]?.port ?? 0);
    whenTestEnds(() => proxy.close());
    const client = new MongoClient(`mongodb://127.0.0.1:${String(proxy.port)}/?directConnection=true`);
    whenTestEnds(() => client.close());
    const locks = new LockProvider(client.db(randomName('slow')), {
      ...{ storeTimeoutMs: STORE_TIMEOUT_MS, leaseMs: LEASE_MS, createIndexes: false },
    });
    whenTestEnds(() => locks.close());
    const lost: unknown[] = [];
    locks.on('lost', (event) => lost.push(event));
    locks.on('storeError', () => undefined);
    await (await locks.acquireMutex('before')).release();
    proxy.cut('clients');
    proxy.heal();
    proxy.delay('clients', { latencyMs: LATENCY_MS, jitterMs: () => 0 });
    const names = Array.from({ length: LOCKS }, (_, index) => `lock ${String(index)}`);
    const requests = names.map((name) => locks.acquireMutex(name));
    const holds = await within(ENOUGH_MS, 'all locks', Promise.all(requests));
    expect(lost).toEqual([]);
    expect(holds.every(({ isHeld }) => isHeld)).toBe(true);
    proxy.heal();
    await Promise.all(holds.map((hold) => hold.release()));
  });
});
