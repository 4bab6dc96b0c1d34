import { LeaseholdError, quoted } from '../errors.js';
import { describeFailures } from './store-failure.js';
import type { StoreFailure } from './store-failure.js';

/**
 * Too few of the stores that a majority is needed of have answered as they should: they were out of reach, refused, or
 * were so slow that too little was left of the lease. The message says of each store that failed whether it has ever
 * answered this provider, and the last thing that its driver said. Nothing is held; what may have been left behind is given back in
 * the background and lives at most one lease. That somebody else holds the lock is an {@link AcquireTimeoutError}.
 */
export class QuorumError extends LeaseholdError {
  /** Always `QUORUM`. */
  readonly code = 'QUORUM';

  /** How many stores there are. */
  readonly stores: number;

  /** What each failure was, as far as is known; the `cause` has them too. */
  readonly failures: readonly unknown[];

  /**
   * @internal
   * @param slowness - Set if a majority did grant it, but too late.
   */
  constructor(lockName: string, stores: number, failures: readonly StoreFailure[], slowness?: Error) {
    const failed =
      failures.length === 0 ? '' : `${String(failures.length)} failed: ${describeFailures(failures)}`;
    const why = [slowness?.message, failed].filter(Boolean).join('; ');
    const errors = failures.map(({ error }) => error);
    const all = slowness === undefined ? errors : [slowness, ...errors];
    super(lockName, `Lock ${quoted(lockName)} needs a majority of ${String(stores)} stores: ${why}`, {
      cause: new AggregateError(all, 'what the stores said'),
    });
    this.stores = stores;
    this.failures = all;
  }
}
