import { MongoClient } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';

import type { LockHandle, LockProvider } from '../../../src/index.js';
import type { FaultMember } from '../../../lab/cluster/fault-member.js';
import type { Holding } from '../../../lab/cluster/fault-proxy.js';
import { eventually, later, within } from '../../../lab/patience.js';
import { checkOplog } from '../../judge/oplog-checker.js';
import type { Grant } from '../../judge/oplog-checker.js';
import { oplogEnd } from '../../judge/oplog-replay.js';
import { useFaultCluster } from '../../support/fault-cluster.js';
import { OwnDatabase } from '../../support/test-provider.js';
import type { OwnClient } from '../../support/test-provider.js';
import { untilWaiting } from '../../support/waiters.js';
import { COLLECTION } from '../round.js';

/** Far longer than a failover, so that no lease ends by itself. */
const LEASE_MS = 300_000;

const BOUND_MS = 60_000;

const NAMES = Array.from({ length: 40 }, (_, index) => `order:${String(index)}`);

/** More of them would give the primary more than one group. */
const WANTED = NAMES.slice(0, 3);

const started = useFaultCluster();

beforeEach(async () => {
  await started().heal();
}, 100_000);

/** One way to have another primary while the read of a group is on its way. */
interface Failover {
  readonly how: string;
  lose(primary: FaultMember): Promise<void>;
}

const FAILOVERS: readonly [Failover, ...Failover[]] = [
  {
    how: 'stands still',
    lose: async (primary) => {
      primary.stop();
      return Promise.resolve();
    },
  },
  {
    how: 'is killed',
    lose: (primary) => primary.kill(),
  },
  {
    how: 'is cut off from the others and still answers',
    lose: async (primary) => {
      const [next] = await started().secondaries();
      started().isolate(primary, 'silence');
      await next?.stepUp();
    },
  },
];

interface World {
  readonly database: OwnDatabase;
  readonly client: OwnClient;
  readonly locks: LockProvider;
  readonly lost: string[];
}

/** A provider that has spoken with the primary, so that the next `find` is the one of its group. */
async function warm(database: OwnDatabase): Promise<World> {
  const client = database.client();
  const locks = client.provider({ leaseMs: LEASE_MS, createIndexes: false, storeTimeoutMs: 20_000 });
  const lost: string[] = [];
  locks.on('lost', ({ lockName }) => lost.push(lockName));
  await (await locks.acquireMutex('warm')).release();
  return { database, client, locks, lost };
}

/** Keeps the read of the next group back, lets another member be elected, and lets the read go on. */
async function failOver<T>({ database }: World, failover: Failover, call: () => Promise<T>): Promise<T> {
  const primary = await started().untilPrimary();
  const holding: Holding = primary.proxy.holdRequests(
    1,
    ({ command, database: of }) => command === 'find' && of === database.name,
  );
  const called = later(call());
  await eventually('the read of the group is on its way', () => holding.held === 1);
  await failover.lose(primary);
  await eventually('another primary', async (see) => {
    const now = see((await started().primary())?.index);
    return now !== undefined && now !== primary.index;
  });
  if (primary.isStopped) primary.continue();
  // A killed primary answers nothing any more.
  if (primary.isRunning) await holding.deliver();
  const result = await within(BOUND_MS, 'the answers', called);
  await started().heal();
  return result;
}

/** All grants of the database since then, by the oplog. It has no violation. */
async function grantsOf(
  { database }: World,
  from: Parameters<typeof checkOplog>[0]['from'],
): Promise<readonly Grant[]> {
  return await onPrimary(async (client) => {
    const oplog = { client, namespace: `${database.name}.${COLLECTION}`, from };
    const { violations, grants } = await checkOplog(oplog, { toleranceMs: 50 });
    expect(violations).toEqual([]);
    return grants.filter(({ lock }) => NAMES.includes(lock));
  });
}

async function onPrimary<T>(act: (client: MongoClient) => Promise<T>): Promise<T> {
  const client = new MongoClient((await started().untilPrimary()).directUri);
  try {
    return await act(client);
  } finally {
    await client.close();
  }
}

/** The names, tokens and ids, in an order that can be compared. */
const sortedGrants = (grants: readonly (readonly [string, string, number])[]): readonly string[] =>
  grants.map((grant) => grant.join(' ')).toSorted();

async function expectEmpty({ locks }: World): Promise<void> {
  const left = await Promise.all(NAMES.map((name) => locks.inspect(name)));
  expect(left.map((snapshot) => [snapshot?.holders, snapshot?.waiters])).toEqual(NAMES.map(() => [[], []]));
}

const releaseAll = async (handles: readonly LockHandle[]): Promise<readonly boolean[]> =>
  await Promise.all(handles.map((handle) => handle.release()));

// Not by `describe.each`, which shortens a title that it is given.
for (const failover of FAILOVERS) {
  describe(`if the primary ${failover.how} between the update and the read of a group`, () => {
    it('each of its locks is granted once, and every handle has the token of its grant', async () => {
      await using database = new OwnDatabase(started().uri);
      const from = await onPrimary(oplogEnd);
      const world = await warm(database);
      const { client, locks, lost } = world;
      const handles = await failOver(world, failover, () =>
        Promise.all(NAMES.map((name) => locks.acquireMutex(name))),
      );
      expect(client.commands.filter(({ command }) => command['ordered'] === false)).toHaveLength(1);
      const grants = await grantsOf(world, from);
      expect(sortedGrants(grants.map(({ lock, id, token }) => [lock, id, token]))).toEqual(
        sortedGrants(handles.map(({ name, id, fencingToken }) => [name, id, fencingToken])),
      );
      await Promise.all(handles.map((handle) => handle.confirm()));
      expect(await releaseAll(handles)).toEqual(NAMES.map(() => true));
      expect(lost).toEqual([]);
      await expectEmpty(world);
    });

    it('each of its locks is given back once, none is reported as lost, and those who wait are granted', async () => {
      await using database = new OwnDatabase(started().uri);
      const from = await onPrimary(oplogEnd);
      const [world, other] = [await warm(database), await warm(database)];
      const handles = await Promise.all(NAMES.map((name) => world.locks.acquireMutex(name)));
      // The short form of these releases does not apply, so the count of the group is short, and it needs its read.
      const granted = later(Promise.all(WANTED.map((name) => other.locks.acquireMutex(name))));
      for (const name of WANTED) await untilWaiting(world.locks, name);
      expect(await failOver(world, failover, () => releaseAll(handles))).toEqual(NAMES.map(() => true));
      const next = await within(BOUND_MS, 'those who wait', granted);
      expect(await releaseAll(next)).toEqual(WANTED.map(() => true));
      expect([...world.lost, ...other.lost]).toEqual([]);
      const grants = await grantsOf(world, from);
      expect(sortedGrants(grants.map(({ lock, id, token }) => [lock, id, token]))).toEqual(
        sortedGrants([...handles, ...next].map(({ name, id, fencingToken }) => [name, id, fencingToken])),
      );
      await expectEmpty(world);
    });
  });
}
