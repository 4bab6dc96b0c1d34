import type { Db } from 'mongodb';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { startReplicaSet } from '../../../lab/mongo-server/start.js';
import type { MongoServer } from '../../../lab/mongo-server/start.js';
import { OwnDatabase } from '../../support/test-provider.js';
import type { OwnClient } from '../../support/test-provider.js';
import { eventually, rejection, within } from '../../../lab/patience.js';

// A server of its own, because the test counts the cursors of the whole server.
let server: MongoServer;

beforeAll(async () => {
  server = await startReplicaSet({ say: () => undefined });
});

afterAll(async () => {
  await server.stop();
});

async function openCursors(db: Db): Promise<number> {
  const { metrics } = (await db.admin().serverStatus()) as {
    metrics: { cursor: { open: { total: unknown } } };
  };
  return Number(metrics.cursor.open.total);
}

/** A signal that aborts when this client begins to open a stream. */
function whenOpening({ client }: OwnClient): AbortSignal {
  const opening = new AbortController();
  client.on('commandStarted', ({ commandName }) => {
    if (commandName === 'aggregate') opening.abort();
  });
  return opening.signal;
}

const WAITS = 20;

const OPTIONS = { leaseMs: 60_000, createIndexes: false };

it('a wait that ends while its stream is being opened leaves no cursor on the server (R1)', async () => {
  await using database = new OwnDatabase(server.uri);
  const { db } = database.plain;
  const before = await openCursors(db);
  const client = database.client();
  const hold = await database.client().provider(OPTIONS).acquireMutex('a');
  // Each provider opens a stream of its own.
  const crowd = Array.from({ length: WAITS }, () => client.provider({ ...OPTIONS, wakeIdleMs: 0 }));
  for (const locks of crowd) {
    const error = await rejection(locks.acquireMutex('a', { signal: whenOpening(client) }));
    expect(error).toMatchObject({ name: 'AbortError' });
  }
  await Promise.all(crowd.map((locks) => locks.close()));
  expect(client.count('aggregate')).toBe(WAITS);
  expect(await hold.release()).toBe(true);
  await eventually('its cursors are gone', async () => (await openCursors(db)) <= before, 5_000);
});

it('short waits that end while a slow stream is being opened open no other streams, and leave the pool to its user (E36)', async () => {
  await using database = new OwnDatabase(server.uri);
  const appName = 'slow-to-open';
  const client = database.client({ appName, maxPoolSize: 5 });
  const hold = await database.client().provider(OPTIONS).acquireMutex('a');
  const locks = client.provider(OPTIONS);
  const own = await locks.acquireMutex('b');
  const data = { failCommands: ['aggregate'], appName, blockConnection: true, blockTimeMS: 8_000 };
  const admin = database.plain.client.db('admin');
  await admin.command({ configureFailPoint: 'failCommand', mode: 'alwaysOn', data });
  try {
    await rejection(locks.acquireMutex('a', { signal: whenOpening(client) }));
    for (let wait = 0; wait < WAITS; wait += 1) {
      const error = await rejection(locks.acquireMutex('a', { timeoutMs: 20 }));
      expect(error).toMatchObject({ code: 'ACQUIRE_TIMEOUT' });
    }
    expect(client.count('aggregate')).toBe(1);
    await within(5_000, "a query of the user's", client.db.collection('others').findOne({}));
    await own.confirm();
  } finally {
    await admin.command({ configureFailPoint: 'failCommand', mode: 'off' });
  }
  expect(await own.release()).toBe(true);
  expect(await hold.release()).toBe(true);
});
