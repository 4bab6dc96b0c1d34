import { describe, expect, it } from 'vitest';
import { AcquireTimeoutError, ProviderClosedError } from '../../../src/index.js';
import { eventually, later, pause, rejection, within } from '../../../lab/patience.js';
import { testProvider, twoProviders } from '../../support/test-provider.js';
import type { TestProvider } from '../../support/test-provider.js';
import { untilWaiting } from '../../support/waiters.js';
import { untilKept } from './until-kept.js';

/** Longer than any test, so that no seat is given back because keepMs has passed. */
const KEEP_MS = 60_000;

/** For tests that count commands: the index would be created at any time. */
const COUNTED = { createIndexes: false };

const isFree = async ({ locks }: TestProvider, name: string): Promise<boolean> =>
  (await locks.inspect(name))?.holders.length === 0;

describe('a kept seat', () => {
  it('goes to the next callers of its process without a command, each time with a higher token', async () => {
    const here = await testProvider(COUNTED);
    const mutex = here.locks.createMutex('a', { keepMs: KEEP_MS });
    await untilKept(here, mutex);
    const [before, tokens] = [here.commands.length, [] as number[]];
    for (let round = 0; round < 50; round += 1) {
      await using hold = await mutex.acquire();
      expect(hold.isHeld).toBe(true);
      tokens.push(hold.fencingToken);
    }
    expect(here.commands.length).toBe(before);
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    const [lease] = (await here.locks.inspect('a'))?.holders ?? [];
    expect(lease?.token).toBeLessThan(tokens[0] ?? 0);
    expect((lease?.token ?? 0) + (lease?.keeps ?? 0)).toBeGreaterThan(tokens.at(-1) ?? Infinity);
  });

  it('reserves a new block of tokens when one is used up, and the tokens go on rising', async () => {
    const here = await testProvider(COUNTED);
    const mutex = here.locks.createMutex('a', { keepMs: KEEP_MS });
    await untilKept(here, mutex);
    const before = here.commands.length;
    let last = 0;
    for (let round = 0; round < 2_500; round += 1) {
      const hold = await mutex.acquire();
      expect(hold.fencingToken).toBeGreaterThan(last);
      last = hold.fencingToken;
      await hold.release();
    }
    expect(here.commands.length - before).toBeLessThan(60);
  });

  it('is given up at once if it is idle when another process waits', async () => {
    const [here, there] = await twoProviders();
    const mutex = here.locks.createMutex('a', { keepMs: KEEP_MS });
    await untilKept(here, mutex);
    const hold = await within(KEEP_MS / 4, 'a grant', there.locks.acquireMutex('a'));
    expect(await hold.release()).toBe(true);
  });

  it('goes to a waiter of another process before later callers of its own process (L3)', async () => {
    const [here, there] = await twoProviders();
    const mutex = here.locks.createMutex('a', { keepMs: KEEP_MS });
    await untilKept(here, mutex);
    const hold = await mutex.acquire();
    const order: string[] = [];
    const early = mutex.acquire();
    const other = there.locks.acquireMutex('a');
    await eventually('both are queued, the other one first', async () => {
      const waiters = (await there.locks.inspect('a'))?.waiters ?? [];
      return waiters.length === 2 && waiters[0]?.process === there.locks.processId;
    });
    const late = mutex.acquire();
    await untilWaiting(here.locks, 'a', 3);
    const turns = [
      other.then((next) => (order.push('other'), next.release())),
      early.then((next) => (order.push('early'), next.release())),
      late.then((next) => (order.push('late'), next.release())),
    ];
    await hold.release();
    await Promise.all(turns);
    expect(order).toEqual(['other', 'early', 'late']);
    await untilKept(here, mutex);
  });

  it('is given back after keepMs without use', async () => {
    const [here, there] = await twoProviders();
    const mutex = here.locks.createMutex('a', { keepMs: 2_000 });
    await untilKept(here, mutex);
    expect(await isFree(there, 'a')).toBe(false);
    await eventually('it is given back', () => isFree(there, 'a'));
    await untilKept(here, mutex);
  });

  it('is extended over several leases, while it is idle and while callers use it', async () => {
    const here = await testProvider({ leaseMs: 4_000, storeTimeoutMs: 30_000 });
    const mutex = here.locks.createMutex('a', { keepMs: KEEP_MS });
    await untilKept(here, mutex);
    await eventually('it has lived for three leases', async () => {
      await (await mutex.acquire()).release();
      // So that the block of tokens lasts.
      await pause(200);
      const [lease] = (await here.locks.inspect('a'))?.holders ?? [];
      return lease !== undefined && lease.expiresAt.getTime() - lease.acquiredAt.getTime() > 16_000;
    });
    const before = here.commands.length;
    await (await mutex.acquire()).release();
    expect(here.commands.slice(before).map(({ commandName }) => commandName)).not.toContain('findAndModify');
  });

  it('is not reported as lost if it is evicted while idle, and the next caller sends a new request', async () => {
    const [here, there] = await twoProviders();
    const mutex = here.locks.createMutex('a', { keepMs: KEEP_MS });
    await untilKept(here, mutex);
    const lost: unknown[] = [];
    here.locks.on('lost', (event) => lost.push(event));
    expect((await there.locks.revoke('a', { force: true })).evicted).toHaveLength(1);
    const hold = await there.locks.acquireMutex('a');
    // The keeper may learn of the eviction after that grant. Until then it still passes the seat on.
    await eventually('the keeper has learnt of the eviction', async () => {
      const stale = await mutex.tryAcquire();
      await stale?.release();
      return stale === null;
    });
    const next = later(mutex.acquire());
    await untilWaiting(there.locks, 'a');
    expect(lost).toEqual([]);
    await hold.release();
    expect((await next).fencingToken).toBeGreaterThan(hold.fencingToken);
    await (await next).release();
  });

  it('is given up after a polite revocation, without a releaseRequested event', async () => {
    const [here, there] = await twoProviders();
    const mutex = here.locks.createMutex('a', { keepMs: KEEP_MS });
    await untilKept(here, mutex);
    const asked: unknown[] = [];
    here.locks.on('releaseRequested', (event) => asked.push(event));
    expect((await there.locks.revoke('a')).asked).toHaveLength(1);
    await eventually('it is free', () => isFree(there, 'a'));
    expect(asked).toEqual([]);
  });

  it('is given back by close()', async () => {
    const [here, there] = await twoProviders();
    await untilKept(here, here.locks.createMutex('a', { keepMs: KEEP_MS }));
    await within(KEEP_MS / 4, 'the close', here.locks.close({ drainMs: KEEP_MS }));
    expect(await isFree(there, 'a')).toBe(true);
  });

  it('does not exist where there is no change stream that reports other waiters', async () => {
    const here = await testProvider({ wakeups: 'polling' });
    const mutex = here.locks.createMutex('a', { keepMs: KEEP_MS });
    for (let round = 0; round < 5; round += 1) {
      await (await mutex.acquire()).release();
      expect(await isFree(here, 'a')).toBe(true);
    }
  });

  it('is not given to a caller that asks for another leaseMs', async () => {
    const here = await testProvider();
    const mutex = here.locks.createMutex('a', { keepMs: KEEP_MS });
    await untilKept(here, mutex);
    const [hold, lease] = [await mutex.acquire({ leaseMs: 7_000 }), await here.locks.inspect('a')];
    expect(lease?.holders[0]).toMatchObject({ id: hold.id });
    expect(hold.remainingMs).toBeLessThanOrEqual(7_000);
    await hold.release();
  });
});

describe('while a process has a kept seat', () => {
  it('its callers queue without a command, first come, first served', async () => {
    const here = await testProvider(COUNTED);
    const mutex = here.locks.createMutex('a', { keepMs: KEEP_MS });
    await untilKept(here, mutex);
    const hold = await mutex.acquire();
    const before = here.commands.length;
    const order: number[] = [];
    const waits = Array.from({ length: 20 }, async (_, index) => {
      await using next = await mutex.acquire();
      expect(next.isHeld).toBe(true);
      order.push(index);
    });
    await hold.release();
    await Promise.all(waits);
    expect(order).toEqual(Array.from({ length: 20 }, (_, index) => index));
    expect(here.commands.length).toBe(before);
  });

  it('a try of another of its callers fails without a command', async () => {
    const here = await testProvider(COUNTED);
    const mutex = here.locks.createMutex('a', { keepMs: KEEP_MS });
    await untilKept(here, mutex);
    const hold = await mutex.acquire();
    const before = here.commands.length;
    expect(await mutex.tryAcquire()).toBeNull();
    expect(here.commands.length).toBe(before);
    await hold.release();
  });

  it('a waiting caller times out with an error that names the hold', async () => {
    const here = await testProvider();
    const mutex = here.locks.createMutex('a', { keepMs: KEEP_MS });
    await untilKept(here, mutex);
    await using hold = await mutex.acquire();
    const error = await rejection(mutex.acquire({ timeoutMs: 50 }));
    expect(error).toBeInstanceOf(AcquireTimeoutError);
    expect(error).toMatchObject({ lockName: 'a', place: 0, holders: [{ id: hold.id }] });
  });

  it('a waiting caller stops at an abort, and when the provider closes', async () => {
    const here = await testProvider();
    const mutex = here.locks.createMutex('a', { keepMs: KEEP_MS });
    await untilKept(here, mutex);
    const hold = await mutex.acquire();
    const controller = new AbortController();
    const aborted = later(mutex.acquire({ signal: controller.signal }));
    const closed = later(mutex.acquire());
    controller.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    const closing = here.locks.close();
    await expect(closed).rejects.toBeInstanceOf(ProviderClosedError);
    expect(await hold.release()).toBe(true);
    await closing;
  });

  it('the first try of another process fails, and a later one succeeds', async () => {
    const [here, there] = await twoProviders();
    await untilKept(here, here.locks.createMutex('a', { keepMs: KEEP_MS }));
    expect(await there.locks.tryAcquireMutex('a')).toBeNull();
    const hold = await eventually('a try succeeds', () => there.locks.tryAcquireMutex('a'));
    await hold.release();
  });
});

describe('kept permits', () => {
  it('go only to callers that ask for the same number of permits', async () => {
    const here = await testProvider(COUNTED);
    const semaphore = here.locks.createSemaphore('s', 4, { keepMs: KEEP_MS });
    await untilKept(here, semaphore);
    const two = await Promise.all([semaphore.acquire(), semaphore.acquire()]);
    await Promise.all(two.map((hold) => hold.release()));
    const before = here.commands.length;
    const again = await Promise.all([semaphore.acquire(), semaphore.acquire()]);
    expect(here.commands.length).toBe(before);
    expect(new Set(again.map(({ id }) => id)).size).toBe(2);
    await Promise.all(again.map((hold) => hold.release()));
    const big = await semaphore.acquire({ permits: 2 });
    expect(here.commands.length).toBeGreaterThan(before);
    expect(big.permits).toBe(2);
    await big.release();
  });

  it('are given up when another process waits for them', async () => {
    const [here, there] = await twoProviders();
    const semaphore = here.locks.createSemaphore('s', 2, { keepMs: KEEP_MS });
    await untilKept(here, semaphore);
    const two = await Promise.all([semaphore.acquire(), semaphore.acquire()]);
    await Promise.all(two.map((hold) => hold.release()));
    const all = there.locks.createSemaphore('s', 2).acquire({ permits: 2 });
    expect(await (await within(KEEP_MS / 4, 'a grant', all)).release()).toBe(true);
  });

  it('count as taken, and as use of the semaphore, until they are given back', async () => {
    const [here, there] = await twoProviders();
    const semaphore = here.locks.createSemaphore('s', 2, { keepMs: KEEP_MS });
    await untilKept(here, semaphore);
    expect([await semaphore.available(), await there.locks.createSemaphore('s', 2).available()]).toEqual([
      1, 1,
    ]);
    await expect(there.locks.createSemaphore('s', 3).tryAcquire()).rejects.toMatchObject({
      code: 'SEMAPHORE_LIMIT_MISMATCH',
      actual: 2,
    });
  });

  it('are given up when a resize leaves fewer permits than are taken, although no request waits', async () => {
    const [here, there] = await twoProviders();
    const semaphore = here.locks.createSemaphore('s', 3, { keepMs: KEEP_MS });
    await untilKept(here, semaphore);
    const [used, ...others] = await Promise.all([
      semaphore.acquire(),
      semaphore.acquire(),
      semaphore.acquire(),
    ]);
    await Promise.all(others.map((hold) => hold.release()));
    const limited = there.locks.createSemaphore('s', 3);
    await limited.resize(1);
    const idsHeld = async (): Promise<readonly string[]> =>
      (await limited.inspect())?.holders.map(({ id }) => id) ?? [];
    await eventually('the idle permits are given back', async () => (await idsHeld()).length === 1);
    expect(await idsHeld()).toEqual([used.id]);
    expect(await used.release()).toBe(true);
    expect(await idsHeld()).toEqual([]);
  });
});

it.each([-1, NaN, Infinity, '5', null])('every lock rejects a keepMs of %s', async (keepMs) => {
  const { locks } = await testProvider();
  const options = { keepMs: keepMs as number };
  expect(() => locks.createMutex('a', options)).toThrow(/keepMs must be/);
  expect(() => locks.createSemaphore('s', 2, options)).toThrow(/keepMs must be/);
  expect(() => locks.createReaderWriterLock('r', options)).toThrow(/keepMs must be/);
});
