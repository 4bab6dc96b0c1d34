import type { LockProvider, LockSnapshot } from '../../src/index.js';
import { eventually } from '../../lab/patience.js';

type Observer = Pick<LockProvider, 'inspect'>;

const waitersIn = (snapshot: LockSnapshot | null): number => snapshot?.waiters.length ?? 0;

export async function countWaiters(locks: Observer, lockName: string): Promise<number> {
  return waitersIn(await locks.inspect(lockName));
}

export async function untilWaiting(locks: Observer, lockName: string, count = 1): Promise<void> {
  await eventually(
    `${count} waiting`,
    async (see) => waitersIn(see(await locks.inspect(lockName))) === count,
  );
}
