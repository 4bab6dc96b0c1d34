import { afterEach, expect, test } from 'vitest';
import { LockProvider } from '../../../src/index.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';

let set: MemoryReplicaSet | undefined;

afterEach(async () => {
  await set?.close();
});

test('a process that was cut off twice and healed once goes on reaching the members', async () => {
  set = new MemoryReplicaSet({ time: 'virtual', seed: 7 });
  const db = set.db('app');
  const locks = new LockProvider(db, { createIndexes: false });
  await (await locks.createMutex('a').acquire()).release();
  set.cut(db);
  await set.advance(1_000);
  set.cut(db);
  set.heal(db);
  // The monitors give silent members up after ten seconds. The first cut must not count any more.
  await set.advance(15_000);
  const trying = locks.createMutex('a').tryAcquire({ timeoutMs: 1_000 });
  await set.advance(1_000);
  expect(await trying).toMatchObject({ isHeld: true });
});

test('a client that was closed while cut off, and is cut off again later, gives up the silent members', async () => {
  set = new MemoryReplicaSet({ time: 'virtual', seed: 7 });
  const db = set.db('app');
  await db.command({ ping: 1 });
  set.cut(db);
  await db.client.close();
  set.heal(db);
  await db.client.connect();
  await db.command({ ping: 1 });
  const types: string[] = [];
  db.client.on('topologyDescriptionChanged', ({ newDescription }) => types.push(newDescription.type));
  set.cut(db);
  await set.advance(9_000);
  expect(types).toEqual([]);
  await set.advance(2_000);
  expect(types).toEqual(['ReplicaSetNoPrimary']);
});

test('the end of an earlier cut does not concern a primary that was stopped, started and cut off again', async () => {
  set = new MemoryReplicaSet({ time: 'virtual', seed: 7 });
  const locks = new LockProvider(set.db('app'), { createIndexes: false });
  await (await locks.createMutex('a').acquire()).release();
  set.stepDown({ electionMs: 3_000, losesUnacknowledged: true });
  await set.advance(1_000);
  set.stop();
  set.start();
  await set.advance(1_900);
  set.stepDown({ electionMs: 2_500, losesUnacknowledged: true });
  await set.advance(10_000);
  const trying = locks.createMutex('a').tryAcquire({ timeoutMs: 5_000 });
  await set.advance(5_000);
  expect(await trying).toMatchObject({ isHeld: true });
});
