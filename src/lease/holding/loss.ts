import { LockLostError } from '../../errors.js';
import { quoted } from '../../error-text.js';
import type { LossCause } from '../../errors.js';
import type { Revocation } from '../../protocol/operation.js';

/** The state of a hold at one instant. Reading it ends no hold and sends nothing. */
export interface Standing {
  /** How long the process can rely on the hold without another extension, in ms; 0 if it cannot. */
  readonly remainingMs: number;
  /**
   * Why the process cannot rely on the hold; `undefined` if it can. `suspended`: the process was suspended, and the
   * server has not confirmed the hold since.
   */
  readonly why: LossCause | 'suspended' | undefined;
}

interface Revocable {
  readonly name: string;
  readonly revocation?: Revocation | undefined;
}

const described = ({ by, why }: Revocation): string =>
  `revoked${by === undefined ? '' : ` by ${by}`}${why === undefined ? '' : ` for ${JSON.stringify(why)}`}`;

export function lossError({ name, revocation }: Revocable, why: LossCause): LockLostError {
  const isExplained = why === 'revoked' && revocation !== undefined;
  return isExplained
    ? new LockLostError(name, why, `is not held any more: it was ${described(revocation)}`)
    : new LockLostError(name, why);
}

/** The abort reason of `releaseRequested`; `undefined` if no revocation is known. */
export function releaseRequestReason({ name, revocation }: Revocable): Error | undefined {
  return revocation && new Error(`Lock ${quoted(name)} was ${described(revocation)}`);
}
