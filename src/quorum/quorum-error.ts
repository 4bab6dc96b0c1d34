import { LeaseholdError, quoted, shortened } from '../errors.js';

/**
 * Too few of the stores that a majority is needed of have answered as they should: they were out of reach, refused, or
 * were so slow that too little was left of the lease. Nothing is held; what may have been left behind is given back in
 * the background and lives at most one lease. That somebody else holds the lock is an {@link AcquireTimeoutError}.
 */
export class QuorumError extends LeaseholdError {
  /** Always `QUORUM`. */
  readonly code = 'QUORUM';

  /** How many stores there are. */
  readonly stores: number;

  /** What each failure was, as far as is known; the `cause` has them too. */
  readonly failures: readonly unknown[];

  /** @internal */
  constructor(lockName: string, stores: number, failures: readonly unknown[]) {
    const details = failures.map((each) => (each instanceof Error ? shortened(each.message) : String(each)));
    const known = details.length === 0 ? 'no answer yet' : details.join('; ');
    super(
      lockName,
      `Lock ${quoted(lockName)} needs a majority of ${String(stores)} stores, and ${String(failures.length)} failed: ${known}`,
      { cause: new AggregateError(failures, 'what the stores said') },
    );
    this.stores = stores;
    this.failures = failures;
  }
}
