import { LeaseholdError, StoreUnavailableError } from '../errors.js';

/** The error for the caller of a request that failed. An error of this library names its cause, and stays as it is. */
export const unavailable = (
  lockName: string | null,
  outcomeKnown: boolean,
  error: unknown,
): LeaseholdError =>
  error instanceof LeaseholdError ? error : new StoreUnavailableError(lockName, outcomeKnown, error);
