import { LockLostError, quoted } from '../../errors.js';
import type { LossCause } from '../../errors.js';
import type { Revocation } from '../../protocol/operation.js';

/** How a hold stands at one instant, for somebody who only looks. */
export interface Standing {
  /** How long it can be relied on without another extension, in ms; 0 when it cannot be. */
  readonly remainingMs: number;
  /** Why it cannot be relied on. `suspended`: the process was, and the hold is not confirmed since. */
  readonly why: LossCause | 'suspended' | undefined;
}

/** What the errors of a hold tell of it. */
interface Revocable {
  readonly name: string;
  readonly revocation?: Revocation | undefined;
}

const described = ({ by, why }: Revocation): string =>
  `revoked${by === undefined ? '' : ` by ${by}`}${why === undefined ? '' : ` for ${JSON.stringify(why)}`}`;

/** A fresh error of a hold that is over. */
export function lossOf({ name, revocation }: Revocable, why: LossCause): LockLostError {
  const isTold = why === 'revoked' && revocation !== undefined;
  return isTold
    ? new LockLostError(name, why, `it was ${described(revocation)}`)
    : new LockLostError(name, why);
}

/** Why a hold was asked for; `undefined`: because its provider closes. */
export function requestOf({ name, revocation }: Revocable): Error | undefined {
  return revocation && new Error(`Lock ${quoted(name)} was ${described(revocation)}`);
}
