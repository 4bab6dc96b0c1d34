import { MongoClient } from 'mongodb';
import { expect, it } from 'vitest';

import { LockLostError } from '../../src/index.js';
import { OwnDatabase } from '../support/own-database.js';
import { eventually, later, within } from '../support/patience.js';
import type { FaultCluster } from './cluster/fault-cluster.js';

/** The design allows two seconds from an election to the next grant; a busy machine may take as much again. */
const AFTER_ELECTION_MS = 4_000;

/** When the last election was won, by the wall clock. */
async function electedMs(cluster: FaultCluster): Promise<number> {
  const { directUri } = await cluster.untilPrimary();
  const client = new MongoClient(directUri);
  try {
    const oplog = client.db('local').collection<{ wall: Date }>('oplog.rs');
    const entry = await oplog.findOne({ op: 'n', 'o.msg': 'new primary' }, { sort: { $natural: -1 } });
    return entry?.wall.getTime() ?? NaN;
  } finally {
    await client.close();
  }
}

/** What a failover does to those who hold and wait. */
export function failovers(started: () => FaultCluster): void {
  it('a long lease outlives the primary, and a short one is told lost before anybody else is granted', async () => {
    const cluster = started();
    await cluster.heal();
    await using database = new OwnDatabase(cluster.uri);
    const [here, there] = [database.client(), database.client()].map((client) =>
      client.provider({ createIndexes: false }),
    );
    if (here === undefined || there === undefined) throw new Error('no provider');
    const long = await here.createMutex('long', { leaseMs: 30_000 }).acquire();
    const short = await here.createMutex('short', { leaseMs: 2_000 }).acquire();
    let toldMs = Infinity;
    short.signal.addEventListener('abort', () => (toldMs = performance.now()));
    const wait = later(
      there
        .createMutex('short', { leaseMs: 20_000 })
        .acquire()
        .then((hold) => ({ hold, atMs: performance.now() })),
    );
    await eventually('somebody waits', async () => (await here.inspect('short'))?.waiters.length === 1);

    const primary = await cluster.untilPrimary();
    await primary.kill();
    const diedMs = performance.now();
    // Asked for while there is no primary: the first grant of the next one.
    const first = await within(60_000, 'a grant', here.acquireMutex('free'));
    const grantedWallMs = Date.now();
    const lateMs = grantedWallMs - (await electedMs(cluster));
    console.log(
      `first grant ${(performance.now() - diedMs).toFixed(0)} ms after the death of the primary, ${lateMs.toFixed(0)} ms after the election`,
    );
    expect(lateMs).toBeLessThan(AFTER_ELECTION_MS);
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
}
