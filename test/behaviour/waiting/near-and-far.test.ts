import { describe, expect, it } from 'vitest';
import type { Wakeups } from '../../../src/options/provider-options.js';
import { eventually, pause, rejection, staysOpen } from '../../../lab/patience.js';
import { streams } from '../../support/open-streams.js';
import { testProvider } from '../../support/test-provider.js';
import type { TestProvider } from '../../support/test-provider.js';
import { untilWaiting } from '../../support/waiters.js';

/** A queue is quiet after one second, and no extension falls into a test. */
const OPTIONS = { wakeIdleMs: 1_000, leaseMs: 120_000, createIndexes: false };

async function providers(count: number, wakeups: 'auto' | Wakeups = 'auto') {
  const first = await testProvider({ ...OPTIONS, wakeups });
  const { database } = first;
  const others = Array.from({ length: count - 1 }, () => database.connected({ ...OPTIONS, wakeups }));
  return [first, ...(await Promise.all(others))] as const;
}

/** All providers but the first queue for the lock of the first, in order. Returns when only the head listens. */
async function standBy<T>(
  [holder, ...standbys]: readonly [TestProvider, ...TestProvider[]],
  acquire: (provider: TestProvider, index: number) => Promise<T>,
) {
  const waits: Promise<T>[] = [];
  for (const [index, provider] of standbys.entries()) {
    const wait = acquire(provider, index);
    wait.catch(() => undefined);
    waits.push(wait);
    await untilWaiting(holder.locks, 'a', index + 1);
  }
  await eventually('every waiter has listened', () => standbys.every((each) => each.count('aggregate') > 0));
  await eventually('only the head listens', async () => (await streams(holder)) === 1);
  return waits;
}

describe.concurrent('processes that wait behind the head of a quiet queue', () => {
  it.each(['auto', 'change-stream'] as const)(
    'close their streams, read their place once a second, and get the lock in their order (wakeups: %s)',
    async (wakeups) => {
      const all = await providers(8, wakeups);
      const [holder, ...standbys] = all;
      const lock = await holder.locks.acquireMutex('a');
      const order: number[] = [];
      const waits = await standBy(all, async ({ locks }, index) => {
        const mine = await locks.acquireMutex('a');
        order.push(index);
        await pause(5);
        await mine.release();
      });
      for (const { commands } of standbys) commands.length = 0;
      const startedMs = performance.now();
      await pause(4_000);
      const [head, ...far] = standbys;
      expect(head?.commands).toEqual([]);
      const seconds = (performance.now() - startedMs) / 1_000;
      for (const provider of far) {
        expect(provider.count('find')).toBeGreaterThan(0);
        expect(provider.count('find')).toBeLessThanOrEqual(seconds + 1);
        expect(provider.commands.length).toBe(provider.count('find'));
      }
      expect(await streams(holder)).toBe(1);
      await lock.release();
      await Promise.all(waits);
      expect(order).toEqual([...standbys.keys()]);
    },
  );

  it('stop reading when their wait ends by a timeout or an abort (R1)', async () => {
    const all = await providers(4);
    const [holder, , patient, aborted] = all;
    // Kept until the end: a forgotten handle is collected, and its lock released.
    const lock = await holder.locks.acquireMutex('a');
    const abort = new AbortController();
    const waits = await standBy(all, ({ locks }, index) =>
      locks.acquireMutex('a', [{}, { timeoutMs: 6_000 }, { signal: abort.signal }][index]),
    );
    abort.abort(new Error('enough'));
    expect(String(await rejection(waits[2] ?? Promise.resolve()))).toContain('enough');
    expect(await rejection(waits[1] ?? Promise.resolve())).toMatchObject({
      code: 'ACQUIRE_TIMEOUT',
      place: 1,
    });
    await untilWaiting(holder.locks, 'a');
    for (const provider of [patient, aborted]) if (provider !== undefined) provider.commands.length = 0;
    await pause(2_500);
    expect(patient?.commands).toEqual([]);
    expect(aborted?.commands).toEqual([]);
    expect(lock.isHeld).toBe(true);
  });

  it('queue again if their lock document is deleted, although no event reports the deletion', async () => {
    const all = await providers(4);
    const [holder] = all;
    const lock = await holder.locks.acquireMutex('a');
    const waits = await standBy(all, ({ locks }) => locks.useMutex('a', () => pause(5)));
    await holder.db.collection('distributed.locks').deleteMany({});
    await Promise.all(waits);
    expect(await lock.release()).toBe(false);
  });

  it('fail within seconds when the limit of the semaphore falls below the permits that they ask for', async () => {
    const all = await providers(3);
    const [holder] = all;
    const semaphore = holder.locks.createSemaphore('a', 3);
    const hold = await semaphore.acquire({ permits: 3 });
    const waits = await standBy(all, ({ locks }, index) =>
      locks.createSemaphore('a', 3).acquire({ permits: index === 0 ? 1 : 3 }),
    );
    const startedMs = performance.now();
    await semaphore.resize(2);
    expect(await rejection(waits[1] ?? Promise.resolve())).toMatchObject({
      code: 'SEMAPHORE_LIMIT_MISMATCH',
    });
    // Its own looks come every 40 s.
    expect(performance.now() - startedMs).toBeLessThan(20_000);
    await hold.release();
    await waits[0];
  });

  it('listen for all their waits as soon as they are the head of one queue', async () => {
    const all = await providers(3);
    const [holder, , standby] = all;
    const lock = await holder.locks.acquireMutex('a');
    const other = await holder.locks.acquireMutex('b');
    const waits = await standBy(all, ({ locks }) => locks.acquireMutex('a'));
    const waiting = standby?.locks.acquireMutex('b');
    await eventually('the stream of the waiter is open', async () => (await streams(holder)) === 2);
    if (standby !== undefined) standby.commands.length = 0;
    await pause(2_500);
    expect(standby === undefined ? -1 : standby.count('find')).toBe(0);
    await other.release();
    await waiting;
    await eventually('the stream of the waiter is closed', async () => (await streams(holder)) === 1);
    expect(await staysOpen(Promise.race(waits), 0)).toBe(true);
    expect(lock.isHeld).toBe(true);
  });
});
