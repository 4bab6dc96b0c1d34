import { within } from '../clock.js';
import { AcquireTimeoutError, StoreUnavailableError } from '../errors.js';
import type { Requester } from '../primitives/requester.js';
import type { LockSnapshot } from '../protocol/replies/snapshot.js';

/** How long a wait that is too late looks for the leader, so that its error can name it. */
const LOOK_MS = 1_000;

/** A candidate whose time to wait is up. */
export interface LateCandidate {
  readonly name: string;
  readonly candidateId: string;
  readonly waitedMs: number;
  /** Why the store does not answer its request, if that is so. */
  readonly trouble: unknown;
}

/** Looks for the leader of now: the last one that the candidate has heard of may have stopped. */
export async function lateError(requester: Requester, late: LateCandidate): Promise<AcquireTimeoutError> {
  const { name, candidateId, waitedMs, trouble } = late;
  const { clock, process } = requester.context;
  const seen = await within(clock, LOOK_MS, snapshotOf(requester, name));
  if (seen === undefined || seen instanceof StoreUnavailableError) {
    const cause = trouble ?? seen?.cause ?? new Error(`no answer within ${String(LOOK_MS)} ms`);
    return new AcquireTimeoutError(name, { waitedMs, cause });
  }
  if (seen === null || seen instanceof Error) return new AcquireTimeoutError(name, { waitedMs });
  const { holders, waiters } = seen;
  const place = waiters.findIndex(
    (waiter) => waiter.candidateId === candidateId && waiter.process === process,
  );
  return new AcquireTimeoutError(name, { holders, place: place < 0 ? null : place, waitedMs });
}

/** Never rejects. */
async function snapshotOf(requester: Requester, name: string): Promise<LockSnapshot | Error | null> {
  try {
    return await requester.inspect(name);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
