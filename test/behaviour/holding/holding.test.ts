import { describe, expect, it } from 'vitest';
import { LockLostError, StoreUnavailableError } from '../../../src/index.js';
import type { LockHandle, LockProvider } from '../../../src/index.js';
import { eventually } from '../../../lab/patience.js';
import { failCommands, testProvider, twoProviders, useOwnServer } from '../../support/test-provider.js';
import { untilWaiting } from '../../support/waiters.js';

useOwnServer();

/** How much of the stored lease is left by the server's clock. */
async function storedLeaseMs(locks: LockProvider, name: string): Promise<number> {
  const snapshot = await locks.inspect(name);
  const [holder] = snapshot?.holders ?? [];
  if (snapshot === null || holder === undefined) throw new Error('not held');
  return holder.expiresAt.getTime() - snapshot.asOf.getTime();
}

describe('the deadline of a hold', () => {
  it('counts from before the request was sent, not from its answer', async () => {
    const provider = await testProvider({ leaseMs: 6_000, clockAllowanceMs: 600 });
    await (await provider.locks.acquireMutex('warm')).release();
    await failCommands(
      provider,
      { times: 1 },
      {
        failCommands: ['findAndModify'],
        blockConnection: true,
        blockTimeMS: 500,
      },
    );
    const lock = await provider.locks.acquireMutex('a');
    expect(lock.remainingMs).toBeGreaterThan(0);
    expect(lock.remainingMs).toBeLessThanOrEqual(6_000 - 600 - 500);
  });

  it('follows the stored lease if only a repeat of the request gets an answer', async () => {
    const provider = await testProvider({ leaseMs: 30_000, clockAllowanceMs: 3_000 });
    await (await provider.locks.acquireMutex('warm')).release();
    // The server applies each update, but reports that no majority has it yet. Only the last answer is clean.
    await failCommands(
      provider,
      { times: 6 },
      {
        failCommands: ['findAndModify'],
        writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' },
      },
    );
    const startedMs = performance.now();
    const lock = await provider.locks.acquireMutex('a');
    const tookMs = performance.now() - startedMs;
    // The pauses between the repeats alone take longer than this.
    expect(tookMs).toBeGreaterThan(100);
    const left = await storedLeaseMs(provider.locks, 'a');
    expect(lock.remainingMs).toBeLessThanOrEqual(left - 3_000 + 5);
    const snapshot = await provider.locks.inspect('a');
    expect(snapshot?.holders.map(({ token }) => token)).toEqual([lock.fencingToken]);
  });

  it('passes on time, and not earlier, although every extension hangs', async () => {
    const provider = await testProvider({ leaseMs: 1_500, clockAllowanceMs: 150, storeTimeoutMs: 400 });
    const lock = await provider.locks.acquireMutex('a');
    const reasons: unknown[] = [];
    lock.signal.addEventListener('abort', () => reasons.push(lock.signal.reason));
    await failCommands(provider, 'alwaysOn', {
      failCommands: ['update'],
      blockConnection: true,
      blockTimeMS: 2_000,
    });
    const startedMs = performance.now();
    const remainingMs = lock.remainingMs;
    await eventually('the lost signal', () => lock.signal.aborted);
    const tookMs = performance.now() - startedMs;
    expect(tookMs).toBeGreaterThanOrEqual(remainingMs - 5);
    expect(reasons).toEqual([expect.any(LockLostError)]);
    expect(reasons).toEqual([expect.objectContaining({ why: 'expired' })]);
    expect(lock.isHeld).toBe(false);
    expect(await lock.release()).toBe(false);
  });
});

describe('an extension', () => {
  it('does not end the hold if it gets no answer and the store comes back in time (E17)', async () => {
    const provider = await testProvider({ leaseMs: 30_000, extendEveryMs: 2_000 });
    const lock = await provider.locks.acquireMutex('a');
    await failCommands(provider, { times: 3 }, { failCommands: ['update'], closeConnection: true });
    let errors = 0;
    provider.locks.on('storeError', () => (errors += 1));
    const extended = new Promise((resolve) => provider.locks.once('extended', resolve));
    await extended;
    expect(errors).toBeGreaterThan(0);
    expect(lock.isHeld).toBe(true);
    expect(await lock.release()).toBe(true);
  });

  it('covers all due leases by one update and one read', async () => {
    const provider = await testProvider({ leaseMs: 30_000, extendEveryMs: 1_300 });
    const locks = await Promise.all(
      Array.from({ length: 40 }, (_, i) => provider.locks.acquireMutex(`n${String(i)}`)),
    );
    const seen = new Set<string>();
    provider.locks.on('extended', ({ id }) => seen.add(id));
    await eventually('all extended', () => seen.size === 40);
    provider.commands.length = 0;
    seen.clear();
    await eventually('all extended again', () => seen.size === 40);
    const updates = provider.commands.filter(({ commandName }) => commandName === 'update');
    const reads = provider.commands.filter(({ commandName }) => commandName === 'find');
    expect(updates.length).toBeLessThanOrEqual(3);
    expect(reads.length).toBeLessThanOrEqual(3);
    expect(locks.every((lock) => lock.isHeld)).toBe(true);
  });

  it.for<[string, object, string]>([
    ['the document is deleted', {}, 'document-missing'],
    ['the seat is empty', { $set: { holder: null } }, 'evicted'],
    ['the lease has another token', { $inc: { 'holder.token': 1 } }, 'evicted'],
    ['the lease has another id', { $set: { 'holder.id': 'w0' } }, 'evicted'],
    ['the lease has expired', { $set: { 'holder.expiresAt': new Date(0) } }, 'evicted'],
  ])('finds the hold lost when %s', async ([, update, why]) => {
    const provider = await testProvider({ leaseMs: 30_000 });
    const lock = await provider.locks.acquireMutex('a');
    if (why === 'document-missing') await provider.db.collection('distributed.locks').deleteMany({});
    else await provider.tamper('a', update);
    await expect(lock.confirm()).rejects.toMatchObject({ code: 'LOCK_LOST', why });
    expect(lock.isHeld).toBe(false);
    expect(lock.signal.reason).toMatchObject({ why });
    expect(() => {
      lock.assertHeld();
    }).toThrow(LockLostError);
  });

  it('finds within one period that the document is gone, and the next token is still higher', async () => {
    const provider = await testProvider({ leaseMs: 9_000 });
    const lock = await provider.locks.acquireMutex('a');
    await provider.db.collection('distributed.locks').deleteMany({});
    const startedMs = performance.now();
    await eventually('the lost signal', () => lock.signal.aborted);
    expect(performance.now() - startedMs).toBeLessThan(8_000);
    const next = await provider.locks.acquireMutex('a');
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
  });
});

describe('confirm', () => {
  it('extends the lease, as remainingMs shows', async () => {
    const { locks } = await testProvider({ leaseMs: 60_000, clockAllowanceMs: 0 });
    const lock = await locks.acquireMutex('a');
    await eventually('time passes', () => lock.remainingMs < 59_000);
    const askedMs = performance.now();
    await lock.confirm();
    const answeredMs = performance.now();
    // The deadline counts from before the answer: a late one extends by less.
    expect(answeredMs + lock.remainingMs).toBeGreaterThan(askedMs + 59_990 - (answeredMs - askedMs));
  });

  it('rejects if the store does not answer, and the hold goes on', async () => {
    const provider = await testProvider({ storeTimeoutMs: 200 });
    const lock = await provider.locks.acquireMutex('a');
    await failCommands(provider, 'alwaysOn', {
      failCommands: ['update'],
      blockConnection: true,
      blockTimeMS: 2_000,
    });
    await expect(lock.confirm()).rejects.toThrow(StoreUnavailableError);
    expect(lock.isHeld).toBe(true);
  });

  it('rejects after a release, and names the release as the reason', async () => {
    const { locks } = await testProvider();
    const lock = await locks.acquireMutex('a');
    await lock.release();
    await expect(lock.confirm()).rejects.toMatchObject({ why: 'released' });
    expect(() => {
      lock.assertHeld();
    }).toThrow(expect.objectContaining({ why: 'released' }));
    expect(lock.signal.aborted).toBe(false);
  });
});

describe('release', () => {
  it('wins over an extension in flight, which does not restore the lease (E42)', async () => {
    const provider = await testProvider();
    const lock = await provider.locks.acquireMutex('a');
    await failCommands(
      provider,
      { times: 1 },
      {
        failCommands: ['update'],
        blockConnection: true,
        blockTimeMS: 300,
      },
    );
    const confirming = lock.confirm().catch((error: unknown) => error);
    expect(await lock.release()).toBe(true);
    expect(await confirming).toMatchObject({ why: 'released' });
    expect((await provider.document('a'))?.['holder']).toBeNull();
  });

  it('returns although the store hangs, and continues in the background', async () => {
    const [provider, other] = await twoProviders({ storeTimeoutMs: 300, leaseMs: 60_000 });
    const lock = await provider.locks.acquireMutex('a');
    const heal = await failCommands(provider, 'alwaysOn', {
      failCommands: ['findAndModify'],
      blockConnection: true,
      blockTimeMS: 6_000,
    });
    const startedMs = performance.now();
    expect(await lock.release()).toBe(true);
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    expect(lock.isHeld).toBe(false);
    await heal();
    // The lease lasts a minute, so only a repeated release can let the other process in.
    await (await other.locks.acquireMutex('a', { timeoutMs: 15_000 })).release();
  });

  it('returns false if the seat was taken away before', async () => {
    const [provider, other] = await twoProviders();
    const lock = await provider.locks.acquireMutex('a');
    await provider.tamper('a', { $set: { holder: null } });
    const next: LockHandle = await other.locks.acquireMutex('a');
    expect(await lock.release()).toBe(false);
    expect(next.isHeld).toBe(true);
    await next.confirm();
  });

  it('gives every caller the same answer', async () => {
    const { locks } = await testProvider();
    const lock = await locks.acquireMutex('a');
    expect(await Promise.all([lock.release(), lock.release()])).toEqual([true, true]);
    expect(await lock.release()).toBe(true);
    await lock[Symbol.asyncDispose]();
  });
});

describe('a revocation', () => {
  it('asks the holder to release, and lets its lease expire without further extensions', async () => {
    const [provider, other] = await twoProviders({ leaseMs: 10_000, extendEveryMs: 1_000 });
    const lock = await provider.locks.acquireMutex('a');
    const result = await other.locks.revoke('a', { why: 'maintenance' });
    expect(result).toEqual({ asked: [lock.id], gone: [], evicted: [] });
    expect(lock.isHeld).toBe(true);
    expect(await other.locks.tryAcquireMutex('a')).toBeNull();
    await eventually('the request to release', () => lock.releaseRequested.aborted);
    expect(lock.signal.aborted).toBe(false);
    await eventually('the end of the lease', () => lock.signal.aborted);
    expect(lock.signal.reason).toMatchObject({ why: 'revoked' });
  });

  it('empties the seat if it is forced, and a waiter gets the seat at once', async () => {
    const [provider, other] = await twoProviders({ leaseMs: 60_000 });
    const lock = await provider.locks.acquireMutex('a');
    const waiting = other.locks.acquireMutex('a', { timeoutMs: 10_000 });
    await untilWaiting(other.locks, 'a');
    expect(await other.locks.revoke('a', { force: true })).toMatchObject({ evicted: [lock.id] });
    const next = await waiting;
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    await expect(lock.confirm()).rejects.toMatchObject({ why: 'revoked' });
  });

  it('aborts the signal at once if the holder’s own provider revokes by force', async () => {
    const { locks } = await testProvider({ leaseMs: 60_000 });
    const lock = await locks.acquireMutex('a');
    await locks.revoke('a', { force: true, id: lock.id });
    expect(lock.signal.aborted).toBe(true);
    expect(await locks.revoke('a', { id: lock.id })).toEqual({ asked: [], gone: [lock.id], evicted: [] });
  });
});
