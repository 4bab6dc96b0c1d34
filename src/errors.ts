import { describeHolder, messageOf, quoted, seconds, shortened } from './error-text.js';
import { LeaseholdError } from './leasehold-error.js';
import type { LeaseInfo } from './protocol/replies/snapshot.js';
import type { LockKind, Mode } from './protocol/lock-document.js';

/**
 * The time to wait was up before the lock was granted or the hold upgraded, or a single try found the lock busy. The
 * library withdraws the request at once or, if the store does not answer, in the background. A failed acquire holds
 * nothing, and what it left in the store lasts for at most one lease. A failed upgrade leaves the hold upgradeable. If
 * the store did not answer at the end, the message says so, and says whether the store had answered before. `cause` is
 * then the error of the store, or an `AggregateError` for several stores. `untilElected` also throws this error, and
 * withdraws nothing: the candidate still stands for election.
 */
export class AcquireTimeoutError extends LeaseholdError {
  /** @internal */
  static override readonly codeOfAll = 'ACQUIRE_TIMEOUT';

  /** Always `ACQUIRE_TIMEOUT`. */
  readonly code = 'ACQUIRE_TIMEOUT';

  /** The holders that the store showed last; of many holders, only some. Empty if none is known. */
  readonly holders: readonly LeaseInfo[];

  /**
   * The last known place in the queue, 0 for the head; `null` if no place is known. If the provider keeps seats of the
   * lock, this may be the place among the callers of the provider.
   */
  readonly place: number | null;

  /** How long the request waited, in whole ms. */
  readonly waitedMs: number;

  /**
   * @internal
   * @param details - `cause`: why the store did not answer, if it was silent at the end. `hadAnswered`: the store had
   *   shown the lock to this request before. `silence`: the words about the silence in the message, if there are
   *   several stores.
   */
  constructor(
    lockName: string,
    details: {
      holders?: readonly LeaseInfo[];
      place?: number | null;
      waitedMs: number;
      cause?: unknown;
      hadAnswered?: boolean;
      silence?: string;
    },
  ) {
    const { holders = [], place = null, waitedMs, cause, hadAnswered = false } = details;
    const held =
      holders.length === 0 ? '' : `; held by ${holders.slice(0, 3).map(describeHolder).join(', ')}`;
    const queued = place === null ? '' : `; ${String(place)} waiting ahead`;
    const ofOne = hadAnswered ? 'the store stopped answering' : 'the store did not answer';
    const { silence = `${ofOne}${messageOf(cause)}` } = details;
    const unanswered = cause === undefined ? '' : `; ${silence}`;
    super(
      lockName,
      `Lock ${quoted(lockName)} was not granted within ${seconds(waitedMs)}${held}${queued}${unanswered}`,
      cause === undefined ? undefined : { cause },
    );
    this.holders = holders;
    this.place = place;
    this.waitedMs = Math.floor(waitedMs);
  }
}

/**
 * Why a lock is not held any more. `expired`: the time of the hold was over before an extension was confirmed.
 * `assertHeld` also names this cause while the hold is doubtful, although the server may still confirm the hold.
 * `evicted`: the seat was found empty or taken. `document-missing`: the lock document is gone. `provider-closed`: the
 * provider was closed. `released`: the handle was used after its release, or the leader has ended its term. `revoked`:
 * a revocation ended the hold; the message says which provider revoked the hold, and why, as far as that is known.
 */
export type LossCause =
  'expired' | 'evicted' | 'document-missing' | 'provider-closed' | 'released' | 'revoked';

const LOSSES: Readonly<Record<LossCause, string>> = {
  expired: 'its lease ran out before an extension was confirmed',
  evicted: 'its seat was taken away',
  'document-missing': 'its lock document is gone',
  'provider-closed': 'its provider was closed',
  released: 'it was released',
  revoked: 'it was revoked',
};

/** The lock is not held any more, or `assertHeld` found the hold doubtful. Stop the work that the lock protects. */
export class LockLostError extends LeaseholdError {
  /** @internal */
  static override readonly codeOfAll = 'LOCK_LOST';

  /** Always `LOCK_LOST`. */
  readonly code = 'LOCK_LOST';

  /** How the hold ended; `expired` if the hold is doubtful. */
  readonly why: LossCause;

  /** @internal */
  constructor(lockName: string, why: LossCause, detail = `is not held any more: ${LOSSES[why]}`) {
    super(lockName, `Lock ${quoted(lockName)} ${detail}`);
    this.why = why;
  }
}

/** The lock is in use as another kind. `resize` and claims of node-cron also refuse an idle lock of another kind. */
export class LockKindMismatchError extends LeaseholdError {
  /** @internal */
  static override readonly codeOfAll = 'LOCK_KIND_MISMATCH';

  /** Always `LOCK_KIND_MISMATCH`. */
  readonly code = 'LOCK_KIND_MISMATCH';

  /** The kind of lock that the request asked for. */
  readonly expected: LockKind;

  /** The kind of the stored lock. */
  readonly actual: LockKind;

  /** @internal */
  constructor(lockName: string, expected: LockKind, actual: LockKind) {
    super(lockName, `Lock ${quoted(lockName)} is in use with the kind ${actual}, not ${expected}`);
    this.expected = expected;
    this.actual = actual;
  }
}

/** The present mode does not allow the change, or another change is in progress. The failed call changed nothing. */
export class LockModeError extends LeaseholdError {
  /** @internal */
  static override readonly codeOfAll = 'LOCK_MODE';

  /** Always `LOCK_MODE`. */
  readonly code = 'LOCK_MODE';

  /** The present mode of the hold. */
  readonly mode: Mode;

  /** @internal */
  constructor(lockName: string, mode: Mode, detail: string) {
    super(lockName, `Lock ${quoted(lockName)} is held as ${mode}: ${detail}`);
    this.mode = mode;
  }
}

/**
 * The semaphore is in use with another limit than that of the `Semaphore` object, or a request asks for more permits
 * than the stored limit. The stored limit may have been lowered while the request waited.
 */
export class SemaphoreLimitMismatchError extends LeaseholdError {
  /** @internal */
  static override readonly codeOfAll = 'SEMAPHORE_LIMIT_MISMATCH';

  /** Always `SEMAPHORE_LIMIT_MISMATCH`. */
  readonly code = 'SEMAPHORE_LIMIT_MISMATCH';

  /** The limit of the `Semaphore` object, or the number of permits that the request asked for. */
  readonly expected: number;

  /** The stored limit. */
  readonly actual: number;

  /** @internal */
  constructor(lockName: string, expected: number, actual: number, of: 'limit' | 'permits') {
    const asked =
      of === 'limit'
        ? `was created with a limit of ${String(expected)}`
        : `was asked for ${String(expected)} permits`;
    super(lockName, `Semaphore ${quoted(lockName)} ${asked}, and its stored limit is ${String(actual)}`);
    this.expected = expected;
    this.actual = actual;
  }
}

/**
 * The lock has as many holders and waiters as `maxMembers` allows, or as many as fit into its document, which MongoDB
 * limits to 16 MB. The request was not queued.
 */
export class QueueFullError extends LeaseholdError {
  /** @internal */
  static override readonly codeOfAll = 'QUEUE_FULL';

  /** Always `QUEUE_FULL`. */
  readonly code = 'QUEUE_FULL';

  /**
   * The option `maxMembers`. The lock has at least this number of holders and waiters, unless there is a `cause`. With
   * a `cause`, the document is full, and `cause` is the server's error.
   */
  readonly maxMembers: number;

  /** @internal */
  constructor(lockName: string, maxMembers: number, options?: ErrorOptions) {
    const full =
      options?.cause === undefined
        ? `has maxMembers = ${String(maxMembers)} holders and waiters`
        : 'has so many holders and waiters that its document of 16 MB is full';
    super(lockName, `Lock ${quoted(lockName)} ${full}`, options);
    this.maxMembers = maxMembers;
  }
}

/** The stored document is no lock document that this version understands. The library left it untouched. */
export class CorruptLockDocumentError extends LeaseholdError {
  /** @internal */
  static override readonly codeOfAll = 'CORRUPT_LOCK_DOCUMENT';

  /** Always `CORRUPT_LOCK_DOCUMENT`. */
  readonly code = 'CORRUPT_LOCK_DOCUMENT';

  /** @internal */
  constructor(lockName: string) {
    super(
      lockName,
      `The document of lock ${quoted(lockName)} has wrong types, or a kind or version that this release does not know; it was left untouched`,
    );
  }
}

/** The provider is closed, or was closed while the request waited. */
export class ProviderClosedError extends LeaseholdError {
  /** @internal */
  static override readonly codeOfAll = 'PROVIDER_CLOSED';

  /** Always `PROVIDER_CLOSED`. */
  readonly code = 'PROVIDER_CLOSED';

  /** @internal */
  constructor(lockName: string | null) {
    super(lockName, 'The lock provider is closed');
  }
}

/**
 * The store or the driver refused a command, or the command failed or had no answer in time. If `outcomeKnown` is
 * false, the command may have been applied. The library then removes in the background what a request for a lock may
 * have left in the store, and nothing of the request lasts longer than one lease.
 */
export class StoreUnavailableError extends LeaseholdError {
  /** @internal */
  static override readonly codeOfAll = 'STORE_UNAVAILABLE';

  /** Always `STORE_UNAVAILABLE`. */
  readonly code = 'STORE_UNAVAILABLE';

  /** True: the command had no effect. False: the command may have been applied. */
  readonly outcomeKnown: boolean;

  /** @internal */
  constructor(lockName: string | null, outcomeKnown: boolean, cause: unknown) {
    const about = lockName === null ? '' : ` for lock ${quoted(lockName)}`;
    const outcome = outcomeKnown
      ? 'nothing was changed'
      : 'the outcome is unknown; what it may have left behind is settled in the background';
    super(lockName, `The store could not serve a request${about}${messageOf(cause)} (${outcome})`, { cause });
    this.outcomeKnown = outcomeKnown;
  }
}

/** The server or the client's configuration lacks what this library needs, or the collection is capped. */
export class UnsupportedServerError extends LeaseholdError {
  /** @internal */
  static override readonly codeOfAll = 'UNSUPPORTED_SERVER';

  /** Always `UNSUPPORTED_SERVER`. */
  readonly code = 'UNSUPPORTED_SERVER';

  /** @internal */
  constructor(lockName: string | null, detail: string, cause?: unknown) {
    super(lockName, shortened(detail), cause === undefined ? undefined : { cause });
  }
}

/**
 * The caller requests a lock without a timeout while its own chain of calls holds that lock, so the request might never
 * be granted.
 */
export class DeadlockError extends LeaseholdError {
  /** @internal */
  static override readonly codeOfAll = 'DEADLOCK';

  /** Always `DEADLOCK`. */
  readonly code = 'DEADLOCK';

  /** @internal */
  constructor(lockName: string) {
    super(
      lockName,
      `Lock ${quoted(lockName)} is held by the same chain of calls that asks for it again without a timeout; locks are not reentrant`,
    );
  }
}
