// Folder `protocol`: what is stored for a lock, and which updates may change it. The code here only computes values:
// it uses neither the driver nor a clock. This file has the shapes of leases and waiters. docs/protocol.md describes
// the whole document and the rules.
//
// Comments cite some facts by number: docs/protocol.md lists the invariants (S1, L3 …) and the hazards (E1, E2 …), and
// docs/guarantees.md lists the bounds (B1 …).

/**
 * The use of a lock. The kind is stored with the lock, and only an idle lock can change its kind. While somebody holds
 * the lock or waits for it, a request for another kind fails with a `LockKindMismatchError`.
 */
export type LockKind = 'mutex' | 'reader-writer' | 'semaphore' | 'election';

export const LOCK_KINDS: readonly LockKind[] = ['mutex', 'reader-writer', 'semaphore', 'election'];

/** The version of the document's shape that this code reads and writes. A document of another version is corrupt. */
export const DOCUMENT_VERSION = 1;

/** The bounds of `leaseMs`, requested or stored: 100 ms to 24 h. */
export const MIN_LEASE_MS = 100;
export const MAX_LEASE_MS = 86_400_000;

/**
 * How a reader-writer lock is held.
 *
 * - `read`: beside any number of other readers.
 * - `upgradeable`: a read that can become a write. At most one holder has this mode, beside other readers.
 * - `write`: alone.
 */
export type Mode = 'read' | 'upgradeable' | 'write';

/**
 * The most jobs in the list `claims` of an election, and in its list `calls`. No update removes a job: the instants of
 * a removed job could be claimed again.
 */
export const MAX_JOBS = 1_000;

/** The upper bound of a semaphore's limit, and of the permits of one request. */
export const MAX_LIMIT = 2_147_483_647;

/**
 * The most tokens that one grant reserves beyond its own: as many as `CLOCK_TOKEN` rises in 1 ms. Tokens must not run
 * ahead of `CLOCK_TOKEN`: if the document is lost, the next token is `CLOCK_TOKEN` + 1 (E10).
 */
export const MAX_KEEPS = 1_000;

/** The fields that a waiter and its lease have in common. */
export interface EntryFields {
  readonly process: string;
  readonly leaseMs: number;
  readonly expiresAt: Date;
  readonly label?: string;
  readonly why?: string;
  /**
   * The W3C trace context of the hold: 55 bytes. Only a request of an instrumented provider has one. No rule of the
   * protocol depends on it; a departure copies it into `wake`.
   */
  readonly traceparent?: string;
  /** Reader-writer lock only. */
  readonly mode?: Mode;
  /** Semaphore only. */
  readonly permits?: number;
  /**
   * Above 0 if the process may keep the seat between its callers. A word `OTHERS_WAIT` for the lease tells the process
   * to give the seat back. In a mutex and a semaphore, the grant reserves this number of tokens beyond its own; in a
   * reader-writer lock, none.
   */
  readonly keeps?: number;
  /** Election only. */
  readonly candidateId?: string;
  /** Election only. */
  readonly value?: string;
  /**
   * Election only: the time, in ms, that the grant adds to `leaseMs` and `expiresAt`. In a waiter, these two fields do
   * not include this time yet.
   */
  readonly transitionMs?: number;
}

/** The stored record of a taken seat. The time of the last extension is not stored: it is `expiresAt − leaseMs`. */
export interface Lease extends EntryFields {
  readonly id: string;
  readonly token: number;
  readonly acquiredAt: Date;
  /**
   * The number of the last change of mode that this lease has seen, failed upgrades included. A change with this
   * number or a lower one does nothing.
   */
  readonly change?: number;
  /** The token of the grant, stored when a change of mode replaces `token`. */
  readonly firstToken?: number;
  /** Whether this upgradeable lease waits for the other readers to leave. */
  readonly upgrading?: boolean;
  /** Set by the operation `ask`: the lease is not extended any more, and ends at its release or its expiry. */
  readonly ending?: boolean;
  readonly endingWhy?: string;
  /**
   * Leader only: the nonce of the last call, for any job, that was stored during the leader's term. The read after each
   * extension shows it, so the leader learns of a call even if it misses the word in `wake`.
   */
  readonly called?: string;
}

/**
 * The time from `nowMs`, by the server's clock, to the end of a lease or a place, in ms; at most `leaseMs`. An expiry
 * more than `leaseMs` after `nowMs` was written before the server's clock stepped back, and may pass at once when the
 * clock is set right (E9).
 */
export const leftMs = (expiresAt: Date, nowMs: number, leaseMs: number): number =>
  Math.min(expiresAt.getTime() - nowMs, leaseMs);

/**
 * `leftMs` without the transition of the election, which is the last `transitionMs` of a leader's lease: the leader may
 * not rely on that time. The clock allowance is not taken off yet (`deadlineBefore`). The result may be negative.
 */
export const countedLeftMs = ({ expiresAt, leaseMs, transitionMs = 0 }: Lease, nowMs: number): number =>
  leftMs(expiresAt, nowMs, leaseMs) - transitionMs;

/** A place in the queue, stored under its attempt id. The place of a dead process expires by itself (E5). */
export interface Waiter extends EntryFields {
  readonly since: Date;
}
