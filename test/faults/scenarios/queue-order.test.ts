import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LockHandle, LockProvider } from '../../../src/index.js';
import { startReplicaSet } from '../../../lab/mongo-server/start.js';
import type { MongoServer } from '../../../lab/mongo-server/start.js';
import { OwnDatabase } from '../../support/test-provider.js';
import { eventually, later, pause, within } from '../../../lab/patience.js';
import { untilWaiting } from '../../support/waiters.js';

let server: MongoServer;

beforeAll(async () => {
  server = await startReplicaSet({ members: 3 });
});

afterAll(async () => {
  await server.stop();
});

const WAITERS = 12;

type Take = (locks: LockProvider, index: number) => Promise<LockHandle>;

/** How the request with this number asks for its lock. Number 0 holds it alone. */
const KINDS: Readonly<Record<string, Take>> = {
  mutex: (locks) => locks.acquireMutex('mutex'),
  'reader-writer': (locks, index) => {
    const lock = locks.createReaderWriterLock('reader-writer');
    if (index % 4 === 0) return lock.acquireWrite();
    return index % 4 === 3 ? lock.acquireUpgradeableRead() : lock.acquireRead();
  },
  semaphore: (locks, index) =>
    locks.createSemaphore('semaphore', 3).acquire({ permits: index === 0 ? 3 : (index % 3) + 1 }),
};

/** The attempt ids in the order of the stored queue, as this member has it. */
async function queueOn(port: number, database: string, name: string): Promise<readonly string[]> {
  const client = new MongoClient(`mongodb://127.0.0.1:${String(port)}/?directConnection=true`, {
    readPreference: 'secondaryPreferred',
  });
  try {
    const stored = await client
      .db(database)
      .collection<{ _id: string; queue: object }>('distributed.locks')
      .findOne({ _id: name });
    return Object.keys(stored?.queue ?? {});
  } finally {
    await client.close();
  }
}

async function killPrimary(client: MongoClient): Promise<void> {
  const hello = await client.db('admin').command({ hello: 1 });
  const primary = server.members.find(({ port }) => String(hello['primary']).endsWith(`:${String(port)}`));
  if (primary === undefined) throw new Error('there is no primary');
  process.kill(primary.pid, 'SIGKILL');
}

describe('the death of the primary', () => {
  it('changes neither the holders nor the order of any queue (L3)', async () => {
    await using database = new OwnDatabase(server.uri);
    const providers = Array.from({ length: 3 }, () =>
      database.client().provider({ leaseMs: 60_000, createIndexes: false }),
    );
    const [first] = providers;
    if (first === undefined) throw new Error('no provider');
    const served: Record<string, string[]> = {};
    const expected: Record<string, readonly string[]> = {};
    const holds: LockHandle[] = [];
    const waits: Promise<void>[] = [];
    for (const [name, take] of Object.entries(KINDS)) {
      holds.push(await take(first, 0));
      const grants: { readonly token: number; readonly id: string }[] = [];
      for (let index = 1; index <= WAITERS; index += 1) {
        const locks = providers[index % providers.length] ?? first;
        const wait = take(locks, index).then(async (lock) => {
          grants.push({ token: lock.fencingToken, id: lock.id });
          await pause(1);
          expect(await lock.release()).toBe(true);
          served[name] = grants.sort((a, b) => a.token - b.token).map(({ id }) => id);
        });
        waits.push(later(wait));
        await untilWaiting(first, name, index);
      }
      const ids = (await first.inspect(name))?.waiters.map(({ id }) => id) ?? [];
      expected[name] = ids;
      for (const { port } of server.members) {
        await eventually(
          'the same order on every member',
          async () => JSON.stringify(await queueOn(port, database.name, name)) === JSON.stringify(ids),
        );
      }
    }
    await killPrimary(database.plain.client);
    for (const hold of holds) {
      await eventually('the hold is confirmed by the new primary', () =>
        hold.confirm().then(
          () => true,
          () => false,
        ),
      );
    }
    for (const hold of holds) expect(await hold.release()).toBe(true);
    await within(60_000, 'all waiters are served', Promise.all(waits));
    expect(served).toEqual(expected);
  });
});
