import { StoreUnavailableError } from '../errors.js';
import { LeaseholdError } from '../leasehold-error.js';

/** The error for the caller of a failed request. An error of this library already names its cause, and is kept. */
export const unavailable = (
  lockName: string | null,
  outcomeKnown: boolean,
  error: unknown,
): LeaseholdError =>
  error instanceof LeaseholdError ? error : new StoreUnavailableError(lockName, outcomeKnown, error);
