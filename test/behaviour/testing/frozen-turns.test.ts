import type { Db } from 'mongodb';
import { expect, it } from 'vitest';
import { MemoryReplicaSet } from '../../../src/testing/index.js';
import { simulatedSurroundingsOf } from '../../../src/surroundings.js';
import type { Clock } from '../../../src/clock.js';
import { whenTestEnds } from '../../support/current-test.js';

function newProcess(): { readonly set: MemoryReplicaSet; readonly db: Db; readonly clock: Clock } {
  const set = new MemoryReplicaSet({ time: 'virtual', seed: 7 });
  whenTestEnds(() => set.close());
  const db = set.db();
  const surroundings = simulatedSurroundingsOf(db);
  if (surroundings === undefined) throw new Error('the process is not simulated');
  return { set, db, clock: surroundings.clock };
}

it('what a frozen process does after its turn, and at the end of its turn, waits until it goes on', async () => {
  const { set, db, clock } = newProcess();
  const done: string[] = [];
  clock.afterTurn(() => done.push('after the turn'));
  clock.atEndOfTurn(() => done.push('at its end'));
  set.freeze(db);
  await set.advance(1_000);
  expect(done).toEqual([]);
  set.thaw(db);
  await set.settle();
  expect(done).toEqual(['at its end', 'after the turn']);
});

it('what was cancelled while the process stood still is not done', async () => {
  const { set, db, clock } = newProcess();
  const done: string[] = [];
  const cancelled = clock.afterTurn(() => done.push('cancelled'));
  clock.afterTurn(() => done.push('kept'));
  set.freeze(db);
  await set.advance(1_000);
  cancelled.cancel();
  set.thaw(db);
  await set.settle();
  expect(done).toEqual(['kept']);
});
