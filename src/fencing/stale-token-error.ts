import { quoted } from '../error-text.js';
import { LeaseholdError } from '../leasehold-error.js';

/**
 * The resource has seen a newer token than the token of this hold: a later hold of the lock has written, or this hold
 * has changed its mode and has written since. The failed call wrote nothing. Data that was read under this hold may be
 * out of date.
 */
export class StaleTokenError extends LeaseholdError {
  /** @internal */
  static override readonly codeOfAll = 'STALE_TOKEN';

  /** Always `STALE_TOKEN`. */
  readonly code = 'STALE_TOKEN';

  /** The token of this hold at the time of the comparison. */
  readonly token: number;

  /** The newer token that is stored with the resource. */
  readonly storedToken: number;

  /** @internal */
  constructor(lockName: string, token: number, storedToken: number) {
    super(
      lockName,
      `Token ${String(token)} of lock ${quoted(lockName)} is out of date: the resource has seen ${String(storedToken)}; nothing was written`,
    );
    this.token = token;
    this.storedToken = storedToken;
  }
}
