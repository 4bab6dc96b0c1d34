import type { LockProvider, LockSnapshot } from '../../src/index.js';
import { eventually, later } from '../../lab/patience.js';

/**
 * Opens the wake stream of `waiter`, and keeps it open until the returned function is called. A later request of `waiter`
 * sends a try by the fast path and a transition. Without an open stream, it would also look after the opening, but only
 * if the stream happened to open after the transition was sent.
 */
export async function keepListening(
  holder: LockProvider,
  waiter: LockProvider,
): Promise<() => Promise<void>> {
  const held = await holder.acquireMutex('kept busy');
  const waiting = later(waiter.acquireMutex('kept busy'));
  await eventually('the stream is open', () => waiter.health().streams === 1);
  return async () => {
    await held.release();
    await (await waiting).release();
  };
}

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
