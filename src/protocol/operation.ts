import type { Mode } from './lock-document.js';

/** The request of one attempt. The id names the waiter in the queue, and then the lease until its end. */
export interface Request extends Demand {
  readonly id: string;
  readonly process: string;
  readonly leaseMs: number;
  readonly label?: string | undefined;
  readonly why?: string | undefined;
  /** The W3C trace context of the hold to come. Set only if an instrumented provider records a span of that hold. */
  readonly traceparent?: string | undefined;
  /**
   * How many tokens the grant reserves for the passes of the seat. A read reserves no tokens: for a read, a number
   * above 0 only says that the process may keep the seat. `undefined`: the process does not keep the seat.
   */
  readonly keeps?: number | undefined;
  /**
   * The server time after which the request does nothing: a late copy must not take effect after the process has
   * cleaned up the attempt (E2).
   */
  readonly notAfter: Date;
  /** The most holders and waiters that the lock may have, this attempt included. */
  readonly maxMembers: number;
  /**
   * The document is kept for at least `leaseMs` + `retentionMs` after the request was accepted. In an election,
   * `retentionMs` includes `transitionMs`.
   */
  readonly retentionMs: number;
}

/** The part of a request that depends on the kind of lock. A mutex needs none of these fields. */
export interface Demand {
  /** Reader-writer lock only. */
  readonly mode?: Mode | undefined;
  /** Semaphore only. */
  readonly permits?: number | undefined;
  /**
   * Semaphore only: the limit of a new document. With `mustMatch` or `setsLimit`, `limit` also concerns a stored
   * document.
   */
  readonly limit?: number | undefined;
  /**
   * Semaphore only: whether the stored limit must be `limit`. If another limit is stored, an idle lock takes over
   * `limit`, and a lock in use refuses the request.
   */
  readonly mustMatch?: boolean | undefined;
  /**
   * Semaphore only: whether the request also sets the stored limit to `limit`. A try sets the limit even if it finds
   * the lock busy.
   */
  readonly setsLimit?: boolean | undefined;
  /** Election only: the candidate that makes the request. */
  readonly candidateId?: string | undefined;
  /** Election only: the value that the leader publishes. */
  readonly value?: string | undefined;
  /**
   * Election only: the time, in ms, that the grant adds at the end of the lease. In that time only the same candidate
   * may enter.
   */
  readonly transitionMs?: number | undefined;
}

export interface Revoking extends Revocation {
  readonly ids: readonly string[];
}

/** The revoker and the reason. A revocation without `by` leaves no record in `revoked`. */
export interface Revocation {
  readonly by?: string | undefined;
  readonly why?: string | undefined;
}

/** One step of a transition. Only `enqueue`, `try` and `claimWithoutTerm` may create a lock document. */
export type Operation =
  | { readonly type: 'enqueue' | 'try'; readonly request: Request }
  /** Removes a waiter, never a lease: an attempt that got a seat before its cancel arrived keeps the seat (E6). */
  | { readonly type: 'cancel'; readonly id: string }
  /** Removes a lease or a waiter. */
  | { readonly type: 'leave'; readonly id: string }
  /**
   * Extends leases and places, each by its own stored `leaseMs`. The operation's own `leaseMs` is the longest one that
   * the requests of `ids` asked for, and only `purgeAt` depends on it.
   */
  | {
      readonly type: 'extend';
      readonly ids: readonly string[];
      readonly leaseMs: number;
      readonly retentionMs: number;
      /**
       * Never used twice, so that each update changes the document: an isolated old primary acknowledges an update that
       * changes nothing.
       */
      readonly nonce: string;
    }
  /** Asks holders to release: `wake` names their leases, and nothing extends these leases any more. */
  | (Revoking & { readonly type: 'ask' })
  /** Empties seats at once. From then on only tokens protect a resource from the old holders. */
  | (Revoking & { readonly type: 'evict' })
  | RaiseFence
  | OwnOperation;

/**
 * Raises the fence to at least `token` if the attempt `id` has a live lease, so that every later grant has a higher
 * token. So the tokens of a quorum lock rise although different majorities of its stores grant the lock. The lease is
 * not extended.
 */
export interface RaiseFence {
  readonly type: 'raiseFence';
  readonly id: string;
  readonly token: number;
  /** Never used twice, so that each update changes the document. */
  readonly nonce: string;
}

/** An operation of one kind of lock. On the other kinds it changes nothing. */
export type OwnOperation = Exchange | Resize | HandOver | Claim | ClaimWithoutTerm | Conclude | Call;

/**
 * Changes the mode of a lease of a reader-writer lock: an upgrade, its cancel, or a downgrade. The number `change`
 * rises with each change of one lease. So a repeat does nothing, and a late copy of an earlier change does nothing
 * either.
 */
export interface Exchange {
  readonly type: 'exchange';
  readonly id: string;
  readonly change: number;
  readonly to: Mode;
  /** Upgrade only. True: the upgrade waits for the other readers to leave; false: it is a single try. */
  readonly waits: boolean;
  /**
   * Upgrade only: the last token that the process knows. If the lease is stored in mode `write` with this token or a
   * lower one, the process has given up that write, and its downgrade never arrived. Then the lease gets a new token,
   * so that a resource can tell the new writes from the old ones.
   */
  readonly knownToken?: number | undefined;
}

export interface Resize {
  readonly type: 'resize';
  readonly limit: number;
  /** The server time after which the resize does nothing: a late copy must not undo a later resize. */
  readonly notAfter: Date;
}

/**
 * Gives the seat of the attempt `id` to the candidate `candidateId`, whatever place the candidate has in the queue. If
 * the attempt does not lead, or the candidate does not wait, the seat and the queue stay as they are.
 */
export interface HandOver {
  readonly type: 'handOver';
  readonly id: string;
  readonly candidateId: string;
}

/**
 * Claims an instant of a job of an election, for the term with this id and token. `ClaimOutcome` lists the reasons
 * for which a claim is not applied.
 */
export interface Claim {
  readonly type: 'claim';
  readonly id: string;
  /**
   * The token of the term. After the end of the term, a late copy of the request for the term may be granted. The new
   * term then has the same `id`, but another token.
   */
  readonly token: number;
  readonly job: string;
  readonly instant: Date;
  /** The last claimed instant of the job, as far as the process knows; `null`: none. */
  readonly after: Date | null;
  /** The same in every copy of the claim. The server answers a copy of the last stored claim with `claimed` again. */
  readonly claimId: string;
  /** Unlike `claimId`, a new one in each copy of the claim, so that each update changes the document. */
  readonly nonce: string;
  /** The instant from which a fixed rate counts. Stored only by the first claim of the job. Default: `instant`. */
  readonly anchor?: Date | undefined;
  /** The next instant of the schedule, if it is known already. It is stored with the run, for people to read. */
  readonly next?: Date | undefined;
  /** Whether a run begins with this claim. Default: false, for an instant that was missed and is not run any more. */
  readonly runs?: boolean | undefined;
  /** The number of the call that the claim answers. The claim is applied only if that call is pending. */
  readonly call?: number | undefined;
}

/**
 * Claims an instant of a job for a process that does not lead. At most one claim of an instant is applied. After
 * that, no claim of an earlier instant is applied. If there is no document, the claim creates the document of an
 * election without a leader.
 */
export interface ClaimWithoutTerm {
  readonly type: 'claimWithoutTerm';
  readonly job: string;
  readonly instant: Date;
  /** Every copy of the claim has the same `claimId`. */
  readonly claimId: string;
  /** The process that claims; it is stored with the run. */
  readonly process: string;
  /** The least time for which the document is kept after the claim. */
  readonly retentionMs: number;
  /** Never used twice, so that each update changes the document. */
  readonly nonce: string;
}

/**
 * How a run ended, as its process stored it.
 *
 * - `completed`: the work ended without an error.
 * - `failed`: the work threw, or had not ended 5,000 ms after `maxRunMs` had aborted its signal.
 * - `missed`: the instant was claimed, and the run could not start.
 */
export type RunOutcome = 'completed' | 'failed' | 'missed';

/** Stores how a run ended: the run that the term `id` claimed for this instant. */
export interface Conclude {
  readonly type: 'conclude';
  readonly id: string;
  readonly job: string;
  readonly instant: Date;
  readonly outcome: RunOutcome;
  /** Never used twice, so that each update changes the document. */
  readonly nonce: string;
}

/** Asks the leader of an election for a run of a job, out of turn. */
export interface Call {
  readonly type: 'call';
  readonly job: string;
  /**
   * The number of the last call, as far as the process knows. The server adds the call only if no later number is
   * stored, so a repeat adds no call. `null`: stores no call, and asks only for the numbers of the last call and of the
   * last claimed call.
   */
  readonly since: number | null;
  /** The server time until which the call may be claimed. A copy that arrives later must not ask for a run. */
  readonly until: Date;
  /** Never used twice, so that each update changes the document. */
  readonly nonce: string;
}
