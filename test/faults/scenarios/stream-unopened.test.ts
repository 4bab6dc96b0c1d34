import type { Db } from 'mongodb';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { startReplicaSet } from '../../support/mongo-server/start.js';
import type { MongoServer } from '../../support/mongo-server/start.js';
import { OwnDatabase } from '../../support/own-database.js';
import { eventually, rejection } from '../../support/patience.js';

// Cursors of the whole server are counted.
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

const WAITS = 20;

it('a wait that ends while its stream is being opened leaves no cursor on the server (R1)', async () => {
  await using database = new OwnDatabase(server.uri);
  const { db } = database.plain;
  const before = await openCursors(db);
  const client = database.client();
  const options = { leaseMs: 60_000, createIndexes: false };
  const [here, there] = [database.client().provider(options), client.provider(options)];
  const hold = await here.acquireMutex('a');
  let impatient = new AbortController();
  client.client.on('commandStarted', ({ commandName }) => {
    if (commandName === 'aggregate') impatient.abort();
  });
  for (let wait = 0; wait < WAITS; wait += 1) {
    impatient = new AbortController();
    const error = await rejection(there.acquireMutex('a', { signal: impatient.signal }));
    expect(error).toMatchObject({ name: 'AbortError' });
  }
  await there.close();
  expect(client.count('aggregate')).toBe(WAITS);
  expect(await hold.release()).toBe(true);
  await eventually('its cursors are gone', async () => (await openCursors(db)) <= before, 5_000);
});
