import type { Mode } from '../../protocol/lock-document.js';

/**
 * Internal members of every `LockHandle` of this library, for fenced writes: whether the token of the handle can fence,
 * and in which database the lock is.
 */
export interface FencingEligibility {
  /** Why the hold is not exclusive at this moment, so that its token cannot fence; `undefined` if it is exclusive. */
  whyShared(): string | undefined;
  /** The name of the database that has the lock; `undefined` for a hold in several databases. */
  readonly databaseName: string | undefined;
}

/**
 * Why a hold in this mode is not exclusive; `undefined` for a write. Other readers may hold the lock beside an
 * upgradeable read.
 */
export const sharedMode = (mode: Mode): string | undefined =>
  mode === 'write' ? undefined : `${mode}, and the tokens of several readers are live at a time`;
