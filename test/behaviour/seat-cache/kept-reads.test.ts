import { describe, expect, it } from 'vitest';
import { LockLostError } from '../../../src/index.js';
import type { LockHandle, LockProvider, ReaderWriterHandle, ReaderWriterLock } from '../../../src/index.js';
import { eventually, later, staysOpen, within } from '../../../lab/patience.js';
import { testProvider, twoProviders } from '../../support/test-provider.js';
import type { TestProvider } from '../../support/test-provider.js';
import { untilWaiting } from '../../support/waiters.js';
import { untilReadKept } from './until-kept.js';

/** Longer than any test, so that no seat is given back because keepMs has passed. */
const KEEP_MS = 60_000;

/** For tests that count commands: the index would be created at any time. */
const COUNTED = { createIndexes: false };

const idsHeld = async ({ locks }: TestProvider): Promise<readonly string[]> =>
  (await locks.inspect('a'))?.holders.map(({ id }) => id) ?? [];

const isFree = async (provider: TestProvider): Promise<boolean> => (await idsHeld(provider)).length === 0;

const release = (holds: readonly LockHandle[]): Promise<boolean[]> =>
  Promise.all(holds.map((hold) => hold.release()));

/** One process with a kept read, another process, and the lock as each of them sees it. */
async function keeperAndOther() {
  const [here, there] = await twoProviders({ ...COUNTED, leaseMs: 60_000 });
  const lock = here.locks.createReaderWriterLock('a', { keepMs: KEEP_MS });
  await untilReadKept(here, lock);
  return { here, there, lock, others: there.locks.createReaderWriterLock('a') };
}

describe('a kept read', () => {
  it('is shared by all readers of its process at a time, without a command, under one lease and one token', async () => {
    const { here, there, lock } = await keeperAndOther();
    const before = here.commands.length;
    const holds = await Promise.all(Array.from({ length: 50 }, () => lock.acquireRead()));
    const one = await lock.tryAcquireRead();
    expect(here.commands.length).toBe(before);
    const all = [...holds, ...(one === null ? [] : [one])];
    expect(all).toHaveLength(51);
    expect(new Set(all.map(({ id, fencingToken }) => `${id} ${String(fencingToken)}`)).size).toBe(1);
    const { holders = [] } = (await there.locks.inspect('a')) ?? {};
    expect(holders).toMatchObject([{ mode: 'read', keeps: 1, token: one?.fencingToken }]);
    await all[0]?.release();
    expect(all.map(({ isHeld }) => isHeld)).toEqual([false, ...Array.from({ length: 50 }, () => true)]);
    expect(await release(all)).not.toContain(false);
    expect(here.commands.length).toBe(before);
  });

  it('is one lease for readers that come together, once the process hears of writers', async () => {
    const { here, there, lock, others } = await keeperAndOther();
    await (await others.acquireWrite()).release();
    await eventually('the read was given back', () => isFree(there));
    const before = here.commands.length;
    const holds = await Promise.all(Array.from({ length: 20 }, () => lock.acquireRead()));
    expect(here.commands.length - before).toBe(1);
    expect(await idsHeld(there)).toEqual([holds[0]?.id]);
    await release(holds);
  });

  it('is not shared with a reader that asks for another leaseMs', async () => {
    const { there, lock } = await keeperAndOther();
    const [kept, short] = [await lock.acquireRead(), await lock.acquireRead({ leaseMs: 7_000 })];
    expect(short.id).not.toBe(kept.id);
    expect(short.remainingMs).toBeLessThanOrEqual(7_000);
    await short.release();
    expect(await idsHeld(there)).toEqual([kept.id]);
    await kept.release();
  });

  it('is given back after keepMs without a reader', async () => {
    const [here, there] = await twoProviders();
    const lock = here.locks.createReaderWriterLock('a', { keepMs: 2_000 });
    await untilReadKept(here, lock);
    expect(await isFree(there)).toBe(false);
    await eventually('it is given back', () => isFree(there));
    await untilReadKept(here, lock);
  });

  it('is given back by close()', async () => {
    const { here, there } = await keeperAndOther();
    await within(KEEP_MS / 4, 'the close', here.locks.close({ drainMs: KEEP_MS }));
    expect(await isFree(there)).toBe(true);
  });

  it('ends with its last reader if the provider closes meanwhile, and asks each reader to release', async () => {
    const { here, there, lock } = await keeperAndOther();
    const holds = await Promise.all([lock.acquireRead(), lock.acquireRead()]);
    const closed = here.locks.close({ drainMs: KEEP_MS });
    expect(holds.every(({ releaseRequested }) => releaseRequested.aborted)).toBe(true);
    await release(holds);
    await within(KEEP_MS / 4, 'the close', closed);
    expect(await isFree(there)).toBe(true);
  });

  it('does not exist where there is no change stream that reports writers', async () => {
    const here = await testProvider({ wakeups: 'polling' });
    const lock = here.locks.createReaderWriterLock('a', { keepMs: KEEP_MS });
    for (let round = 0; round < 5; round += 1) {
      await release(await Promise.all([lock.acquireRead(), lock.acquireRead()]));
      expect(await isFree(here)).toBe(true);
    }
  });
});

describe('the readers of a kept read', () => {
  it('are all told of its polite revocation, and the next reader has another lease', async () => {
    const { there, lock } = await keeperAndOther();
    const holds = await Promise.all([lock.acquireRead(), lock.acquireRead()]);
    expect((await there.locks.revoke('a', { why: 'maintenance' })).asked).toEqual([holds[0].id]);
    await eventually('both are asked', () => holds.every(({ releaseRequested }) => releaseRequested.aborted));
    const next = await lock.acquireRead();
    expect(next.id).not.toBe(holds[0].id);
    await release([...holds, next]);
  });

  it('all lose it at once if it is evicted, with the reason, and the next reader has another lease', async () => {
    const { here, there, lock } = await keeperAndOther();
    const holds = await Promise.all([lock.acquireRead(), lock.acquireRead()]);
    const lost: unknown[] = [];
    here.locks.on('lost', ({ why }) => lost.push(why));
    await there.locks.revoke('a', { force: true, why: 'maintenance' });
    await eventually('both are lost', () => holds.every(({ signal }) => signal.aborted));
    for (const { signal } of holds) {
      expect(signal.reason).toBeInstanceOf(LockLostError);
      expect(signal.reason).toMatchObject({ why: 'revoked' });
    }
    expect(lost).toEqual(['revoked', 'revoked']);
    const next = await lock.acquireRead();
    expect(next.id).not.toBe(holds[0].id);
    await next.release();
  });

  it('all lose it at its deadline if the store is away, and no reader begins after that', async () => {
    const here = await testProvider({ leaseMs: 1_000, storeTimeoutMs: 300 });
    const lock = here.locks.createReaderWriterLock('a', { keepMs: KEEP_MS });
    await untilReadKept(here, lock);
    const holds = await Promise.all([lock.acquireRead(), lock.acquireRead()]);
    await here.die();
    await eventually('both are lost', () => holds.every(({ signal }) => signal.aborted));
    for (const { signal } of holds) expect(signal.reason).toMatchObject({ why: 'expired' });
    await expect(lock.tryAcquireRead()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });
});

describe('a writer of another process', () => {
  it('gets the lock at once from an idle keeper', async () => {
    const { others } = await keeperAndOther();
    const hold = await within(KEEP_MS / 4, 'the write', others.acquireWrite());
    expect(await hold.release()).toBe(true);
  });

  it('waits for the readers before it only, which leave by one update, and new readers queue behind it (L3)', async () => {
    const { here, there, lock, others } = await keeperAndOther();
    const early = await Promise.all([lock.acquireRead(), lock.acquireRead(), lock.acquireRead()]);
    const write = later(others.acquireWrite());
    await untilWaiting(there.locks, 'a');
    const late = await readerThatWaits(lock);
    await untilWaiting(there.locks, 'a', 2);
    const before = here.commands.length;
    await early[0].release();
    await early[1].release();
    expect(here.commands.slice(before).map(({ commandName }) => commandName)).not.toContain('findAndModify');
    await early[2].release();
    const written = await write;
    expect(
      here.commands.slice(before).filter(({ commandName }) => commandName === 'findAndModify'),
    ).toHaveLength(1);
    expect(written.fencingToken).toBeGreaterThan(early[0].fencingToken);
    expect(await staysOpen(late.granted, 50)).toBe(true);
    await written.release();
    await (await late.granted).release();
    await untilReadKept(here, lock);
  });

  it('fails at its first try, and succeeds at a later one', async () => {
    const { others } = await keeperAndOther();
    expect(await others.tryAcquireWrite()).toBeNull();
    const hold = await eventually('a try succeeds', () => others.tryAcquireWrite());
    await hold.release();
  });

  it('gets the lock after the lease of a keeper that has died', async () => {
    const [here, there] = await twoProviders({ leaseMs: 1_000 });
    const lock = here.locks.createReaderWriterLock('a', { keepMs: KEEP_MS });
    await untilReadKept(here, lock);
    await here.die();
    const hold = await there.locks.createReaderWriterLock('a').acquireWrite();
    await hold.release();
  });

  it('is noticed by the next extension if the wake-up about it was lost', async () => {
    const here = await testProvider({ leaseMs: 3_000 });
    const lock = here.locks.createReaderWriterLock('a', { keepMs: KEEP_MS });
    await untilReadKept(here, lock);
    // Without a word in `wake`, as if the change stream had broken.
    await here.tamper('a', { $set: { writerWaiting: true } });
    await eventually('the read is given back', () => isFree(here));
  });

  it('gets the lock from forty idle keepers', async () => {
    const { database, locks } = await testProvider(COUNTED);
    const keepers = await Promise.all(
      Array.from({ length: 40 }, () => database.connected({ ...COUNTED, leaseMs: 60_000 })),
    );
    await Promise.all(
      keepers.map((keeper) =>
        untilReadKept(keeper, keeper.locks.createReaderWriterLock('a', { keepMs: KEEP_MS })),
      ),
    );
    expect((await locks.inspect('a'))?.holders).toHaveLength(40);
    const hold = await within(KEEP_MS / 2, 'the write', locks.createReaderWriterLock('a').acquireWrite());
    await hold.release();
  });
});

describe('an upgrade of another process', () => {
  it('gets the write from an idle keeper', async () => {
    const { others } = await keeperAndOther();
    const hold = await others.acquireUpgradeableRead();
    await within(KEEP_MS / 4, 'the upgrade', hold.upgrade());
    expect(hold.currentMode()).toBe('write');
    await hold.release();
  });

  it('waits for the readers before it only, and new readers queue behind it', async () => {
    const { there, lock, others } = await keeperAndOther();
    const early = await lock.acquireRead();
    const hold = await others.acquireUpgradeableRead();
    await expectUpgradeBetween(early, hold, { lock, watching: there.locks });
  });
});

describe('a write of the process that keeps the read', () => {
  it('gets the lock from the idle read in one update, also by a try', async () => {
    const { here, lock } = await keeperAndOther();
    const before = here.commands.length;
    const tried = await lock.tryAcquireWrite();
    expect(here.commands.length - before).toBe(1);
    await tried?.release();
    expect(tried).not.toBeNull();
    await untilReadKept(here, lock);
    await (await within(KEEP_MS / 4, 'the write', lock.acquireWrite())).release();
  });

  it('waits for the readers before it only, and new readers queue behind it', async () => {
    const { here, there, lock } = await keeperAndOther();
    const early = await lock.acquireRead();
    const write = later(lock.acquireWrite());
    const late = later(lock.acquireRead());
    await untilWaiting(there.locks, 'a', 2);
    await early.release();
    const written = await write;
    expect(await staysOpen(late, 50)).toBe(true);
    await written.release();
    await (await late).release();
    await untilReadKept(here, lock);
  });

  it('that is given up lets readers share the read again', async () => {
    const { here, lock } = await keeperAndOther();
    const early = await lock.acquireRead();
    expect(await lock.tryAcquireWrite()).toBeNull();
    await expect(lock.acquireWrite({ timeoutMs: 50 })).rejects.toMatchObject({ code: 'ACQUIRE_TIMEOUT' });
    await eventually('a reader shares it', async () => {
      const before = here.commands.length;
      await (await lock.acquireRead()).release();
      return here.commands.length === before;
    });
    expect(early.isHeld).toBe(true);
    await early.release();
  });

  it('within the work of useRead is a DeadlockError, and a nested read shares the lease', async () => {
    const { lock } = await keeperAndOther();
    await lock.useRead(async (outer) => {
      await lock.useRead((inner) => {
        expect(inner.id).toBe(outer.id);
      });
      await expect(lock.acquireWrite()).rejects.toMatchObject({ code: 'DEADLOCK' });
    });
  });
});

describe('a hold whose mode can change, of the process that keeps the read', () => {
  it('has a lease of its own, and goes on as such after a downgrade to read', async () => {
    const { there, lock } = await keeperAndOther();
    const read = await lock.acquireRead();
    const hold = await lock.acquireUpgradeableRead();
    expect(hold.id).not.toBe(read.id);
    await hold.downgrade('read');
    const other = await lock.acquireRead();
    expect([other.id, hold.id === read.id]).toEqual([read.id, false]);
    await release([read, other]);
    expect(hold.isHeld).toBe(true);
    expect(await idsHeld(there)).toContain(hold.id);
    await hold.release();
  });

  it('ends the sharing while it waits, although it would not exclude readers', async () => {
    const { here, there, lock, others } = await keeperAndOther();
    const upgradeable = await others.acquireUpgradeableRead();
    const heard = new Promise((resolve) => here.locks.once('waiting', resolve));
    const second = later(lock.acquireUpgradeableRead());
    await heard;
    const late = later(lock.acquireRead());
    await untilWaiting(there.locks, 'a', 2);
    await upgradeable.release();
    await (await late).release();
    await (await second).release();
    await untilReadKept(here, lock);
  });

  it('upgrades by a single try although the kept read is idle', async () => {
    const { lock } = await keeperAndOther();
    const hold = await lock.acquireUpgradeableRead();
    expect(await hold.tryUpgrade()).toBe(true);
    await hold.release();
  });

  it('waits in its upgrade for the readers before it only, and new readers queue behind it', async () => {
    const { here, there, lock } = await keeperAndOther();
    const hold = await lock.acquireUpgradeableRead();
    const early = await lock.acquireRead();
    expect(await hold.tryUpgrade()).toBe(false);
    await expectUpgradeBetween(early, hold, { lock, watching: there.locks });
    await untilReadKept(here, lock);
  });
});

/**
 * Expects the upgrade of `hold` to wait for `early` only, and a reader that asks after the upgrade to wait until `hold`
 * is released.
 */
async function expectUpgradeBetween(
  early: LockHandle,
  hold: ReaderWriterHandle,
  { lock, watching }: { readonly lock: ReaderWriterLock; readonly watching: LockProvider },
): Promise<void> {
  const upgraded = later(hold.upgrade());
  const late = await readerThatWaits(lock);
  await untilWaiting(watching, 'a');
  await early.release();
  await upgraded;
  expect(await staysOpen(late.granted, 50)).toBe(true);
  await hold.release();
  await (await late.granted).release();
}

/** Sends readers until one has to wait. */
async function readerThatWaits(lock: {
  acquireRead(): Promise<LockHandle>;
}): Promise<{ readonly granted: Promise<LockHandle> }> {
  return await eventually('a new reader waits', async () => {
    const granted = later(lock.acquireRead());
    // In an object: an async function would await the promise.
    if (await staysOpen(granted, 100)) return { granted };
    await (await granted).release();
    return undefined;
  });
}
