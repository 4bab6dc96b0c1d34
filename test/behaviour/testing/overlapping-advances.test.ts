import { expect, it } from 'vitest';
import { MemoryReplicaSet } from '../../../src/testing/index.js';
import { whenTestEnds } from '../../support/current-test.js';

function newSet(): { readonly set: MemoryReplicaSet; readonly passedMs: () => number } {
  const set = new MemoryReplicaSet({ time: 'virtual', seed: 7 });
  whenTestEnds(() => set.close());
  const beganMs = set.now().getTime();
  return { set, passedMs: () => set.now().getTime() - beganMs };
}

it('of two calls of advance at a time, each resolves when its own time has passed', async () => {
  const { set, passedMs } = newSet();
  await set.settle();
  const told: string[] = [];
  const tell = (what: string) => () => void told.push(`${what}: ${passedMs()}`);
  void set.sleep(9).then(tell('pause of 9'));
  void set.sleep(11).then(tell('pause of 11'));
  await Promise.all([set.advance(100).then(tell('100')), set.advance(10).then(tell('10'))]);
  expect(told).toEqual(['pause of 9: 9', '10: 10', 'pause of 11: 11', '100: 100']);
});

it('a settle() beside a call of advance resolves with it', async () => {
  const { set, passedMs } = newSet();
  const settling = set.settle().then(passedMs);
  await set.advance(10);
  expect(await settling).toBeGreaterThanOrEqual(10);
});
