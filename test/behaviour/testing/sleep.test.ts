import { afterEach, describe, expect, it } from 'vitest';
import { later, rejection } from '../../../lab/patience.js';
import { LockProvider } from '../../../src/index.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';

const sets: MemoryReplicaSet[] = [];

afterEach(async () => {
  for (const set of sets.splice(0)) await set.close();
});

function newSet(): MemoryReplicaSet {
  const set = new MemoryReplicaSet({ time: 'virtual', seed: 7 });
  sets.push(set);
  return set;
}

/** Whether the promise has settled once nothing more can happen without time. */
async function hasSettled(set: MemoryReplicaSet, promise: Promise<unknown>): Promise<boolean> {
  let isSettled = false;
  void promise.finally(() => (isSettled = true));
  await set.settle();
  return isSettled;
}

describe('a pause by sleep()', () => {
  it('ends when its time has passed, and does not let virtual time pass', async () => {
    const set = newSet();
    const pause = set.sleep(1_000);
    const before = set.now().getTime();
    expect(await hasSettled(set, pause)).toBe(false);
    expect(set.now().getTime()).toBe(before);
    await set.advance(999);
    expect(await hasSettled(set, pause)).toBe(false);
    await set.advance(1);
    expect(await hasSettled(set, pause)).toBe(true);
  });

  it('makes the run of a job take virtual time', async () => {
    const set = newSet();
    const beganMs = set.now().getTime();
    const locks = new LockProvider(set.db('app'));
    const times: number[] = [];
    const job = locks.createScheduledJob('import', {
      everyMs: 60_000,
      run: async () => {
        times.push(set.now().getTime() - beganMs);
        await set.sleep(20_000);
        times.push(set.now().getTime() - beganMs);
      },
    });
    await job.start();
    await set.advance(150_000);
    const lengths = times.flatMap((endMs, index) =>
      index % 2 === 1 ? [endMs - (times[index - 1] ?? 0)] : [],
    );
    expect(lengths.length).toBeGreaterThanOrEqual(2);
    expect(lengths).toEqual(lengths.map(() => 20_000));
    const closing = locks.close();
    await set.advance(30_000);
    await closing;
  });

  it('of a process that stands still ends when the process goes on', async () => {
    const set = newSet();
    const [frozen, other] = [set.db(), set.db()];
    const [pause, beside] = [set.sleep(1_000, frozen), set.sleep(1_000, other)];
    set.freeze(frozen);
    await set.advance(5_000);
    expect([await hasSettled(set, pause), await hasSettled(set, beside)]).toEqual([false, true]);
    set.thaw(frozen);
    expect(await hasSettled(set, pause)).toBe(true);
  });

  it('does not end after the close of the set', async () => {
    const set = newSet();
    const pause = later(set.sleep(0));
    await set.close();
    expect(await hasSettled(set, pause)).toBe(false);
  });

  it('is refused for a time out of range and for a database of another set', async () => {
    const set = newSet();
    const foreign = newSet().db();
    expect(await rejection(set.sleep(-1))).toBeInstanceOf(RangeError);
    expect(await rejection(set.sleep(Number.NaN))).toBeInstanceOf(RangeError);
    expect(await rejection(set.sleep(1, foreign))).toBeInstanceOf(TypeError);
  });
});
