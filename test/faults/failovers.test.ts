import { MongoClient } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';

import { LockLostError } from '../../src/index.js';
import { useFaultCluster } from '../support/fault-cluster.js';
import { OwnDatabase } from '../support/test-provider.js';
import { eventually, later, within } from '../../lab/patience.js';
import type { FaultCluster } from '../../lab/cluster/fault-cluster.js';
import type { FaultMember } from '../../lab/cluster/fault-member.js';
import { untilWaiting } from '../support/waiters.js';

/**
 * How much later than the first plain majority write the first grant may come, on a busy machine. A call that waited for
 * the primary that does not answer would be a minute late.
 */
const MAX_LATE_MS = 10_000;

/** So long that no call is given up before the election. */
const STORE_TIMEOUT_MS = 60_000;

interface FirstWrite {
  /** When the election was won, and when a majority had a bare write after it, by the wall clock. */
  readonly electedMs: number;
  readonly writtenMs: number;
}

/** The first plain write. No grant can come sooner: a member that followed the old primary has to find the new one. */
async function firstWriteAfter(cluster: FaultCluster, old: FaultMember): Promise<FirstWrite> {
  const next = await eventually('another primary', async () => {
    const primary = await cluster.primary();
    return primary === old ? undefined : primary;
  });
  const client = new MongoClient(next.directUri);
  try {
    const writes = client.db('leasehold-failovers').collection('writes');
    await writes.insertOne({}, { writeConcern: { w: 'majority' } });
    const writtenMs = Date.now();
    const oplog = client.db('local').collection<{ wall: Date }>('oplog.rs');
    const entry = await oplog.findOne({ op: 'n', 'o.msg': 'new primary' }, { sort: { $natural: -1 } });
    return { electedMs: entry?.wall.getTime() ?? NaN, writtenMs };
  } finally {
    await client.close();
  }
}

/** By how much the first grant came later than the first write. */
function lateMs({ electedMs, writtenMs }: FirstWrite, grantedMs: number): number {
  const [written, granted] = [writtenMs - electedMs, grantedMs - electedMs];
  console.log(
    `after the election: first write ${written.toFixed(0)} ms, first grant ${granted.toFixed(0)} ms`,
  );
  return granted - written;
}

const started = useFaultCluster();

beforeEach(async () => {
  await started().heal();
}, 100_000);

describe('a failover', () => {
  it('grants and confirms what a paused primary did not answer, right after the election', async () => {
    const cluster = started();
    await using database = new OwnDatabase(cluster.uri);
    const locks = database.client().provider({ createIndexes: false, storeTimeoutMs: STORE_TIMEOUT_MS });
    const held = await locks.acquireMutex('held', { leaseMs: 300_000 });
    const primary = await cluster.untilPrimary();
    primary.stop();
    const acquired = Array.from({ length: 4 }, (_, index) => locks.acquireMutex(`free ${String(index)}`));
    const confirmed = later(held.confirm());
    const granted = Promise.all(acquired).then((holds) => ({ holds, atMs: Date.now() }));
    const written = await firstWriteAfter(cluster, primary);
    const { holds, atMs } = await within(STORE_TIMEOUT_MS, 'grants', granted);
    expect(lateMs(written, atMs)).toBeLessThan(MAX_LATE_MS);
    // A confirm() that the paused primary did not answer asks the new primary.
    await within(STORE_TIMEOUT_MS, 'the confirmation', confirmed);
    await Promise.all([held, ...holds].map((hold) => hold.release()));
    await cluster.heal();
  });

  it('does not delay a lock that is released after the election', async () => {
    const cluster = started();
    await using database = new OwnDatabase(cluster.uri);
    const options = { createIndexes: false, leaseMs: 300_000, storeTimeoutMs: STORE_TIMEOUT_MS };
    const here = database.client().provider(options);
    const there = database.client().provider(options);
    const held = await here.acquireMutex('held');
    const granted = later(there.acquireMutex('held').then((hold) => ({ hold, atMs: Date.now() })));
    await untilWaiting(here, 'held');
    const primary = await cluster.untilPrimary();
    primary.stop();
    const written = await firstWriteAfter(cluster, primary);
    expect(await within(STORE_TIMEOUT_MS, 'the release', held.release())).toBe(true);
    const { hold, atMs } = await within(STORE_TIMEOUT_MS, 'the grant', granted);
    expect(lateMs(written, atMs)).toBeLessThan(MAX_LATE_MS);
    await hold.release();
    await cluster.heal();
  });

  it('does not end a hold with a long lease, and reports one with a short lease as lost before the next grant', async () => {
    const cluster = started();
    await using database = new OwnDatabase(cluster.uri);
    const options = { createIndexes: false, extendEveryMs: 200, storeTimeoutMs: STORE_TIMEOUT_MS };
    const [here, there] = [database.client().provider(options), database.client().provider(options)];
    const long = await here.createMutex('long', { leaseMs: 120_000 }).acquire();
    // The short lease must not end while this process connects.
    await (await there.createMutex('other').acquire()).release();
    const short = await here.createMutex('short', { leaseMs: 2_000 }).acquire();
    let toldMs = Infinity;
    short.signal.addEventListener('abort', () => (toldMs = performance.now()));
    const wait = later(
      there
        .createMutex('short', { leaseMs: 20_000 })
        .acquire()
        .then((hold) => ({ hold, atMs: performance.now() })),
    );
    await untilWaiting(here, 'short');

    const primary = await cluster.untilPrimary();
    await primary.kill();
    // This request is sent while there is no primary, so it gets the first grant of the next one.
    const granted = later(here.acquireMutex('free').then((hold) => ({ hold, atMs: Date.now() })));
    const written = await firstWriteAfter(cluster, primary);
    const { hold: first, atMs } = await within(60_000, 'a grant', granted);
    expect(lateMs(written, atMs)).toBeLessThan(MAX_LATE_MS);
    await first.release();

    const next = await within(60_000, 'the short one is granted again', wait);
    expect(short.signal.reason).toBeInstanceOf(LockLostError);
    expect(toldMs).toBeLessThan(next.atMs);
    expect(next.hold.fencingToken).toBeGreaterThan(short.fencingToken);
    expect(long.isHeld).toBe(true);
    await long.confirm();
    expect(long.signal.aborted).toBe(false);
    expect(await long.release()).toBe(true);
    await next.hold.release();
    await cluster.heal();
  });
});
