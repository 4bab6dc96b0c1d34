import { AsyncLocalStorage } from 'node:async_hooks';
import { LockLostError } from '../errors.js';
import type { LockHandle } from '../lease/lock-handle.js';

/** What a chain of calls holds through `use…`, innermost last. */
interface ChainLink {
  /** Whose lock it is: names are the same lock only within one provider. */
  readonly owner: object;
  readonly lock: LockHandle;
  readonly outer: ChainLink | undefined;
}

const chain = new AsyncLocalStorage<ChainLink>();

/** Acquires, works, releases; whoever asks for the same lock within the work is known to hold it. */
export async function useLock<L extends LockHandle, T>(
  owner: object,
  acquire: () => Promise<L>,
  work: (lock: L) => T | Promise<T>,
): Promise<T> {
  if (typeof work !== 'function') throw new TypeError(`work must be a function, got ${typeof work}`);
  const lock = await acquire();
  try {
    const link = { owner, lock, outer: chain.getStore() };
    const result = await chain.run(link, () => work(lock));
    if (!lock.isHeld) await throwLoss(lock);
    return result;
  } finally {
    await lock.release();
  }
}

/** What the caller's own chain of calls holds of this lock. */
export function heldByChain(owner: object, name: string): readonly LockHandle[] {
  const held: LockHandle[] = [];
  for (let link = chain.getStore(); link !== undefined; link = link.outer) {
    if (link.owner === owner && link.lock.name === name && link.lock.isHeld) held.push(link.lock);
  }
  return held;
}

/**
 * The work may have released the lock itself, on purpose: that is no loss. Nor is a suspended machine: such a hold is
 * asked for, and if nobody answers it was not known to be lost before the work ended.
 */
async function throwLoss(lock: LockHandle): Promise<void> {
  try {
    await lock.confirm();
  } catch (error) {
    if (error instanceof LockLostError && error.why !== 'released') throw error;
  }
}
