import type { Mode } from './lock-document.js';

/** What a request asks for: the attempt id names the waiter and then the lease, from the queue to the release. */
export interface Request extends Demand {
  readonly id: string;
  readonly process: string;
  readonly leaseMs: number;
  readonly label?: string | undefined;
  readonly why?: string | undefined;
  /** The grant reserves so many tokens beyond its own, for those who follow in the same seat: it may be kept. */
  readonly keeps?: number | undefined;
  /** Server time after which the request does nothing, so that it cannot take effect after its own cleanup (E2). */
  readonly notAfter: Date;
  /** Holders and waiters that the lock may have, this one included. */
  readonly maxMembers: number;
  /** How long the document outlives its last lease. */
  readonly retentionMs: number;
}

/** How much of a lock is asked for. A mutex knows no more or less. */
export interface Demand {
  /** Of a reader-writer lock. */
  readonly mode?: Mode | undefined;
  /** Of a semaphore. */
  readonly permits?: number | undefined;
  /** Of a semaphore: its limit, if it is not stored yet. */
  readonly limit?: number | undefined;
  /** Of a semaphore: refuse the request if another limit is stored. An idle lock takes this one over. */
  readonly mustMatch?: boolean | undefined;
  /** Of a semaphore: makes `limit` the stored one. */
  readonly setsLimit?: boolean | undefined;
  /** Of an election: who stands. */
  readonly candidateId?: string | undefined;
  /** Of an election: what the leader tells everybody. */
  readonly value?: string | undefined;
  /** Of an election: what the grant adds to the lease, for a time in which only the same candidate may follow. */
  readonly transitionMs?: number | undefined;
}

/** Takes leases away. */
export interface Revoking extends Revocation {
  readonly ids: readonly string[];
}

/** Who takes a lease away, and why. It is recorded only if it says who. */
export interface Revocation {
  /** The label and the process id of a provider. */
  readonly by?: string | undefined;
  readonly why?: string | undefined;
}

/** One step of a transition. `enqueue` and `try` are the only ones that create a lock document. */
export type Operation =
  | { readonly type: 'enqueue' | 'try'; readonly request: Request }
  /** Removes a waiter only: at a timeout the grant may have come first, and then the seat must stay. */
  | { readonly type: 'cancel'; readonly id: string }
  /** Removes a lease or a waiter. */
  | { readonly type: 'leave'; readonly id: string }
  /** Extends leases and places, each by its own stored lease; `leaseMs` is the longest of them. */
  | {
      readonly type: 'extend';
      readonly ids: readonly string[];
      readonly leaseMs: number;
      readonly retentionMs: number;
      /** Never used twice: an update that changed nothing would be acknowledged by an isolated old primary too. */
      readonly nonce: string;
    }
  /** Asks holders to release: they are told, and not extended any more. */
  | (Revoking & { readonly type: 'ask' })
  /** Empties seats at once; from then on only tokens protect against the old holder. */
  | (Revoking & { readonly type: 'evict' })
  | RaiseFence
  | OwnOperation;

/**
 * Lifts the fence to at least this token, if this attempt has a live lease: every later grant has a higher one. So the
 * tokens of one lock rise though it is granted by different majorities of several stores. It extends nothing.
 */
export interface RaiseFence {
  readonly type: 'raiseFence';
  readonly id: string;
  readonly token: number;
  /** Never used twice, as that of a look. */
  readonly nonce: string;
}

/** What only one kind of lock can do; on the others it changes nothing. */
export type OwnOperation = Exchange | Resize | HandOver | Claim | Conclude | Call;

/**
 * Changes the mode of a lease of a reader-writer lock: an upgrade, its cancel, or a downgrade. The number rises from
 * change to change of one lease, so a late or repeated one does nothing.
 */
export interface Exchange {
  readonly type: 'exchange';
  readonly id: string;
  readonly change: number;
  readonly to: Mode;
  /** Of an upgrade: waits for the other readers to leave. False: it is one try. */
  readonly waits: boolean;
  /**
   * Of an upgrade: the token that the process knows. A lease that is stored as a write with no higher token takes a new
   * one: the process had given that write up, and what it writes from now on is told apart from what it wrote before.
   */
  readonly knownToken?: number | undefined;
}

/** Sets the limit of a semaphore. */
export interface Resize {
  readonly type: 'resize';
  readonly limit: number;
  /** Server time after which it does nothing: it must not undo a later one. */
  readonly notAfter: Date;
}

/** Gives the seat of this attempt to that candidate, wherever it waits. If it does not wait, nothing changes. */
export interface HandOver {
  readonly type: 'handOver';
  readonly id: string;
  readonly candidateId: string;
}

/**
 * Claims an instant of a job of an election, for the term of this attempt. It takes effect only for a later instant than
 * the last one, which must be `after`, and not before its time by the server's clock.
 */
export interface Claim {
  readonly type: 'claim';
  readonly id: string;
  readonly job: string;
  readonly instant: Date;
  /** The last instant that the job has claimed, as far as is known; `null`: none. */
  readonly after: Date | null;
  /** The same for every repeat: it is answered as the first copy was. */
  readonly claimId: string;
  /** Never used twice, as that of a look. */
  readonly nonce: string;
  /** What the anchor is if there is none: by default the instant. */
  readonly anchor?: Date | undefined;
  /** Whether a run begins with it; false, the default: the instant is only taken account of. */
  readonly runs?: boolean | undefined;
  /** The number of the call that it answers; it takes effect only if that is pending. */
  readonly call?: number | undefined;
}

/** How a run ended, as its process stored it. `missed`: it was claimed and could not start. */
export type RunOutcome = 'completed' | 'failed' | 'missed';

/** Stores how the run ended that the term of this attempt claimed for this instant. */
export interface Conclude {
  readonly type: 'conclude';
  readonly id: string;
  readonly job: string;
  readonly instant: Date;
  readonly outcome: RunOutcome;
  /** Never used twice, as that of a look. */
  readonly nonce: string;
}

/** Asks the leader of an election for a run of a job, out of turn. */
export interface Call {
  readonly type: 'call';
  readonly job: string;
  /**
   * The number of the last call as far as is known: a call is new only if that is so, so that a repeat of it is none.
   * `null`: only asks for the numbers.
   */
  readonly since: number | null;
  /** Server time until which it may be claimed; later it does nothing: a late copy must not ask for a run. */
  readonly until: Date;
  /** Never used twice, as that of a look. */
  readonly nonce: string;
}
