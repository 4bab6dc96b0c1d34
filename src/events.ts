import { quoted } from './error-text.js';
import type { LossCause } from './errors.js';
import type { Wakeups } from './options/provider-options.js';
import type { LockKind, Mode } from './protocol/lock-document.js';
import { isOfClosedClient, oneLine } from './warnings.js';
import type { FailureWarning } from './warnings.js';

/** The fields of every event about one attempt or hold. */
export interface AttemptEvent {
  /** The name of the lock. */
  readonly lockName: string;
  /** The kind of the lock. */
  readonly kind: LockKind;
  /**
   * The attempt id. A request has one id from the queue to the release, unless its place is lost or its grant comes too
   * late: the request then goes on under a new id. All holds of one kept seat have the same id. A `timeout` event may
   * have a fresh id that names no stored attempt, for example if the request was never sent to a store.
   */
  readonly id: string;
}

/** The request was queued, or was queued again under a new attempt id. */
export interface WaitingEvent extends AttemptEvent {
  /** The place in the queue, 0 for the head. */
  readonly place: number;
}

/** The lock was granted. */
export interface AcquiredEvent extends AttemptEvent {
  /** The token of the hold. */
  readonly fencingToken: number;
  /** The time from the call to the grant, in whole ms. */
  readonly waitedMs: number;
}

/** The lease of the hold was extended. */
export interface ExtendedEvent extends AttemptEvent {
  /** The token of the hold. */
  readonly fencingToken: number;
  /** The time for which the process can rely on the hold from now on, in whole ms. */
  readonly remainingMs: number;
}

/**
 * The owner released the hold. If `confirmed` is false, the library does not know that the store removed the lease.
 * Either the store has not answered reliably, or the event comes before the end of the lease: a leader is handing over
 * its term, or work of the term outlives its drain.
 */
export interface ReleasedEvent extends AttemptEvent {
  /** The token of the hold. */
  readonly fencingToken: number;
  /** The time from the beginning of the hold to the call of the release, in whole ms. */
  readonly heldMs: number;
  /**
   * Whether the store has confirmed the release. Also true if nothing is sent, because the process keeps the seat or
   * other readers of the process share it.
   */
  readonly confirmed: boolean;
}

/** The hold was lost. */
export interface LostEvent extends AttemptEvent {
  /** The token of the hold. */
  readonly fencingToken: number;
  /** The time from the beginning of the hold to its loss, or to the release that found no lease, in whole ms. */
  readonly heldMs: number;
  /** How the hold was lost. */
  readonly why: LossCause;
}

/** A handle was garbage-collected without a release. The library releases its hold. */
export interface AbandonedEvent extends AttemptEvent {
  /** The token of the hold. */
  readonly fencingToken: number;
  /** The time from the beginning of the hold to the garbage collection of its handle, in whole ms. */
  readonly heldMs: number;
}

/** A request or an upgrade timed out after it had waited. */
export interface TimeoutEvent extends AttemptEvent {
  /** The time from the call to its end, in whole ms. */
  readonly waitedMs: number;
}

/** A hold of a reader-writer lock has changed its mode. */
export interface ModeChangedEvent extends AttemptEvent {
  /** The token of the hold after the change. */
  readonly fencingToken: number;
  /** The mode after the change. */
  readonly mode: Mode;
  /** The mode before the change. */
  readonly previousMode: Mode;
}

/** The holder was asked to release. */
export interface ReleaseRequestedEvent extends AttemptEvent {
  /** The token of the hold. */
  readonly fencingToken: number;
  /**
   * The provider that revoked the hold: `label (process id)`, or the process id alone if the provider has no label.
   * `undefined` if the holder's own provider closes, or if the document does not show the revoker.
   */
  readonly by?: string | undefined;
  /** The reason for the revocation, if one was given. */
  readonly why?: string | undefined;
}

/** The provider has decided how waiters learn of their grants, or has changed that decision. */
export interface WakeupsEvent {
  /** How waiters learn of their grants from now on. */
  readonly mode: Wakeups;
  /** Why the provider uses this way. */
  readonly why: string;
}

/**
 * A command to the store failed or was not answered, a change stream failed, or `list` found a corrupt document. The
 * library continues by itself.
 */
export interface StoreErrorEvent {
  /** The lock that the failure is about; `null` if the failure may be about several locks or about none. */
  readonly lockName: string | null;
  /**
   * What the library was doing: `transition`, `extension`, `read`, `list` (which found a corrupt document), `index`,
   * `stream` or `hello` (the handshake).
   */
  readonly during: string;
  /** The failure: an error of this library, of the driver or of the server, possibly shortened. */
  readonly error: unknown;
}

/** The index for purging could not be created. Locks work without it, but unused documents stay. */
export interface IndexErrorEvent {
  /** The failure: an error of this library, of the driver or of the server, possibly shortened. */
  readonly error: unknown;
}

/** The events of a provider, each with one typed payload. */
export interface LockProviderEvents {
  /** A request was queued. */
  waiting: [WaitingEvent];
  /** A lock was granted. */
  acquired: [AcquiredEvent];
  /** A hold of a reader-writer lock was upgraded or downgraded. */
  modeChanged: [ModeChangedEvent];
  /** A hold was extended. */
  extended: [ExtendedEvent];
  /** The owner released a hold. */
  released: [ReleasedEvent];
  /** A hold was lost. */
  lost: [LostEvent];
  /** A handle was garbage-collected without a release, and the library releases its hold. */
  abandoned: [AbandonedEvent];
  /** A request or an upgrade timed out after it had waited. A single try reports no timeout. */
  timeout: [TimeoutEvent];
  /** A holder was asked to release. */
  releaseRequested: [ReleaseRequestedEvent];
  /** The provider has decided how waiters learn of their grants, or has changed that decision. */
  wakeups: [WakeupsEvent];
  /** A command to the store failed or was not answered, a change stream failed, or `list` found a corrupt document. */
  storeError: [StoreErrorEvent];
  /** The index for purging could not be created. */
  indexError: [IndexErrorEvent];
}

/** The process warnings for the failures of a provider. */
export const PROVIDER_WARNINGS: {
  readonly lost: FailureWarning<[LostEvent]>;
  readonly storeError: FailureWarning<[StoreErrorEvent]>;
} = {
  lost: {
    code: 'LEASEHOLD_LOST',
    message: ({ lockName, why, heldMs, fencingToken }) =>
      // If the application closes the provider, the loss is expected, so it causes no warning.
      why === 'provider-closed'
        ? null
        : `Lock ${quoted(lockName)} was lost (${why}) after ${String(heldMs)} ms, with token ${String(fencingToken)}`,
  },
  storeError: {
    code: 'LEASEHOLD_STORE_ERROR',
    message: ({ lockName, during, error }) => {
      // If the application closes its client before the provider, errors of the stream and of the index are expected.
      if ((during === 'stream' || during === 'index') && isOfClosedClient(error)) return null;
      const about = lockName === null ? '' : ` of lock ${quoted(lockName)}`;
      return `The store failed or did not answer during ${during}${about}: ${oneLine(error)}`;
    },
  },
};

/** Reports an event of the provider. */
export type Report = <E extends keyof LockProviderEvents>(
  event: E,
  ...payload: LockProviderEvents[E]
) => void;
