import type { Mode } from '../../protocol/lock-document.js';

/** Tells whether the token of a `LockHandle` can fence. Every `LockHandle` of this library has these members. */
export interface FencingEligibility {
  /**
   * Why the hold is not exclusive, so that tokens of several holders can be live; `undefined` if it is exclusive at
   * this moment.
   */
  whyShared(): string | undefined;
  /** The name of the database that has the lock; `undefined` for a hold in several databases. */
  readonly databaseName: string | undefined;
}

/**
 * Why a hold in this mode is not exclusive; `undefined` for a write. An upgradeable read is not exclusive, because
 * other readers may hold the lock at the same time.
 */
export const sharedMode = (mode: Mode): string | undefined =>
  mode === 'write' ? undefined : `${mode}, and the tokens of several readers are live at a time`;
