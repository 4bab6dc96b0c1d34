import { AsyncLocalStorage } from 'node:async_hooks';
import { AcquireTimeoutError, DeadlockError, LockLostError } from '../errors.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';

/** One lock that a chain of calls holds through `use…`. `outer` is the enclosing lock of the chain. */
interface ChainLink {
  /** The requester of the lock. A name stands for the same lock only within one provider. */
  readonly requester: object;
  /**
   * `undefined` once the work has ended, because the lock is then given back. Calls that the work started and did not
   * await still have this link in their chain.
   */
  lock: LockHandle | undefined;
  outer: ChainLink | undefined;
}

const chain = new AsyncLocalStorage<ChainLink>();

/** Acquires a lock, calls `work`, and releases the lock. During `work`, `heldByChain` finds the lock. */
export async function useLock<L extends LockHandle, T>(
  requester: object,
  acquire: () => Promise<L>,
  work: (lock: L) => T | Promise<T>,
): Promise<T> {
  if (typeof work !== 'function') throw new TypeError(`work must be a function, got ${typeof work}`);
  const lock = await acquire();
  const link: ChainLink = { requester, lock, outer: innermost() };
  try {
    const result = await chain.run(link, () => work(lock));
    if (!lock.isHeld) await throwLoss(lock);
    return result;
  } finally {
    link.lock = undefined;
    await lock.release();
  }
}

/** The holds of this lock that the caller's own chain of calls has through `use…`. */
export function heldByChain(requester: object, name: string): readonly LockHandle[] {
  const held: LockHandle[] = [];
  for (let link = innermost(); link !== undefined; link = link.outer) {
    const { lock } = link;
    if (link.requester === requester && lock?.name === name && lock.isHeld) held.push(lock);
  }
  return held;
}

/**
 * The innermost link of the caller's chain whose work goes on. Removes the links of ended work: if each work started
 * the next one without awaiting it, the chain would otherwise grow for ever.
 */
function innermost(): ChainLink | undefined {
  const inner = unlessOver(chain.getStore());
  for (let link = inner; link !== undefined; link = link.outer) link.outer = unlessOver(link.outer);
  return inner;
}

/** This link, or the nearest enclosing link whose work goes on. */
function unlessOver(link: ChainLink | undefined): ChainLink | undefined {
  while (link !== undefined && link.lock === undefined) link = link.outer;
  return link;
}

/**
 * Requests a lock that the caller's own chain of calls may hold. If the wait is hopeless, a try first finds out whether
 * the lock can be granted all the same. If it cannot and the wait is still hopeless, a `DeadlockError` is thrown. If
 * the wait is not hopeless any more, for example because the chain has released the lock, the request waits.
 *
 * @param isHopeless - Whether the wait has no time bound, and only the caller's own chain could end it.
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
 * Throws the loss of a lock that is not held at the end of the work. If the work has released the lock itself, there is
 * no loss. After a suspension, `confirm` asks the server about the hold. If the server refuses or does not answer,
 * nothing is thrown, because the hold was not known to be lost before the work ended.
 */
async function throwLoss(lock: LockHandle): Promise<void> {
  try {
    await lock.confirm();
  } catch (error) {
    if (error instanceof LockLostError && error.why !== 'released') throw error;
  }
}
