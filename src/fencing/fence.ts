// Folder `fencing`: updates and transactions in the application's own collections. The first write of each compares the
// token of a hold with the stored token, so that a former holder cannot overwrite what a newer holder wrote.

import type { FencingEligibility } from '../lease/holding/fencing-eligibility.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import { wrongType } from '../options/checks.js';

/** The lock and the token by which a write is fenced. */
export interface FencedBy {
  readonly lockName: string;
  readonly token: number;
  /**
   * The database of the lock document. `undefined` for a lock of a quorum: such a lock has a document in each
   * deployment.
   */
  readonly databaseName: string | undefined;
}

/**
 * Returns the lock and the present token of an exclusive hold. The hold may be over: the resource decides by the token
 * alone.
 *
 * A shared hold is refused, because several such holds may write at the same time. Any object that is not a handle of
 * this library is refused, too, because nothing tells whether its hold is exclusive.
 */
export function fencedBy(lock: LockHandle): FencedBy {
  if (isObject(lock) && 'handles' in lock) {
    throw new TypeError('lock must be a LockHandle; for a CompositeHandle, pass its handles');
  }
  if (!canFence(lock)) throw wrongType('lock', 'a LockHandle of this library', lock);
  const { name, fencingToken, databaseName } = lock;
  const why = lock.whyShared();
  if (why === undefined) return { lockName: name, token: fencingToken, databaseName };
  throw new TypeError(`lock must be held exclusively to fence: ${JSON.stringify(name)} is held as ${why}`);
}

/**
 * Calls `fencedBy` for each hold, and sorts the results by lock name. If all transactions write their fence documents
 * in this order, no two of them abort each other again and again.
 */
export function allFencedBy(locks: LockHandle | readonly LockHandle[]): readonly FencedBy[] {
  const all: readonly LockHandle[] = isList(locks) ? locks : [locks];
  const fences = all.map(fencedBy).sort((a, b) => (a.lockName < b.lockName ? -1 : 1));
  if (fences.length === 0) throw new TypeError('lock must be at least one LockHandle, got an empty list');
  const twice = fences.find(({ lockName }, index) => lockName === fences[index + 1]?.lockName);
  if (twice !== undefined) {
    throw new TypeError(`lock must not name one lock twice, got ${JSON.stringify(twice.lockName)}`);
  }
  return fences;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const isList = (locks: LockHandle | readonly LockHandle[]): locks is readonly LockHandle[] =>
  Array.isArray(locks);

const canFence = (lock: LockHandle): lock is LockHandle & FencingEligibility =>
  isObject(lock) && 'whyShared' in lock;
