import { AsyncLocalStorage } from 'node:async_hooks';
import { AcquireTimeoutError, DeadlockError, LockLostError } from '../errors.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';

/** What a chain of calls holds through `use…`, innermost last. */
interface ChainLink {
  /** Whose lock it is: names are the same lock only within one provider. */
  readonly owner: object;
  readonly lock: LockHandle;
  readonly outer: ChainLink | undefined;
  /** The work has ended: what it started and did not await goes on within the chain, and the lock is given back. */
  isOver: boolean;
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
  const link: ChainLink = { owner, lock, outer: chain.getStore(), isOver: false };
  try {
    const result = await chain.run(link, () => work(lock));
    if (!lock.isHeld) await throwLoss(lock);
    return result;
  } finally {
    link.isOver = true;
    await lock.release();
  }
}

/** What the caller's own chain of calls holds of this lock. */
export function heldByChain(owner: object, name: string): readonly LockHandle[] {
  const held: LockHandle[] = [];
  for (let link = chain.getStore(); link !== undefined; link = link.outer) {
    const { lock, isOver } = link;
    if (link.owner === owner && lock.name === name && !isOver && lock.isHeld) held.push(lock);
  }
  return held;
}

/**
 * Asks for a lock that the caller's own chain of calls may hold: then one try finds whether there is room all the same.
 * If there is none, waiting without a bound would never end, unless the chain has ended meanwhile.
 *
 * @param isHopeless - Whether nobody but the caller's own chain could end the wait.
 */
export async function askWithinChain<T>(
  name: string,
  isHopeless: () => boolean,
  ask: (isSingleTry: boolean) => Promise<T>,
): Promise<T> {
  if (!isHopeless()) return await ask(false);
  try {
    return await ask(true);
  } catch (error) {
    if (!(error instanceof AcquireTimeoutError)) throw error;
    if (isHopeless()) throw new DeadlockError(name);
    return await ask(false);
  }
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
