import { LeaseholdError, StoreUnavailableError, shortened } from '../errors.js';
import { outcomeOfError } from '../store/outcome.js';

/** That one store has not granted, confirmed or shown what it was asked for. */
export interface StoreFailure {
  /** Its place in the list of stores. */
  readonly store: number;
  /** Whether this provider has ever had an answer from it. */
  readonly hasAnswered: boolean;
  readonly error: unknown;
}

/** The failures of several stores in one line, each with the last thing that its driver said. */
export const describeFailures = (failures: readonly StoreFailure[]): string =>
  failures
    .toSorted((a, b) => a.store - b.store)
    .map(({ store, hasAnswered, error }) => {
      const history = hasAnswered ? 'has answered before' : 'has never answered';
      return `store ${String(store)} (${history}): ${lastWord(error)}`;
    })
    .join('; ');

/** What a {@link StoreUnavailableError} says beside its cause is true of all stores alike. */
function lastWord(error: unknown): string {
  const { cause } = error instanceof StoreUnavailableError ? error : { cause: undefined };
  const last = cause instanceof Error ? cause : error;
  return last instanceof Error ? shortened(last.message) : String(last);
}

/**
 * Whether asking this store again is of no use, as for a request to one store: it has refused, its client is closed, or
 * what is stored there cannot be used so. Only what may have got no answer is ridden out.
 */
export function isForGood({ error }: StoreFailure): boolean {
  if (!(error instanceof StoreUnavailableError)) return error instanceof LeaseholdError;
  return outcomeOfError(error.cause).type === 'refused';
}
