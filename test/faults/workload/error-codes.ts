import { LeaseholdError } from '../../../src/index.js';
import type { WorkerLine } from '../history.js';
import type { Journal } from './journal.js';

/** The code of an expected error. Only the library's own errors and the aborts of the actors are expected. */
export function codeOf(error: unknown): string | undefined {
  if (error instanceof LeaseholdError) return error.code;
  const isAbort = error instanceof Error && ['AbortError', 'TimeoutError'].includes(error.name);
  return isAbort ? 'ABORTED' : undefined;
}

/** The code of an error, or what an unexpected one says. */
export const codeIn = (error: unknown): string => codeOf(error) ?? String(error);

/** Writes a complaint about an unexpected error. */
export function complainUnlessTyped(journal: Journal<WorkerLine>, during: string, error: unknown): void {
  if (codeOf(error) !== undefined) return;
  journal.write({ type: 'complaint', what: `${during}: ${String(error)}` });
}
