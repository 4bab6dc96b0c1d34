/**
 * The one document per lock name, and what must be true of every stored version of it.
 *
 * ```
 * common         { _id: name, kind, v: 1, fence: Long, queue: { <attempt id>: Waiter, … }, wake: string, purgeAt: Date }
 * mutex          { …, holder: Lease | null }
 * reader-writer  { …, readers: Lease[], writer: Lease | null, writerWaiting: boolean }
 * semaphore      { …, limit: int, holders: Lease[] }
 * election       { …, holder: Lease | null, claims?: StoredClaim[], calls?: StoredCall[] }
 * ```
 *
 * Invariants, cited by number in code and tests:
 *
 * - **S1** every stored version is legal: at most one holder of a mutex; a writer excludes readers, and at most one of
 *   them is upgradeable; no grant makes the permits of a semaphore exceed its limit.
 * - **S2** the intervals in which two handles believe they hold never conflict, within the clock bounds.
 * - **S3** tokens strictly increase per name, in grant order, for ever.
 * - **S4** a resource that checks tokens loses no update.
 * - **S5** an operation by somebody who holds nothing changes nothing.
 * - **L1** every waiter ends: handle, timeout, abort or typed error.
 * - **L2** no wake-up is lost.
 * - **L3** first come, first served among live waiters.
 * - **L4** the lost signal fires before the lease can be given away, without needing a reply.
 * - **R1** nothing leaks: cursors, timers, listeners, seats, waiters.
 * - **R2** no unhandled rejection, no hang.
 */

/** What a lock is used as. The kind is stored with the lock; an idle lock may change it. */
export type LockKind = 'mutex' | 'reader-writer' | 'semaphore' | 'election';

export const LOCK_KINDS: readonly LockKind[] = ['mutex', 'reader-writer', 'semaphore', 'election'];

/** The version of the document's shape that this code reads and writes; another one is refused as corrupt. */
export const DOCUMENT_VERSION = 1;

/** Bounds of a lease, also of a stored one: 100 ms to 24 h. */
export const MIN_LEASE_MS = 100;
export const MAX_LEASE_MS = 86_400_000;

/** How a reader-writer lock is held. */
export type Mode = 'read' | 'upgradeable' | 'write';

/** An election with so many jobs takes no more: none of them may be forgotten, or its instants would start again. */
export const MAX_JOBS = 1_000;

/** Bounds of a semaphore's limit, and of the permits of one request. */
export const MAX_LIMIT = 2_147_483_647;

/** The most tokens that a grant reserves: a millisecond's worth, as tokens are floored by the clock. */
export const MAX_KEEPS = 1_000;

/** What a request, its waiter and its lease have in common. */
export interface Member {
  readonly process: string;
  readonly leaseMs: number;
  readonly expiresAt: Date;
  readonly label?: string;
  readonly why?: string;
  /** Of a reader-writer lock. */
  readonly mode?: Mode;
  /** Of a semaphore. */
  readonly permits?: number;
  /**
   * The process may keep the seat between its callers, with so many tokens beyond the lease's own: whoever has to wait
   * behind it names its process.
   */
  readonly keeps?: number;
  /** Of an election. */
  readonly candidateId?: string;
  readonly value?: string;
  /** A waiter's lease does not include it. The grant adds it to the lease, as the last part of it. */
  readonly transitionMs?: number;
}

/** A seat held. `extendedAt` is not stored: it is `expiresAt − leaseMs`. */
export interface Lease extends Member {
  readonly id: string;
  readonly token: number;
  readonly acquiredAt: Date;
  /** The number of the last change of mode that took effect; older ones do nothing any more. */
  readonly change?: number;
  /** The token of its grant, once a change of mode has brought another. */
  readonly firstToken?: number;
  /** An upgradeable lease that waits for the other readers to leave. */
  readonly upgrading?: boolean;
  /** Set by a revocation: the lease is not extended any more and ends at its release or expiry. */
  readonly ending?: boolean;
  readonly endingWhy?: string;
  /** Of a leader: names the last call of a job in its term, so that an extension tells of it. */
  readonly called?: string;
}

/**
 * How long a lease or a place goes on, by the server's clock at `nowMs`. Never more than a lease: an expiry further
 * ahead was written by a clock that has stepped back since, and will be over at once when it is set right (E9).
 */
export const leftMs = (expiresAt: Date, nowMs: number, leaseMs: number): number =>
  Math.min(expiresAt.getTime() - nowMs, leaseMs);

/** How long the holder may count on a lease: the transition at its end is not the leader's. */
export const countedLeftMs = ({ expiresAt, leaseMs, transitionMs = 0 }: Lease, nowMs: number): number =>
  leftMs(expiresAt, nowMs, leaseMs) - transitionMs;

/** A place in the queue, kept under its attempt id, with a lease of its own (E5: a dead waiter must lapse). */
export interface Waiter extends Member {
  readonly since: Date;
}
