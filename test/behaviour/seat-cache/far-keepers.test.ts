import { describe, expect, it } from 'vitest';
import type { LockHandle } from '../../../src/index.js';
import { eventually, later, pause, within } from '../../../lab/patience.js';
import { streams } from '../../support/open-streams.js';
import { twoProviders } from '../../support/test-provider.js';
import type { TestProvider } from '../../support/test-provider.js';
import { untilWaiting } from '../../support/waiters.js';
import { untilKept, untilReadKept } from './until-kept.js';

/**
 * A keeper is far after one quiet second. No extension falls into a test, so only a read of the keeper, or its stream,
 * can bring the news.
 */
const OPTIONS = { wakeIdleMs: 1_000, leaseMs: 600_000, createIndexes: false };

/** No seat is given back because its time has passed. */
const KEEP_MS = 600_000;

/** A second until the next read of the keeper, and the time that a busy machine takes for the rest. */
const FAR_BOUND_MS = 30_000;

const untilFar = (provider: TestProvider): Promise<boolean> =>
  eventually('no stream is open', async () => (await streams(provider)) === 0);

const commandNames = ({ commands }: TestProvider): readonly string[] => [
  ...new Set(commands.map(({ commandName }) => commandName)),
];

const isFree = async ({ locks }: TestProvider, name: string): Promise<boolean> =>
  (await locks.inspect(name))?.holders.length === 0;

/** A provider that keeps the seats of a mutex, a reader-writer lock and a semaphore, and is far; and another one. */
async function farKeeper() {
  const [here, there] = await twoProviders(OPTIONS);
  const mutex = here.locks.createMutex('m', { keepMs: KEEP_MS });
  const readerWriter = here.locks.createReaderWriterLock('r', { keepMs: KEEP_MS });
  const semaphore = here.locks.createSemaphore('s', 3, { keepMs: KEEP_MS });
  await untilKept(here, mutex);
  await untilReadKept(here, readerWriter);
  await untilKept(here, semaphore);
  await untilFar(here);
  here.commands.length = 0;
  return { here, there, mutex, readerWriter, semaphore };
}

describe.concurrent('a keeper whose seats no caller has used for wakeIdleMs', () => {
  it('has no change stream open, and reads all its kept locks together once a second', async () => {
    const { here } = await farKeeper();
    const startedMs = performance.now();
    await pause(4_000);
    const seconds = (performance.now() - startedMs) / 1_000;
    expect(commandNames(here)).toEqual(['find']);
    expect(here.commands.length).toBeGreaterThan(0);
    expect(here.commands.length).toBeLessThanOrEqual(seconds + 1);
    for (const { command } of here.commands) {
      expect((command as { filter: unknown }).filter).toEqual({ _id: { $in: ['m', 'r', 's'] } });
    }
    expect(await streams(here)).toBe(0);
  });

  it.each<readonly [string, (there: TestProvider) => Promise<LockHandle>]>([
    ['a request for the mutex', ({ locks }) => locks.acquireMutex('m')],
    ['a write', ({ locks }) => locks.createReaderWriterLock('r').acquireWrite()],
    ['a request for three permits', ({ locks }) => locks.createSemaphore('s', 3).acquire({ permits: 3 })],
  ])('gives way after its next read to %s', async (_, acquire) => {
    const { here, there } = await farKeeper();
    const hold = await within(FAR_BOUND_MS, 'a grant', acquire(there));
    // The read that finds the request may have been sent before the commands were counted.
    expect(commandNames(here).filter((name) => name !== 'find')).toEqual(['findAndModify']);
    expect(await hold.release()).toBe(true);
  });

  it('gives way to an upgrade after its next read', async () => {
    const { there } = await farKeeper();
    const hold = await there.locks.createReaderWriterLock('r').acquireUpgradeableRead();
    await within(FAR_BOUND_MS, 'the upgrade', hold.upgrade());
    expect(await hold.release()).toBe(true);
  });

  it('gives back idle permits after its next read if a smaller limit is set', async () => {
    const { there } = await farKeeper();
    const own = there.locks.createSemaphore('s', 3);
    const others = await own.acquire({ permits: 2 });
    await own.resize(2);
    await eventually(
      'they are given back',
      async () => (await there.locks.inspect('s'))?.holders.length === 1,
    );
    await others.release();
  });

  it('gives way after a try of another process has failed', async () => {
    const { there } = await farKeeper();
    expect(await there.locks.tryAcquireMutex('m')).toBeNull();
    const hold = await within(
      FAR_BOUND_MS,
      'a try that succeeds',
      eventually('a try succeeds', () => there.locks.tryAcquireMutex('m')),
    );
    await hold.release();
  });

  it('passes its seats to its next callers without a command, and then listens', async () => {
    const { here, mutex, readerWriter, semaphore } = await farKeeper();
    const holds = [await mutex.acquire(), await readerWriter.acquireRead(), await semaphore.acquire()];
    expect(holds.every(({ isHeld }) => isHeld)).toBe(true);
    for (const hold of holds) await hold.release();
    expect(commandNames(here).filter((name) => name !== 'find' && name !== 'aggregate')).toEqual([]);
    await eventually('the stream is open', async () => (await streams(here)) === 1);
    await untilFar(here);
    expect(here.count('findAndModify')).toBe(0);
  });

  it('gives way although its own callers use the seat again and again', async () => {
    const { there, mutex } = await farKeeper();
    const isOver = new AbortController();
    const using = later(
      (async () => {
        while (!isOver.signal.aborted) {
          await (await mutex.acquire()).release();
          await pause(1);
        }
      })(),
    );
    const hold = await within(FAR_BOUND_MS, 'a grant', there.locks.acquireMutex('m'));
    isOver.abort();
    await hold.release();
    await using;
  });

  it('learns of a waiter while a caller has the seat, and gives the seat to the waiter at the release', async () => {
    const { here, there, mutex } = await farKeeper();
    const hold = await mutex.acquire();
    await untilFar(here);
    const other = later(there.locks.acquireMutex('m'));
    await untilWaiting(there.locks, 'm');
    const early = later(mutex.acquire());
    await eventually('the caller asks the server', () => here.count('findAndModify') > 0);
    await hold.release();
    await (await within(FAR_BOUND_MS, 'a grant', other)).release();
    await (await early).release();
  });

  it('learns of a revocation by its next read', async () => {
    const { there } = await farKeeper();
    expect((await there.locks.revoke('m')).asked).toHaveLength(1);
    await eventually('the seat is given back', () => isFree(there, 'm'), FAR_BOUND_MS);
  });

  it('learns by its next read that its seat was evicted, and no caller gets that seat any more', async () => {
    const { here, there, mutex } = await farKeeper();
    expect((await there.locks.revoke('m', { force: true })).evicted).toHaveLength(1);
    const hold = await there.locks.acquireMutex('m');
    await eventually('the keeper has asked about its seat', () => here.count('update') > 0, FAR_BOUND_MS);
    await eventually('a caller asks the server', async () => {
      const stale = await mutex.tryAcquire();
      await stale?.release();
      return stale === null;
    });
    await hold.release();
  });

  it('keeps its seats over its reads: a quiet keeper that nobody asks gives nothing back', async () => {
    const { here, there } = await farKeeper();
    await pause(3_000);
    expect(here.count('findAndModify')).toBe(0);
    expect(await isFree(there, 'm')).toBe(false);
  });
});
