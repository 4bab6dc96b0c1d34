import { describe, expect, it } from 'vitest';
import { StoreUnavailableError } from '../../../src/index.js';
import { rejection } from '../../../lab/patience.js';
import { failCommands, testProvider, twoProviders, useOwnServer } from '../../support/test-provider.js';
import type { TestProvider } from '../../support/test-provider.js';
import { untilWaiting } from '../../support/waiters.js';

useOwnServer();

const updates = ({ commands }: TestProvider): readonly string[] =>
  commands
    .filter(({ commandName }) => commandName === 'findAndModify')
    .map(({ command }) => JSON.stringify(command['update']));

describe('a resize', () => {
  it('without an answer is repeated unchanged, and settles only when no copy of it can take effect any more (E1, E2)', async () => {
    const provider = await testProvider({ storeTimeoutMs: 4_000 });
    const semaphore = provider.locks.createSemaphore('s', 5);
    const permit = await semaphore.acquire();
    provider.commands.length = 0;
    await failCommands(
      provider,
      { times: 2 },
      {
        failCommands: ['findAndModify'],
        writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' },
      },
    );
    await semaphore.resize(7);
    const serverMs = await provider.serverNowMs();
    const [update = '', ...repeats] = updates(provider);
    expect(repeats).toEqual([update, update]);
    const [notAfter = ''] = /\d{4}-\d\d-\d\dT[^"]+Z/.exec(update) ?? [];
    expect(serverMs).toBeGreaterThan(Date.parse(notAfter));
    expect(semaphore.limit).toBe(7);
    expect(await semaphore.available()).toBe(6);
    await permit.release();
  });

  it('rejects after storeTimeoutMs with an unknown outcome if the store does not answer', async () => {
    const provider = await testProvider({ storeTimeoutMs: 400 });
    const semaphore = provider.locks.createSemaphore('s', 5);
    const permit = await semaphore.acquire();
    await failCommands(provider, 'alwaysOn', { failCommands: ['findAndModify'], errorCode: 189 });
    const startedMs = performance.now();
    const error = await rejection(semaphore.resize(7));
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect(error).toMatchObject({ outcomeKnown: false, lockName: 's' });
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    expect(semaphore.limit).toBe(5);
    expect(permit.isHeld).toBe(true);
  });

  it('rejects at once if the server refuses it, and changes nothing', async () => {
    const provider = await testProvider();
    const semaphore = provider.locks.createSemaphore('s', 5);
    const permit = await semaphore.acquire();
    const heal = await failCommands(provider, 'alwaysOn', { failCommands: ['findAndModify'], errorCode: 13 });
    expect(await rejection(semaphore.resize(7))).toMatchObject({ outcomeKnown: true, cause: { code: 13 } });
    await heal();
    expect(await semaphore.available()).toBe(4);
    await permit.release();
  });

  it('before the first use of a semaphore is remembered for that use', async () => {
    const [one, other] = await twoProviders();
    const semaphore = one.locks.createSemaphore('s', 5);
    await semaphore.resize(7);
    expect(await one.document('s')).toBeNull();
    expect(semaphore.limit).toBe(7);
    await using permits = await semaphore.acquire({ permits: 7 });
    expect(permits.permits).toBe(7);
    expect(await other.locks.createSemaphore('s', 7).available()).toBe(0);
  });

  it('takes over an idle lock of another kind, and rejects if that lock is in use', async () => {
    const { locks } = await testProvider();
    const mutex = await locks.acquireMutex('s');
    const semaphore = locks.createSemaphore('s', 5);
    expect(await rejection(semaphore.resize(7))).toMatchObject({
      code: 'LOCK_KIND_MISMATCH',
      expected: 'semaphore',
      actual: 'mutex',
    });
    expect(await rejection(semaphore.available())).toMatchObject({ code: 'LOCK_KIND_MISMATCH' });
    await mutex.release();
    await semaphore.resize(7);
    await using permits = await semaphore.acquire({ permits: 7 });
    expect(permits.fencingToken).toBeGreaterThan(mutex.fencingToken);
  });

  it('rejects if the document is corrupt, and does not touch it', async () => {
    const provider = await testProvider();
    const semaphore = provider.locks.createSemaphore('s', 5);
    await (await semaphore.acquire()).release();
    for (const [field, value] of [
      ['limit', 0],
      ['holders', 'nobody'],
      ['queue', { w1: { process: 'p', leaseMs: 1_000, expiresAt: new Date(), permits: 0 } }],
    ] as const) {
      const before = (await provider.document('s'))?.[field] as unknown;
      await provider.tamper('s', { $set: { [field]: value } });
      const corrupt = await provider.document('s');
      expect(await rejection(semaphore.resize(7)), field).toMatchObject({ code: 'CORRUPT_LOCK_DOCUMENT' });
      expect(await provider.document('s')).toEqual(corrupt);
      await provider.tamper('s', { $set: { [field]: before } });
    }
    await semaphore.resize(7);
    expect(semaphore.limit).toBe(7);
  });

  it('rejects once the provider is closed', async () => {
    const { locks } = await testProvider();
    const semaphore = locks.createSemaphore('s', 5);
    await locks.close();
    expect(await rejection(semaphore.resize(7))).toMatchObject({ code: 'PROVIDER_CLOSED' });
    expect(await rejection(semaphore.available())).toMatchObject({ code: 'PROVIDER_CLOSED' });
  });

  it('takes effect in the order of the calls if several are made at once', async () => {
    const { locks } = await testProvider();
    const semaphore = locks.createSemaphore('s', 5);
    await using permit = await semaphore.acquire();
    await Promise.all([3, 9, 4, 8].map((limit) => semaphore.resize(limit)));
    expect(permit.isHeld).toBe(true);
    expect((await semaphore.inspect())?.limit).toBe(8);
  });
});

describe('a resize by another process', () => {
  const both = async (whenLimitDiffers: 'throw' | 'resize') => {
    const [one, other] = await twoProviders({ leaseMs: 60_000 });
    const holder = await other.locks.createSemaphore('s', 5).acquire();
    const semaphore = one.locks.createSemaphore('s', 5, { whenLimitDiffers });
    const waiting = semaphore.acquire({ permits: 5 });
    waiting.catch(() => undefined);
    await untilWaiting(other.locks, 's');
    return { semaphore, other: other.locks.createSemaphore('s', 5), holder, waiting };
  };

  it.each(['throw', 'resize'] as const)(
    'is not undone by a waiter for more permits than the new limit, which is rejected (whenLimitDiffers: %s)',
    async (whenLimitDiffers) => {
      const { semaphore, other, holder, waiting } = await both(whenLimitDiffers);
      await other.resize(3);
      expect(await rejection(waiting)).toMatchObject({
        code: 'SEMAPHORE_LIMIT_MISMATCH',
        expected: 5,
        actual: 3,
      });
      expect((await other.inspect())?.limit).toBe(3);
      expect(semaphore.limit).toBe(3);
      await holder.release();
    },
  );
});

describe('a request inside a hold of its own chain of calls', () => {
  it('is rejected as a deadlock behind a waiter that may be waiting for that hold', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000 });
    const semaphore = one.locks.createSemaphore('s', 3);
    const work = semaphore.use(async () => {
      const all = other.locks.createSemaphore('s', 3).acquire({ permits: 3 });
      await untilWaiting(one.locks, 's');
      const error = await rejection(semaphore.acquire());
      return { all, error };
    });
    const { all, error } = await work;
    expect(error).toMatchObject({ code: 'DEADLOCK' });
    await (await all).release();
    expect(await semaphore.available()).toBe(3);
  });
});
