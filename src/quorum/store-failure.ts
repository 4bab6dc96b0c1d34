import { LockLostError, StoreUnavailableError } from '../errors.js';
import { LeaseholdError } from '../leasehold-error.js';
import { shortened, textOf } from '../error-text.js';
import { outcomeOfError } from '../store/outcome.js';

/** A store did not do what was asked: for example, it did not grant or confirm a seat. */
export interface StoreFailure {
  readonly store: number;
  /** Whether this store has ever answered this provider. */
  readonly hasAnswered: boolean;
  readonly error: unknown;
}

/** One line that says of each failed store whether it has ever answered, and with which message it failed. */
export const describeFailures = (failures: readonly StoreFailure[]): string =>
  failures
    .toSorted((a, b) => a.store - b.store)
    .map(({ store, hasAnswered, error }) => {
      const history = hasAnswered ? 'has answered before' : 'has never answered';
      return `store ${String(store)} (${history}): ${lastMessage(error)}`;
    })
    .join('; ');

/**
 * The message of the error; for a {@link StoreUnavailableError}, the message of its cause. The rest of such an error
 * names the lock, which is the same for all stores, and says whether the outcome is known.
 */
function lastMessage(error: unknown): string {
  const { cause } = error instanceof StoreUnavailableError ? error : { cause: undefined };
  const last = cause instanceof Error ? cause : error;
  return shortened(textOf(last));
}

/**
 * Whether it is useless to ask this store again. After a missing answer, an error of the server that may pass, or a
 * lost seat, the next round may succeed. It is useless after a refusal of the server or the driver, and after any other
 * error of this library, such as that for a corrupt document.
 */
export function isForGood({ error }: StoreFailure): boolean {
  if (error instanceof LockLostError) return false;
  if (!(error instanceof StoreUnavailableError)) return error instanceof LeaseholdError;
  return outcomeOfError(error.cause).type === 'refused';
}
