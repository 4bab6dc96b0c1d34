import type { StoredCall } from '../../../src/protocol/jobs/job-calls.js';
import type { StoredClaim } from '../../../src/protocol/jobs/job-claims.js';
import type { Lease, Waiter } from '../../../src/protocol/lock-document.js';

/** The leases of a lock of any kind, which stores them as its holder, holders, readers or writer. */
export interface Inside {
  readonly leases: readonly Lease[];
  /** The limit of a semaphore; 0 for other kinds. */
  readonly limit: number;
}

export interface Queued {
  readonly id: string;
  readonly waiter: Waiter;
}

export interface ModelDocument extends Inside {
  readonly fence: number;
  /** In the order of arrival. */
  readonly queue: readonly Queued[];
  readonly wake: readonly string[];
  readonly purgeAt: Date;
  /** The claims and calls of an election, which survive any other use of the lock. */
  readonly claims?: readonly StoredClaim[] | undefined;
  readonly calls?: readonly StoredCall[] | undefined;
}

export type Refusal = 'busy' | 'late' | 'full' | 'other-kind' | 'other-limit' | 'corrupt';
