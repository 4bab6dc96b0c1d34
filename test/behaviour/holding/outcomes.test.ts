import { Long } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { ProviderClosedError, StoreUnavailableError } from '../../../src/index.js';
import { eventually, later, rejection } from '../../../lab/patience.js';
import { failCommands, testProvider, twoProviders, useOwnServer } from '../../support/test-provider.js';
import type { TestProvider } from '../../support/test-provider.js';
import { untilWaiting } from '../../support/waiters.js';

useOwnServer();

const attempts = ({ commands }: TestProvider): { _id: string; ids: readonly string[] }[] =>
  commands
    .filter(({ commandName }) => commandName === 'findAndModify')
    .map(({ command }) => ({
      _id: String((command['query'] as { _id: unknown })._id),
      ids: [...new Set(JSON.stringify(command['update']).match(/w[0-9a-f]{24}/g) ?? [])],
    }));

describe('an unknown outcome', () => {
  it('is settled by repeating the same attempt, with the same not-after (E1, E2)', async () => {
    const provider = await testProvider({ leaseMs: 60_000 });
    await (await provider.locks.acquireMutex('warm')).release();
    provider.commands.length = 0;
    await failCommands(
      provider,
      { times: 3 },
      {
        failCommands: ['findAndModify'],
        writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' },
      },
    );
    const lock = await provider.locks.acquireMutex('a');
    expect(attempts(provider).map(({ ids }) => ids)).toEqual(Array(4).fill([lock.id]));
    const requests = provider.commands.filter(({ commandName }) => commandName === 'findAndModify');
    const updates = requests.map(({ command }) => JSON.stringify(command['update']));
    // The first copy takes the fast path. A repeat cannot, because a fast path does not know an earlier copy.
    expect(new Set(updates.slice(1)).size).toBe(1);
    const notAfters = updates.map((update) => /"\$lte":\["\$\$NOW","([^"]+)"\]/.exec(update)?.[1]);
    expect(notAfters).toEqual(Array(4).fill(expect.any(String)));
    expect(new Set(notAfters).size).toBe(1);
    const snapshot = await provider.locks.inspect('a');
    expect(snapshot).toMatchObject({ holders: [{ id: lock.id }], waiters: [] });
  });

  it('is not settled by a corrupt document that shows the attempt in the seat', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000, createIndexes: false });
    const heal = await failCommands(one, 'alwaysOn', {
      failCommands: ['findAndModify'],
      writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' },
    });
    const acquiring = later(one.locks.acquireMutex('a'));
    await eventually('it is granted', async () => (await other.document('a'))?.['holder'] !== undefined);
    await other.tamper('a', { $set: { 'holder.token': Long.fromNumber(-7) } });
    await heal();
    expect(await rejection(acquiring)).toMatchObject({ code: 'CORRUPT_LOCK_DOCUMENT' });
  });

  it('does not end confirm() while the set changes its primary', async () => {
    const provider = await testProvider({ leaseMs: 60_000 });
    const lock = await provider.locks.acquireMutex('a');
    await failCommands(provider, { times: 3 }, { failCommands: ['update', 'bulkWrite'], errorCode: 10_107 });
    await lock.confirm();
    expect(lock.isHeld).toBe(true);
    await lock.release();
  });

  it('ends confirm() at once, with its cause, if the server refuses the extension', async () => {
    const provider = await testProvider({ leaseMs: 60_000, storeTimeoutMs: 30_000 });
    const lock = await provider.locks.acquireMutex('a');
    const heal = await failCommands(provider, 'alwaysOn', {
      failCommands: ['update', 'bulkWrite'],
      errorCode: 13,
    });
    const error = await rejection(lock.confirm());
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect(error).toMatchObject({ cause: { code: 13 } });
    await heal();
    await lock.release();
  });

  it.for(['closeConnection', 'errorCode', 'writeConcernError'])(
    'does not end a waiting acquire, which gets its lock in the end (%s)',
    async (kind) => {
      const [one, other] = await twoProviders({ leaseMs: 60_000 });
      const faults = {
        closeConnection: { closeConnection: true },
        errorCode: { errorCode: 189 },
        writeConcernError: { writeConcernError: { code: 91, errmsg: 'shutting down' } },
      };
      const lock = await one.locks.acquireMutex('a');
      const heal = await failCommands(other, 'alwaysOn', {
        failCommands: ['findAndModify', 'hello'],
        ...faults[kind as keyof typeof faults],
      });
      const waiting = other.locks.acquireMutex('a', { timeoutMs: 30_000 });
      let errors = 0;
      other.locks.on('storeError', () => (errors += 1));
      await eventually('a few failures', () => errors >= 3);
      await heal();
      await lock.release();
      const next = await waiting;
      expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
      await next.release();
      expect(await one.locks.inspect('a')).toMatchObject({ holders: [], waiters: [] });
    },
  );

  it('makes a try fail after storeTimeoutMs, and the seat that the try took is given back', async () => {
    const [provider, other] = await twoProviders({ storeTimeoutMs: 500, leaseMs: 60_000 });
    await (await provider.locks.acquireMutex('warm')).release();
    const heal = await failCommands(provider, 'alwaysOn', {
      failCommands: ['findAndModify'],
      writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' },
    });
    const startedMs = performance.now();
    const error: unknown = await provider.locks.tryAcquireMutex('a').catch((reason: unknown) => reason);
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', outcomeKnown: false, lockName: 'a' });
    await heal();
    // The server applied the try. If the seat were not given back, the lock would stay taken for a minute.
    await (await other.locks.acquireMutex('a', { timeoutMs: 15_000 })).release();
  });

  it('does not keep a waiting acquire far beyond its timeout', async () => {
    const provider = await testProvider({ storeTimeoutMs: 10_000 });
    await (await provider.locks.acquireMutex('warm')).release();
    await failCommands(provider, 'alwaysOn', {
      failCommands: ['findAndModify'],
      blockConnection: true,
      blockTimeMS: 6_000,
    });
    const startedMs = performance.now();
    const error: unknown = await provider.locks
      .acquireMutex('a', { timeoutMs: 300 })
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'ACQUIRE_TIMEOUT' });
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });
});

describe('an acquire', () => {
  it('fails at once if the server refuses it, with the cause and outcomeKnown: true', async () => {
    const provider = await testProvider();
    await failCommands(provider, 'alwaysOn', { failCommands: ['findAndModify'], errorCode: 13 });
    const error: unknown = await provider.locks.acquireMutex('a').catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect(error).toMatchObject({ outcomeKnown: true, cause: { code: 13 } });
  });

  it('fails if the client has been closed', async () => {
    const provider = await testProvider();
    await (await provider.locks.acquireMutex('a')).release();
    await provider.client.close();
    await expect(provider.locks.acquireMutex('a')).rejects.toThrow(StoreUnavailableError);
    await provider.client.connect();
  });
});

describe('a request that reaches the server after its not-after', () => {
  it('changes nothing, and is sent again under another id', async () => {
    const provider = await testProvider({ leaseMs: 3_000, storeTimeoutMs: 15_000 });
    await (await provider.locks.acquireMutex('warm')).release();
    provider.commands.length = 0;
    await failCommands(
      provider,
      { times: 1 },
      {
        failCommands: ['findAndModify'],
        blockConnection: true,
        blockTimeMS: 3_500,
      },
    );
    const lock = await provider.locks.acquireMutex('a');
    const ids = attempts(provider).flatMap((attempt) => attempt.ids);
    // The late copy took the fast path; the whole transition then shows that the request is too late.
    expect(ids).toHaveLength(3);
    expect(ids[2]).toBe(lock.id);
    expect(new Set(ids).size).toBe(2);
  });
});

describe('closing a provider', () => {
  it('rejects waiters and later requests, asks holders to release, and resolves when they have', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000 });
    const mine = await other.locks.acquireMutex('mine');
    const lock = await one.locks.acquireMutex('a');
    const waiting = other.locks.acquireMutex('a');
    const rejected = expect(waiting).rejects.toThrow(ProviderClosedError);
    await untilWaiting(one.locks, 'a');
    let isClosed = false;
    const closing = other.locks.close().then(() => (isClosed = true));
    await rejected;
    expect(mine.releaseRequested.aborted).toBe(true);
    expect(mine.isHeld).toBe(true);
    expect(isClosed).toBe(false);
    await expect(other.locks.acquireMutex('b')).rejects.toThrow(ProviderClosedError);
    expect(await mine.release()).toBe(true);
    await closing;
    expect(mine.signal.aborted).toBe(false);
    expect(await one.locks.inspect('mine')).toMatchObject({ holders: [] });
    expect(await one.locks.inspect('a')).toMatchObject({ holders: [{ id: lock.id }], waiters: [] });
  });

  it('aborts the signals of the remaining holds after drainMs, and lets their leases expire', async () => {
    const [one, other] = await twoProviders({ leaseMs: 4_000 });
    const lock = await one.locks.acquireMutex('a');
    await one.locks.close({ drainMs: 100 });
    expect(lock.signal.reason).toMatchObject({ why: 'provider-closed' });
    expect(lock.isHeld).toBe(false);
    expect(await other.locks.tryAcquireMutex('a')).toBeNull();
    expect((await other.locks.acquireMutex('a', { timeoutMs: 10_000 })).isHeld).toBe(true);
    await one.locks.close();
  });
});
