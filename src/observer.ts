// The objects by which the core describes its work to observers, such as telemetry. The core begins to make these
// objects only while something observes the provider (`Observation.isOn`; for extensions, `hearsExtensions`). One
// object describes an acquire from its beginning to its end, and one object describes a hold in the same way.

import type { LossCause } from './errors.js';
import type { LockKind, Mode } from './protocol/lock-document.js';

/**
 * How a call of acquire ended.
 *
 * - `busy`: `tryAcquire` resolved with `null`, or an `acquire` with `timeoutMs` 0 found the lock busy.
 * - `timeout`: the time of any other `acquire` was up.
 * - `aborted`: the signal of the caller aborted.
 * - `error`: any other error.
 */
export type AcquireResult = 'granted' | 'busy' | 'timeout' | 'aborted' | 'error';

/**
 * How a hold ended.
 *
 * - `release`: by its owner, or because its handle was garbage-collected.
 * - `closing`: its provider closed while the lock was held.
 * - `loss`: for any other reason.
 */
export type HoldEnd = 'release' | 'loss' | 'closing';

/**
 * How a waiting request heard of its grant.
 *
 * - `event`: an event of the change stream named the attempt.
 * - `look`: the reply to an operation showed the lease.
 * - `poll`: a read of the lock showed the lease.
 */
export type HeardBy = 'event' | 'look' | 'poll';

/** What a process learned about a grant. */
export interface GrantNews {
  /** When the server granted the seat, by the server's clock, in ms; `undefined` if the process was not told. */
  readonly grantedAtMs: number | undefined;
  /** The `traceparent` of each lease that the update of the grant gave back; empty if the process was not told. */
  readonly handedBy: readonly string[];
}

export interface Heard extends GrantNews {
  readonly by: HeardBy;
}

export interface ObservedLock {
  readonly lockName: string;
  readonly kind: LockKind;
  /** Reader-writer lock only: the mode that was asked for. */
  readonly mode: Mode | undefined;
}

/** One call of acquire. Until the values are known, `handedBy` is empty, and all other fields below are `undefined`. */
export interface ObservedAcquire extends ObservedLock {
  /**
   * The W3C trace context of the hold to come. An observer sets it when the acquire starts. The document stores it with
   * the waiter and with the lease, unless the process already had the seat (a kept seat) or the lock is that of a
   * quorum.
   */
  traceparent: string | undefined;
  /** The place in the queue, 0 for the head, when the store first showed it. */
  queuePlace: number | undefined;
  heardBy: HeardBy | undefined;
  /** The time from the grant, by the server's clock, until this process heard of it, in ms. */
  handoverMs: number | undefined;
  /**
   * The `traceparent` of each hold that handed over, as far as the process knows: the holds that the update of the
   * grant gave back, and those in the last answer before the grant, if that answer showed this request at the head of
   * the queue; for a kept seat, its last hold.
   */
  handedBy: readonly string[];
  result: AcquireResult | undefined;
  error: unknown;
  fencingToken: number | undefined;
  durationMs: number | undefined;
}

export interface ObservedHold extends ObservedLock {
  /** The call that got this hold. */
  readonly acquire: ObservedAcquire;
  readonly fencingToken: number;
  endedBy: HoldEnd | undefined;
  /**
   * Why the hold ended; `undefined` until then. `released` if its owner ended it, or if its handle was
   * garbage-collected.
   */
  why: LossCause | undefined;
  durationMs: number | undefined;
}

export interface ObservedLoss {
  readonly lockName: string;
  readonly kind: LockKind;
  readonly fencingToken: number;
  readonly heldMs: number;
  readonly why: LossCause;
}

/** One answered batch of extensions. */
export interface ObservedExtension {
  /** The time from the sending of the batch to its answer, in ms. */
  readonly durationMs: number;
  /**
   * For each lease: the lock, and the share of the lease that was left when the answer came, 0 to 1. The share does
   * not count the clock allowance. Left out are leases that were given up meanwhile, and those whose revocation an
   * earlier answer has shown.
   */
  readonly leases: readonly { readonly lockName: string; readonly leftShare: number }[];
}

export interface ObservedTerm {
  readonly electionName: string;
  readonly candidateId: string;
  readonly fencingToken: number;
  endedBy: HoldEnd | undefined;
}

export interface ObservedRun {
  readonly jobName: string;
  readonly electionName: string;
  /** The instant of the run. */
  readonly firedAt: Date;
  readonly fencingToken: number;
}

/** One observer's work around one run of a job. */
export interface RunScope {
  /** Calls `work` once, at once, and returns its result. */
  within<T>(work: () => T): T;
  /**
   * Called once: when the run has ended, or when the run is reported as failed because it goes on too long after
   * `maxRunMs`. The later end of such a run is not reported. `error` is `undefined` if the run has not failed.
   */
  ended(error?: { readonly thrown: unknown }): void;
}

/**
 * Hears what the core does. If a method throws, the lock is not affected; a process warning reports the error, at most
 * once a minute.
 */
export interface Observer {
  acquireStarted?(acquire: ObservedAcquire): void;
  acquireEnded?(acquire: ObservedAcquire): void;
  holdStarted?(hold: ObservedHold): void;
  /** Called when the owner has released the hold, before the release is sent. `holdEnded` follows the release. */
  holdReleasing?(hold: ObservedHold): void;
  holdEnded?(hold: ObservedHold): void;
  /** Called instead of `holdStarted` and `holdEnded` if the hold of a granted call ended before its caller had it. */
  holdMissed?(acquire: ObservedAcquire, why: LossCause): void;
  lost?(loss: ObservedLoss): void;
  extended?(extension: ObservedExtension): void;
  termStarted?(term: ObservedTerm): void;
  termEnded?(term: ObservedTerm): void;
  runStarted?(run: ObservedRun): RunScope | undefined;
}
