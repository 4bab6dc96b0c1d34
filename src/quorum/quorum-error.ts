import { LeaseholdError } from '../leasehold-error.js';
import { quoted } from '../error-text.js';
import { describeFailures } from './store-failure.js';
import type { StoreFailure } from './store-failure.js';

/**
 * Fewer than a majority of the stores did what was asked in time. The others did not answer, refused, or had no seat of
 * the hold any more; or a majority granted so late that less than `minValidityMs` of the lease was left. The message
 * says for each failed store why it failed, and whether it has ever answered this provider.
 *
 * After a failed acquire nothing is held. Seats that may be left are released in the background; each of them lasts at
 * most one lease. After a failed `confirm()`, `upgrade()` or `downgrade()` the hold stays, as long as seats in a
 * majority of the stores can be relied on.
 *
 * A lock that another process holds is no `QuorumError`: it is an `AcquireTimeoutError`, or `null` from a `try…`.
 */
export class QuorumError extends LeaseholdError {
  /** @internal */
  static override readonly codeOfAll = 'QUORUM';

  /** Always `QUORUM`. */
  readonly code = 'QUORUM';

  /** The number of stores of the provider. */
  readonly stores: number;

  /**
   * One error for each store that is known to have failed; before them, one error if a majority granted too late. The
   * `errors` of the `cause` are the same.
   */
  readonly failures: readonly unknown[];

  /**
   * @internal
   * @param slowness - Set if a majority granted the lock, but too late.
   */
  constructor(lockName: string, stores: number, failures: readonly StoreFailure[], slowness?: Error) {
    const failed =
      failures.length === 0 ? '' : `${String(failures.length)} failed: ${describeFailures(failures)}`;
    const why = [slowness?.message, failed].filter(Boolean).join('; ') || 'seats were lost during the call';
    const errors = failures.map(({ error }) => error);
    const all = slowness === undefined ? errors : [slowness, ...errors];
    super(lockName, `Lock ${quoted(lockName)} needs a majority of ${String(stores)} stores: ${why}`, {
      cause: new AggregateError(all, 'the errors of the stores'),
    });
    this.stores = stores;
    this.failures = all;
  }
}
