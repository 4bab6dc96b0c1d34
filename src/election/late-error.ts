import { within } from '../clock.js';
import { AcquireTimeoutError, StoreUnavailableError } from '../errors.js';
import type { Requester } from '../primitives/requester.js';
import type { LockSnapshot } from '../protocol/replies/snapshot.js';

/** The longest time, in ms, for reading the leader after a timeout. The error of the timeout names the leader. */
const INSPECT_MS = 1_000;

export interface LateCandidate {
  readonly name: string;
  readonly candidateId: string;
  readonly waitedMs: number;
  /** `Candidacy.trouble` describes it. Also `undefined` if the candidate is stopped. */
  readonly trouble: unknown;
}

/**
 * Makes the error of a timeout. Reads the present leader first, because the leader that the candidate saw last may have
 * stopped.
 */
export async function lateError(requester: Requester, late: LateCandidate): Promise<AcquireTimeoutError> {
  const { name, candidateId, waitedMs, trouble } = late;
  const { clock, process } = requester.context;
  const seen = await within(clock, INSPECT_MS, snapshotOf(requester, name));
  if (seen === undefined || seen instanceof StoreUnavailableError) {
    const cause = trouble ?? seen?.cause ?? new Error(`no answer within ${String(INSPECT_MS)} ms`);
    return new AcquireTimeoutError(name, { waitedMs, cause });
  }
  if (seen === null || seen instanceof Error) return new AcquireTimeoutError(name, { waitedMs });
  const { holders, waiters } = seen;
  const place = waiters.findIndex(
    (waiter) => waiter.candidateId === candidateId && waiter.process === process,
  );
  return new AcquireTimeoutError(name, { holders, place: place < 0 ? null : place, waitedMs });
}

/** Resolves with the error if the read fails; never rejects. */
async function snapshotOf(requester: Requester, name: string): Promise<LockSnapshot | Error | null> {
  try {
    return await requester.inspect(name);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
