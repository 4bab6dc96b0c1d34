import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MongoServerError } from 'mongodb';
import type { Document } from 'mongodb';

import { fencedTransaction } from '../../../src/index.js';
import { startReplicaSet } from '../../../lab/mongo-server/start.js';
import type { MongoServer } from '../../../lab/mongo-server/start.js';
import { rejection } from '../../../lab/patience.js';
import { FencedWorld } from './fenced-world.js';

// A server has one fail point for commands: a shared one would be switched off by others.
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

/** One insert in a fenced transaction, and how often the work was called. */
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

describe('a fenced transaction whose commit is not answered as it should be', () => {
  test.each([
    { name: 'the connection breaks before it is done', how: { closeConnection: true } },
    { name: 'the primary steps down', how: { errorCode: 189, errorLabels: ['RetryableWriteError'] } },
    {
      name: 'it is done, and no majority has it yet',
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
    // The failure came before the server began: its transaction is open still.
    await world.plain.client.db('admin').command({ killAllSessions: [] });
    expect(await world.account('a')).toBeNull();
  });

  test('is run again if a claim breaks off', async () => {
    await using world = new FencedWorld(server.uri);
    await fail(world, ['update'], { closeConnection: true });
    expect(await insert(world, 'a')).toBe(1);
    expect(world.own.count('update')).toBe(2);
  });
});
