import { expect, it } from 'vitest';
import type { LockHandle } from '../../../src/index.js';
import { eventually } from '../../../lab/patience.js';
import { collectGarbage, collectNow } from '../../support/collect-garbage.js';
import { testProvider } from '../../support/test-provider.js';

const HOLDS = 2_000;

it('a hold keeps no reference to the abort signal of its request', async () => {
  const { locks, commands } = await testProvider({ leaseMs: 600_000, createIndexes: false });
  const signals: WeakRef<AbortSignal>[] = [];
  const take = (name: string): Promise<LockHandle> => {
    const { signal } = new AbortController();
    signals.push(new WeakRef(signal));
    return locks.acquireMutex(name, { signal });
  };
  const holds = await Promise.all(Array.from({ length: 20 }, (_, index) => take(String(index))));
  commands.length = 0;
  await eventually(
    'all signals are collected',
    (see) => {
      collectGarbage();
      return see(signals.filter((signal) => signal.deref() !== undefined).length) === 0;
    },
    10_000,
  );
  expect(holds.every(({ isHeld }) => isHeld)).toBe(true);
});

it('each of thousands of holds takes less than 3 KB of the heap', async () => {
  const { locks, commands } = await testProvider({ leaseMs: 600_000, createIndexes: false });
  const hold = async (prefix: string): Promise<LockHandle[]> => {
    const holds: LockHandle[] = [];
    while (holds.length < HOLDS) {
      const names = Array.from({ length: 100 }, (_, index) => `${prefix} ${String(holds.length + index)}`);
      holds.push(...(await Promise.all(names.map((name) => locks.acquireMutex(name)))));
      commands.length = 0;
    }
    return holds;
  };
  const heapBytes = (): number => {
    collectNow();
    return process.memoryUsage().heapUsed;
  };
  // Code and connections that only the first holds need are not a cost of each hold.
  const first = await hold('first');
  const before = heapBytes();
  const others = await hold('others');
  await eventually(
    'the heap per hold is below the bound',
    (see) => see((heapBytes() - before) / HOLDS) < 3_000,
    10_000,
  );
  expect([...first, ...others].every(({ isHeld }) => isHeld)).toBe(true);
});
