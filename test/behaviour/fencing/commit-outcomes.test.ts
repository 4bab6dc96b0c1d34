import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MongoServerError } from 'mongodb';
import type { Document } from 'mongodb';

import { fencedTransaction } from '../../../src/index.js';
import { startReplicaSet } from '../../../lab/mongo-server/start.js';
import type { MongoServer } from '../../../lab/mongo-server/start.js';
import { rejection } from '../../../lab/patience.js';
import { FencedWorld } from './fenced-world.js';

// Its own server: a server has one fail point for commands, and other tests would switch it off.
let server: MongoServer;

beforeAll(async () => {
  server = await startReplicaSet({ say: () => undefined });
});

afterAll(async () => {
  await server.stop();
});

async function fail(
  world: FencedWorld,
  commands: readonly string[],
  how: Document,
  times = 1,
): Promise<void> {
  const data = { failCommands: commands, ...how };
  await world.plain.client.db('admin').command({ configureFailPoint: 'failCommand', mode: { times }, data });
}

/** Makes one insert in a fenced transaction. Returns how often the work was called. */
async function insert(world: FencedWorld, _id: string): Promise<number> {
  const lock = await world.holder(_id);
  let calls = 0;
  await fencedTransaction(
    world.own.client,
    lock,
    async (session) => {
      calls += 1;
      await world.accounts.insertOne({ _id }, { session });
    },
    { databaseName: world.name },
  );
  return calls;
}

describe('a fenced transaction whose claim or commit fails', () => {
  test.each([
    { name: 'the connection breaks', how: { closeConnection: true } },
    { name: 'the primary steps down', how: { errorCode: 189, errorLabels: ['RetryableWriteError'] } },
    {
      name: 'no majority has the commit yet',
      how: { writeConcernError: { code: 64, errmsg: 'slow' } },
    },
  ])('is committed once, by repeating the commit: $name', async ({ how }) => {
    await using world = new FencedWorld(server.uri);
    await fail(world, ['commitTransaction'], how);
    expect(await insert(world, 'a')).toBe(1);
    expect(await world.account('a')).toEqual({ _id: 'a' });
    expect(world.own.count('commitTransaction')).toBeGreaterThan(1);
  });

  test('is run again as a whole if the commit conflicts', async () => {
    await using world = new FencedWorld(server.uri);
    await fail(world, ['commitTransaction'], { errorCode: 251, errorLabels: ['TransientTransactionError'] });
    const { client } = world.own;
    const lock = await world.holder();
    let calls = 0;
    const work = (): Promise<void> => {
      calls += 1;
      return Promise.resolve();
    };
    await fencedTransaction(client, lock, work, { databaseName: world.name });
    expect(calls).toBe(2);
  });

  test('rejects with the driver’s error and its label if the outcome stays unknown', async () => {
    await using world = new FencedWorld(server.uri);
    await fail(world, ['commitTransaction'], { errorCode: 50 });
    const error = await rejection(insert(world, 'a'));
    expect(error).toBeInstanceOf(MongoServerError);
    expect((error as MongoServerError).hasErrorLabel('UnknownTransactionCommitResult')).toBe(true);
    // The command failed before the server began the commit, so its transaction is still open.
    await world.plain.client.db('admin').command({ killAllSessions: [] });
    expect(await world.account('a')).toBeNull();
  });

  test('claims again if the connection breaks during a claim', async () => {
    await using world = new FencedWorld(server.uri);
    await fail(world, ['update'], { closeConnection: true });
    expect(await insert(world, 'a')).toBe(1);
    expect(world.own.count('update')).toBe(2);
  });
});
