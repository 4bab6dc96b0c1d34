import { describe, expect, it } from 'vitest';
import type { LockHandle, LockProvider } from '../../../src/index.js';
import { eventually, nowMs } from '../../../lab/patience.js';
import { testProvider } from '../../support/test-provider.js';

/** Long enough that a machine busy with other tests may be tens of seconds late and still lose no lease. */
const LEASE_MS = 120_000;

const EXTEND_EVERY_MS = 4_000;

const times = (count: number, take: (index: number) => Promise<LockHandle>): Promise<LockHandle>[] =>
  Array.from({ length: count }, (_, index) => take(index));

/** Holds of every kind: of many locks with one hold each, and of two locks with many holds. */
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
  it('are extended in time by few commands', async () => {
    const provider = await testProvider({
      ...{ leaseMs: LEASE_MS, extendEveryMs: EXTEND_EVERY_MS, createIndexes: false },
    });
    const { locks, commands } = provider;
    const ended: unknown[] = [];
    locks.on('lost', (event) => ended.push(event));
    const holds = await takeMixed(locks);
    expect(holds).toHaveLength(2_000);
    expect(new Set(holds.map(({ id }) => id)).size).toBe(2_000);
    const extensions = new Map(holds.map(({ id }) => [id, 0]));
    locks.on('extended', ({ id }) => extensions.set(id, (extensions.get(id) ?? 0) + 1));
    const [startedMs, before] = [nowMs(), commands.length];
    let leastMs = Infinity;
    await eventually('three extensions of each', () => {
      leastMs = Math.min(leastMs, ...holds.map(({ remainingMs }) => remainingMs));
      return Math.min(...extensions.values()) >= 3;
    });
    expect(ended).toEqual([]);
    expect(holds.every(({ isHeld }) => isHeld)).toBe(true);
    // Each hold always has nearly its whole lease left. The bound allows for a busy machine.
    expect(leastMs).toBeGreaterThan(LEASE_MS / 2);
    const most = Math.max(...extensions.values());
    // Leases that are due first go first, so none is extended again and again while another one waits.
    expect(most).toBeLessThanOrEqual(6);
    const periods = Math.max((nowMs() - startedMs) / EXTEND_EVERY_MS, most);
    // Two commands for each 256 holds, and a few more until holds of different ages share a batch.
    expect((commands.length - before) / periods).toBeLessThan(40);
    const released = await Promise.all(holds.map((hold) => hold.release()));
    expect(released.every(Boolean)).toBe(true);
    // On a busy machine, a release may return before the store has confirmed it, and continue in the background.
    for (const name of ['read by many', 'held by many'])
      await eventually(`no holder of ${name}`, async () => (await locks.inspect(name))?.holders.length === 0);
  });
});
