import { LeaseholdError } from '../leasehold-error.js';
import { quoted } from '../error-text.js';
import { describeFailures } from './store-failure.js';
import type { StoreFailure } from './store-failure.js';

/**
 * Fewer than a majority of the stores did in time what was asked, because too many of them did not answer, refused, or
 * had no seat of the hold any more. Or a majority granted the lock so late that less than `minValidityMs` of the lease
 * was left. For each failed store, the message says why it failed, and whether it has ever answered this provider.
 *
 * After a failed acquire, the caller holds nothing. Seats that were granted all the same are released in the
 * background; each of them lasts at most one lease. After a failed `confirm()`, `upgrade()` or `downgrade()` the hold
 * stays, as long as seats in a majority of the stores can be relied on.
 *
 * If a majority of the stores answers and the lock is taken, there is no `QuorumError`: the call throws an
 * `AcquireTimeoutError`, or a `try…` returns `null`.
 */
export class QuorumError extends LeaseholdError {
  /** @internal */
  static override readonly codeOfAll = 'QUORUM';

  /** Always `QUORUM`. */
  readonly code = 'QUORUM';

  /** The number of stores of the provider. */
  readonly stores: number;

  /**
   * One error for each store that is known to have failed. If a majority granted too late, an error about that comes
   * first. `cause.errors` is the same list.
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
