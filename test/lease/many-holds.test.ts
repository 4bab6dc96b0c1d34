import { describe, expect, it } from 'vitest';
import type { LockHandle, LockProvider } from '../../src/index.js';
import { testProvider, until } from '../support/test-provider.js';

/** A machine that is busy with other tests is late by seconds. */
const LEASE_MS = 20_000;

const times = (count: number, take: (index: number) => Promise<LockHandle>): Promise<LockHandle>[] =>
  Array.from({ length: count }, (_, index) => take(index));

/** Locks of every kind: many of their own, and many holds of one lock. */
function takeMixed(locks: LockProvider): Promise<LockHandle[]> {
  const readers = locks.createReaderWriterLock('read by many');
  const permits = locks.createSemaphore('held by many', 1_000);
  return Promise.all([
    ...times(600, (index) => locks.acquireMutex(`mutex ${String(index)}`)),
    ...times(300, (index) => locks.createReaderWriterLock(`written ${String(index)}`).acquireWrite()),
    ...times(300, (index) => locks.createSemaphore(`semaphore ${String(index)}`, 2).acquire()),
    ...times(400, () => readers.acquireRead()),
    ...times(400, (index) => permits.acquire({ permits: 1 + (index % 2) })),
  ]);
}

describe('two thousand holds of all kinds in one process', () => {
  it('are extended by one monitor in few commands, none of them late', async () => {
    const provider = await testProvider({ leaseMs: LEASE_MS, createIndexes: false });
    const { locks, commands } = provider;
    const ended: unknown[] = [];
    locks.on('lost', (event) => ended.push(event));
    const holds = await takeMixed(locks);
    expect(holds).toHaveLength(2_000);
    expect(new Set(holds.map(({ id }) => id)).size).toBe(2_000);
    const [startedMs, before] = [performance.now(), commands.length];
    let leastMs = Infinity;
    await until(
      () => {
        leastMs = Math.min(leastMs, ...holds.map(({ remainingMs }) => remainingMs));
        return performance.now() > startedMs + 1.5 * LEASE_MS;
      },
      'a lease and a half',
      60_000,
    );
    expect(ended).toEqual([]);
    expect(holds.every(({ isHeld }) => isHeld)).toBe(true);
    // Extended every third of a lease, so that two thirds are left, less the allowance; and something for the machine.
    expect(leastMs).toBeGreaterThan(LEASE_MS / 4);
    const periods = (performance.now() - startedMs) / (LEASE_MS / 3);
    // Two commands for each 256 holds; a few more where holds of different ages have not yet come to share a batch.
    expect((commands.length - before) / periods).toBeLessThan(40);
    const released = await Promise.all(holds.map((hold) => hold.release()));
    expect(released.every(Boolean)).toBe(true);
    // A release waits for the store for a while, and goes on behind the scenes: a busy machine needs longer.
    for (const name of ['read by many', 'held by many'])
      await until(async () => (await locks.inspect(name))?.holders.length === 0, `nobody has ${name}`);
  });
});
