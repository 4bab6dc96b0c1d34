import type { Mode } from '../../protocol/lock-document.js';

/** What every handle of this library tells beside its interface: whether its token can fence. */
export interface FencingEligibility {
  /** In which way it is held, if several such tokens can be live; `undefined`: at this moment the hold is exclusive. */
  whyShared(): string | undefined;
  /** The database of its provider; `undefined` of a hold in several. */
  readonly databaseName: string | undefined;
}

/** Only a writer is alone: an upgradeable read has readers beside it. */
export const sharedMode = (mode: Mode): string | undefined =>
  mode === 'write' ? undefined : `${mode}, and the tokens of several readers are live at a time`;
