import { expect, it } from 'vitest';

import { SeededChance } from '../../../src/testing/time/seeded-chance.js';
import { ReplicaSet } from '../../../src/testing/replica-set/replica-set.js';
import { VirtualTime } from '../../../src/testing/time/virtual-time.js';

it('keeps a durable entry if a primary steps down before the only other reachable member has copied it', async () => {
  const time = new VirtualTime(0);
  const listener = { changed: () => undefined, committed: () => undefined };
  const set = new ReplicaSet(time, new SeededChance(1, 'members'), 'set', listener);
  const until = async (isReached: () => boolean): Promise<void> => {
    for (let step = 0; !isReached(); step += 1) {
      expect(step).toBeLessThan(100_000);
      await time.advance(0.1);
    }
  };
  const primary = async (): Promise<NonNullable<typeof set.primary>> => {
    await until(() => set.primary !== undefined);
    return set.primary ?? expect.fail();
  };

  const behind = await primary();
  await until(() => behind.committedLength === behind.length);
  set.losePrimary(1);
  const writer = await primary();
  await until(() => writer.committedLength === writer.length);
  const durable = writer.length;
  // The member without the entries of the writer is reachable again, and has not copied them yet.
  await until(() => behind.role === 'secondary');
  expect(behind.lastTerm).toBeLessThan(writer.lastTerm);
  set.losePrimary(0);
  const copier = await primary();
  expect([behind, writer]).not.toContain(copier);
  set.stepDown(0);
  const next = await primary();
  expect(next.length).toBeGreaterThan(durable);
  expect(next.entryAt(durable - 1)).toBe(writer.entryAt(durable - 1));
  time.close();
});

it('elects a primary again after two primaries in a row were cut off', async () => {
  const time = new VirtualTime(0);
  const listener = { changed: () => undefined, committed: () => undefined };
  const set = new ReplicaSet(time, new SeededChance(1, 'members'), 'set', listener);
  set.losePrimary(1);
  await time.advance(2);
  expect(set.primary).toBeDefined();
  set.losePrimary(1);
  await time.advance(2);
  expect(set.primary).toBeUndefined();
  await time.advance(1_000);
  expect(set.primary).toBeDefined();
  time.close();
});
