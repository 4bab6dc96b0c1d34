import type { FencingEligibility } from '../lease/holding/fencing-eligibility.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import { wrongType } from '../options/checks.js';

/** What a resource compares: which lock, and how new its holder is. */
export interface Fence {
  readonly lockName: string;
  readonly token: number;
  /** Where its lock document is; `undefined` of a hold in several databases. */
  readonly databaseName: string | undefined;
}

/**
 * The fence of an exclusive hold, as it is at this moment: a change of mode brings another one. Whether the hold is over
 * is not asked, because the resource decides by the token alone.
 *
 * Only a handle knows whether its hold is exclusive, so what does not say so is refused: to take a stranger for
 * exclusive would let two of them write.
 */
export function fenceOf(lock: LockHandle): Fence {
  if (isObject(lock) && 'handles' in lock) {
    throw new TypeError('lock must be a LockHandle: of a CompositeHandle, give its handles');
  }
  if (!canFence(lock)) throw wrongType('lock', 'a LockHandle of this library', lock);
  const { name, fencingToken, databaseName } = lock;
  const why = lock.whyShared();
  if (why === undefined) return { lockName: name, token: fencingToken, databaseName };
  throw new TypeError(`lock must be held exclusively to fence: ${JSON.stringify(name)} is held as ${why}`);
}

/**
 * The fences of several holds, in the order of the names' code units: two who claim the same fences in the same order
 * do not abort each other for ever.
 */
export function fencesOf(locks: LockHandle | readonly LockHandle[]): readonly Fence[] {
  const all: readonly LockHandle[] = isList(locks) ? locks : [locks];
  const fences = all.map(fenceOf).sort((a, b) => (a.lockName < b.lockName ? -1 : 1));
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
