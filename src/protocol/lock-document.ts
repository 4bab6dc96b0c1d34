// Folder `protocol`: what is stored for a lock, and which updates may change it. The code here only computes values; it
// uses neither the driver nor a clock. This file has the shape of the document; docs/protocol.md describes its fields
// and rules.
//
// Comments cite some facts by number: docs/protocol.md lists the invariants (S1, L3 …) and the cases (E1, E2 …), and
// docs/guarantees.md lists the bounds (B1 …).

/**
 * The use of a lock. The kind is stored with the lock. Only an idle lock can change its kind: a request for
 * another kind fails with a `LockKindMismatchError` as long as somebody holds the lock or waits for it.
 */
export type LockKind = 'mutex' | 'reader-writer' | 'semaphore' | 'election';

export const LOCK_KINDS: readonly LockKind[] = ['mutex', 'reader-writer', 'semaphore', 'election'];

/** The version of the document's shape that this code reads and writes. A document of another version is corrupt. */
export const DOCUMENT_VERSION = 1;

/** The bounds of a lease, requested or stored: 100 ms to 24 h. */
export const MIN_LEASE_MS = 100;
export const MAX_LEASE_MS = 86_400_000;

/**
 * How a reader-writer lock is held. `read`: beside any number of other readers. `upgradeable`: a read that can become a
 * write; at most one, beside other readers. `write`: alone.
 */
export type Mode = 'read' | 'upgradeable' | 'write';

/**
 * The most jobs of one election. The document never drops a job: the instants of a dropped job could be claimed again.
 */
export const MAX_JOBS = 1_000;

/** The upper bound of a semaphore's limit, and of the permits of one request. */
export const MAX_LIMIT = 2_147_483_647;

/** The most tokens that one grant reserves: 1,000 tokens take up one millisecond of `CLOCK_TOKEN`. */
export const MAX_KEEPS = 1_000;

/** The fields that a waiter and its lease have in common. */
export interface EntryFields {
  readonly process: string;
  readonly leaseMs: number;
  readonly expiresAt: Date;
  readonly label?: string;
  readonly why?: string;
  /** Reader-writer lock only. */
  readonly mode?: Mode;
  /** Semaphore only. */
  readonly permits?: number;
  /**
   * The number of tokens that the grant reserves beyond its own. A reader-writer lock reserves none, even if the number
   * is above 0. For every kind, a number above 0 says that the process may keep the seat between its callers. An
   * update that does not grant a request of another process, or an upgrade, then names the lease in `wake`.
   */
  readonly keeps?: number;
  /** Election only. */
  readonly candidateId?: string;
  readonly value?: string;
  /** Election only: the time that the grant adds at the end of the lease. The lease of a waiter does not include it. */
  readonly transitionMs?: number;
}

/** The stored record of a taken seat. The time of the last extension is not stored: it is `expiresAt − leaseMs`. */
export interface Lease extends EntryFields {
  readonly id: string;
  readonly token: number;
  readonly acquiredAt: Date;
  /** The number of the last change of mode that was applied. A change with this number or a lower one does nothing. */
  readonly change?: number;
  /** The token of the grant, stored when a change of mode replaces `token`. */
  readonly firstToken?: number;
  /** This upgradeable lease waits for the other readers to leave. */
  readonly upgrading?: boolean;
  /** The operation `ask` sets it: the lease is not extended any more, and ends at its release or its expiry. */
  readonly ending?: boolean;
  readonly endingWhy?: string;
  /** Leader only: the nonce of the last call of a job in the leader's term. The read after an extension shows it. */
  readonly called?: string;
}

/**
 * The time for which a lease or a place goes on after `nowMs` of the server's clock, in ms; at most one lease. An
 * expiry further ahead was written before the server's clock stepped back. Such an expiry may pass at once when the
 * clock is set right (E9).
 */
export const leftMs = (expiresAt: Date, nowMs: number, leaseMs: number): number =>
  Math.min(expiresAt.getTime() - nowMs, leaseMs);

/**
 * The time for which the holder may rely on the lease, in ms. A leader may not rely on the last `transitionMs` of its
 * lease, which are the transition of the election.
 */
export const countedLeftMs = ({ expiresAt, leaseMs, transitionMs = 0 }: Lease, nowMs: number): number =>
  leftMs(expiresAt, nowMs, leaseMs) - transitionMs;

/** A place in the queue, stored under its attempt id. It has a lease of its own, so that a dead waiter lapses (E5). */
export interface Waiter extends EntryFields {
  readonly since: Date;
}
