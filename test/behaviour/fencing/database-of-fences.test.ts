import { expect, test } from 'vitest';
import { LockProvider, fencedTransaction } from '../../../src/index.js';
import { rejection, thrown } from '../../../lab/patience.js';
import { FencedWorld } from './fenced-world.js';

test('fences are in the database of the locks, whatever database the connection string names', async () => {
  await using world = new FencedWorld();
  const lock = await world.holder();
  await fencedTransaction(world.own.client, lock, () => Promise.resolve());
  expect(await world.plain.db.collection('distributed.fences').countDocuments()).toBe(1);
});

test('fencedTransaction requires databaseName for locks of several databases', async () => {
  await using world = new FencedWorld();
  await using elsewhere = new FencedWorld();
  const locks = [await world.holder('a'), await elsewhere.holder('b')];
  const error = await rejection(fencedTransaction(world.own.client, locks, () => Promise.resolve()));
  expect(error).toBeInstanceOf(TypeError);
  expect((error as Error).message).toContain('options.databaseName must be given');
});

test('the constructor rejects a collection name that is too long, and a Mongoose connection with a hint', async () => {
  await using world = new FencedWorld();
  const room = 255 - Buffer.byteLength(`${world.name}.`);
  const make = (collectionName: string): LockProvider => new LockProvider(world.own.db, { collectionName });
  expect(() => make('x'.repeat(room))).not.toThrow();
  for (const name of ['x'.repeat(room + 1), 'ü'.repeat(room)]) {
    expect(thrown(() => make(name))).toBeInstanceOf(RangeError);
  }
  const connection = { getClient: () => world.own.client } as unknown as typeof world.own.db;
  expect(() => new LockProvider(connection)).toThrow('connection.getClient().db()');
});
