import { describe, expect, it } from 'vitest';
import type { LockHandle, LockProvider } from '../../../src/index.js';
import { eventually, within } from '../../../lab/patience.js';
import { failCommands, testProvider, twoProviders, useOwnServer } from '../../support/test-provider.js';
import type { TestProvider } from '../../support/test-provider.js';
import { untilWaiting } from '../../support/waiters.js';

useOwnServer();

const KINDS: Readonly<Record<string, (locks: LockProvider) => Promise<LockHandle | null>>> = {
  mutex: (locks) => locks.tryAcquireMutex('a'),
  read: (locks) => locks.createReaderWriterLock('a').tryAcquireRead(),
  'upgradeable read': (locks) => locks.createReaderWriterLock('a').tryAcquireUpgradeableRead(),
  write: (locks) => locks.createReaderWriterLock('a').tryAcquireWrite(),
  permits: (locks) => locks.createSemaphore('a', 3).tryAcquire({ permits: 2 }),
};

/** How many stages each update had. An update on the fast path has one, or two if it may create the document. */
const stages = ({ commands }: TestProvider): readonly number[] =>
  commands
    .filter(({ commandName }) => commandName === 'findAndModify')
    .map(({ command }) => (command['update'] as readonly unknown[]).length);

const take = async (provider: TestProvider, kind: string): Promise<LockHandle> => {
  const lock = await KINDS[kind]?.(provider.locks);
  if (lock === null || lock === undefined) throw new Error(`not granted: ${kind}`);
  return lock;
};

/** Releases on the fast path, so that the next acquire takes it too. A long hold, as on a busy machine, prevents it. */
const releaseOnFastPath = (provider: TestProvider, kind: string): Promise<unknown> =>
  eventually('a release on the fast path', async () => {
    await (await take(provider, kind)).release();
    return stages(provider).at(-1) === 1;
  });

describe.each(Object.keys(KINDS))('an uncontended lock, acquired as %s', (kind) => {
  it('is acquired and released on the fast path, also for the first time', async () => {
    const provider = await testProvider({ leaseMs: 60_000 });
    const tokens: number[] = [];
    const takeAndGiveBack = async (): Promise<void> => {
      const lock = await take(provider, kind);
      tokens.push(lock.fencingToken);
      expect(await lock.release()).toBe(true);
    };
    await takeAndGiveBack();
    // The first stage makes a lock of a new document.
    expect(stages(provider)[0]).toBe(2);
    await eventually('two rounds on the fast path', async () => {
      await takeAndGiveBack();
      return stages(provider).slice(-4).join() === '1,1,1,1';
    });
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    expect(await provider.locks.inspect('a')).toMatchObject({ holders: [], waiters: [] });
  });

  it('is found busy by the full transition if another process has acquired it meanwhile', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000 });
    await releaseOnFastPath(one, kind);
    const taken =
      kind === 'mutex'
        ? await other.locks.acquireMutex('a')
        : kind === 'permits'
          ? await other.locks.createSemaphore('a', 3).acquire({ permits: 2 })
          : await other.locks.createReaderWriterLock('a').acquireWrite();
    one.commands.length = 0;
    expect(await KINDS[kind]?.(one.locks)).toBeNull();
    expect(stages(one)).toHaveLength(2);
    await taken.release();
    expect((await take(one, kind)).isHeld).toBe(true);
  });

  it('goes to a waiter at its release, however short the hold was', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000 });
    await releaseOnFastPath(one, kind);
    const lock = await take(one, kind);
    const waiting =
      kind === 'mutex'
        ? other.locks.acquireMutex('a')
        : kind === 'permits'
          ? other.locks.createSemaphore('a', 3).acquire({ permits: 3 })
          : other.locks.createReaderWriterLock('a').acquireWrite();
    await untilWaiting(other.locks, 'a');
    expect(await lock.release()).toBe(true);
    const next = await within(10_000, 'the hand-over', waiting);
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
  });
});

describe('an unknown outcome on the fast path', () => {
  const unknown = {
    failCommands: ['findAndModify'],
    writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' },
  };

  it('is settled by the full transition under the same id, and there is one lease', async () => {
    const provider = await testProvider({ leaseMs: 60_000 });
    await releaseOnFastPath(provider, 'mutex');
    provider.commands.length = 0;
    await failCommands(provider, { times: 1 }, unknown);
    const lock = await provider.locks.acquireMutex('a');
    expect(stages(provider)[0]).toBe(1);
    expect(stages(provider)[1]).toBeGreaterThan(1);
    const snapshot = await provider.locks.inspect('a');
    expect(snapshot?.holders).toMatchObject([{ id: lock.id, token: lock.fencingToken }]);
  });

  it('is settled by the full transition at a release, which returns true', async () => {
    const provider = await testProvider({ leaseMs: 60_000 });
    const lock = await provider.locks.acquireMutex('a');
    await failCommands(provider, { times: 1 }, unknown);
    expect(await lock.release()).toBe(true);
    expect(await provider.locks.inspect('a')).toMatchObject({ holders: [], waiters: [] });
  });
});

describe('an acquire after an uncontended release', () => {
  it('leaves a document untouched that has become corrupt', async () => {
    const provider = await testProvider({ leaseMs: 60_000 });
    await releaseOnFastPath(provider, 'mutex');
    await provider.tamper('a', { $set: { fence: 'x' } });
    await expect(provider.locks.acquireMutex('a')).rejects.toMatchObject({ code: 'CORRUPT_LOCK_DOCUMENT' });
    expect(await provider.document('a')).toMatchObject({ fence: 'x', holder: null });
  });

  it('creates the document again if it was deleted', async () => {
    const provider = await testProvider({ leaseMs: 60_000 });
    const before = await provider.locks.acquireMutex('a');
    await before.release();
    await provider.db.collection('distributed.locks').deleteMany({});
    const after = await provider.locks.acquireMutex('a');
    expect(after.fencingToken).toBeGreaterThan(before.fencingToken);
    expect(await provider.locks.inspect('a')).toMatchObject({ holders: [{ id: after.id }] });
  });
});
