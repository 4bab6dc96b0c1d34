import { setMaxListeners } from 'node:events';

import type { Db } from 'mongodb';
import { afterAll, beforeAll, expect, it } from 'vitest';

import type { LockHandle } from '../../../src/index.js';
import { startReplicaSet } from '../../../lab/mongo-server/start.js';
import type { MongoServer } from '../../../lab/mongo-server/start.js';
import { OwnDatabase } from '../../support/test-provider.js';
import type { OwnClient } from '../../support/test-provider.js';
import { eventually, later, pause, within } from '../../../lab/patience.js';
import { untilWaiting } from '../../support/waiters.js';

// A server of its own, because the test counts the conflicts of the whole server.
let server: MongoServer;

beforeAll(async () => {
  server = await startReplicaSet({ say: () => undefined });
});

afterAll(async () => {
  await server.stop();
});

const HOLDS = 5_000;
const WAITERS = 500;
const WAITING_PROVIDERS = 5;
const LEASE_MS = 20_000;

/** How long the load lasts: more than one lease, so that an extension that never came would show. */
const LOAD_MS = 21_000;

/** At least so many holds are extended by a command, on average. A batch has 256, for a write and a read. */
const EXTENDED_BY_A_COMMAND = 60;

async function conflictsOf(db: Db): Promise<number> {
  const status = (await db.client.db('admin').command({ serverStatus: 1 })) as {
    metrics: { operation: { writeConflicts: unknown } };
  };
  return Number(status.metrics.operation.writeConflicts);
}

async function holdMany(client: OwnClient): Promise<readonly LockHandle[]> {
  const locks = client.provider({ leaseMs: LEASE_MS, createIndexes: false });
  const holds: LockHandle[] = [];
  for (let from = 0; from < HOLDS; from += 100) {
    const names = Array.from({ length: 100 }, (_, index) => `held ${from + index}`);
    holds.push(...(await Promise.all(names.map((name) => locks.acquireMutex(name)))));
  }
  return holds;
}

// `npm run bench -- overload` measures how much slower the writes of others become.
it('with 500 waiters for one lock and 5,000 holds of one process, no hold is lost, and few commands extend the holds', async () => {
  await using database = new OwnDatabase(server.uri);
  const { db } = database.plain;
  const keeping = database.client();
  const holds = await holdMany(keeping);
  const lost: unknown[] = [];
  for (const hold of holds) hold.signal.addEventListener('abort', () => lost.push(hold.signal.reason));
  const options = { leaseMs: LEASE_MS, createIndexes: false };
  const crowds = Array.from({ length: WAITING_PROVIDERS }, () => database.client().provider(options));
  const holder = database.client().provider(options);
  const hold = await holder.acquireMutex('hot');
  const leaving = new AbortController();
  setMaxListeners(0, leaving.signal);
  const waits = crowds.flatMap((locks) =>
    Array.from({ length: WAITERS / WAITING_PROVIDERS }, () =>
      later(locks.acquireMutex('hot', { signal: leaving.signal })),
    ),
  );
  const stored = db.collection<{ _id: string }>('distributed.locks');
  await untilWaiting(holder, 'hot', WAITERS);

  const [size] = await stored
    .aggregate([{ $match: { _id: 'hot' } }, { $project: { bytes: { $bsonSize: '$$ROOT' } } }])
    .toArray();

  const conflictsBefore = await conflictsOf(db);
  const sentBefore = keeping.commands.length;
  // Meanwhile the lock is handed from one waiter to the next.
  let handed = 0;
  await hold.release();
  const served = waits.map(async (wait) => {
    const next = await wait.catch(() => null);
    if (next === null) return;
    handed += 1;
    await pause(100);
    await next.release();
  });
  await pause(LOAD_MS);
  const conflicts = (await conflictsOf(db)) - conflictsBefore;
  const sent = keeping.commands.length - sentBefore;
  const bytes = Number(size?.['bytes']);
  console.log(
    `${sent} commands extended the holds; ${handed} hand-overs; ` +
      `${conflicts} write conflicts; a document of ${bytes} bytes`,
  );
  expect(lost).toEqual([]);
  expect(holds.every(({ isHeld }) => isHeld)).toBe(true);
  // Each hold is extended when a third of its lease is over.
  expect(sent).toBeLessThan((HOLDS * (LOAD_MS / (LEASE_MS / 3))) / EXTENDED_BY_A_COMMAND);
  expect(handed).toBeGreaterThan(0);
  expect(conflicts).toBeLessThan(20 * (handed + WAITERS));
  expect(bytes).toBeLessThan(250 * (WAITERS + 1));

  leaving.abort();
  await within(60_000, 'all waiters are gone', Promise.all(served));
  // Aborted requests give back their places in the background, or the seats that they got meanwhile.
  await eventually('it is idle again', async () => {
    const found = (await stored.findOne({ _id: 'hot' })) as { holder?: unknown; queue?: object } | null;
    return found?.holder === null && Object.keys(found.queue ?? {}).length === 0;
  });
});
