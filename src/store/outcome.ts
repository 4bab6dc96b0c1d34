import type { Moment } from '../clock.js';

/**
 * How a call to the store ended.
 *
 * - `done`: the server has answered; a write is acknowledged by a majority. `sentAt` is the moment just before sending.
 * - `refused`: the server or the driver answered no. A repeat is of no use. The call changed nothing, unless it was to
 *   change several documents: then some of them may have been changed.
 * - `unknown`: there is no reliable answer. If `maybeApplied` is true, the call may have been applied. The caller may
 *   repeat the same operation under the same id.
 */
export type Outcome<T> = Done<T> | Refused | Unknown;

export interface Done<T> {
  readonly type: 'done';
  readonly value: T;
  readonly sentAt: Moment;
}

export interface Refused {
  readonly type: 'refused';
  readonly error: unknown;
  /** False if the driver refused, for example because the client is closed or the call is invalid. */
  readonly byServer: boolean;
  /** True if an earlier copy of the same operation may have been applied. Only the last copy was refused. */
  readonly isSecondCopy?: boolean;
}

export interface Unknown {
  readonly type: 'unknown';
  readonly error: unknown;
  readonly maybeApplied: boolean;
}

/**
 * Whether it is known if the server has applied this copy of a call. Does not tell whether an earlier copy was applied.
 */
export const isKnown = (outcome: Outcome<unknown>): boolean =>
  outcome.type !== 'unknown' || !outcome.maybeApplied;

/**
 * The codes of errors after which a later try may succeed, such as those of a server that changes its role, is
 * overloaded, or shuts down.
 */
const TRANSIENT_CODES: ReadonlySet<number> = new Set([
  6, // HostUnreachable
  7, // HostNotFound
  24, // LockTimeout
  50, // MaxTimeMSExpired
  63, // StaleShardVersion
  64, // WriteConcernFailed
  89, // NetworkTimeout
  91, // ShutdownInProgress
  100, // UnsatisfiableWriteConcern: members are down
  94, // NotYetInitialized: a member that does not have its configuration yet
  112, // WriteConflict
  117, // ConflictingOperationInProgress: a drop or an index build in the catalog, which will end
  133, // FailedToSatisfyReadPreference: a shard without a primary
  134, // ReadConcernMajorityNotAvailableYet
  150, // StaleEpoch
  175, // QueryPlanKilled
  189, // PrimarySteppedDown
  202, // NetworkInterfaceExceededTimeLimit
  211, // KeyNotFound: a signing key of the cluster
  215, // DatabaseDropPending: after the drop, the next request creates the collection again
  234, // RetryChangeStream
  246, // SnapshotUnavailable: a majority read while the collection is dropped and created again
  249, // StaleDbVersion: a router must ask again where the database is
  261, // TooManyLogicalSessions: until the server drops the sessions of clients that have ended
  262, // ExceededTimeLimit
  317, // ConnectionPoolExpired
  365, // TemporarilyUnavailable
  462, // IngressRequestRateLimitExceeded
  9001, // SocketException
  10058, // LegacyNotPrimary
  10107, // NotWritablePrimary
  11000, // DuplicateKey: two upserts raced
  11600, // InterruptedAtShutdown
  11601, // Interrupted
  11602, // InterruptedDueToReplStateChange
  13388, // StaleConfig
  13435, // NotPrimaryNoSecondaryOk
  13436, // NotPrimaryOrSecondary
]);

/** The transient codes after which it is certain that an update of one document was not applied. */
const NOT_APPLIED_CODES: ReadonlySet<number> = new Set([
  ...[94, 112, 215, 249, 261, 462],
  ...[10058, 10107, 11000, 13388, 13435, 13436],
]);

/**
 * Errors of the driver for an invalid call, or for a client that its owner has closed. A repeat would fail the same
 * way.
 *
 * `MongoNotConnectedError` comes only from a closed client. Two more errors of a closed client are not in this set.
 * `MongoTopologyClosedError` is also the error of every command after a first connect that failed.
 * `MongoClientClosedError` is the error of a command that was in flight at the close, and may have been applied. After
 * either error, the next command on a closed client fails with `MongoNotConnectedError`.
 */
const PERMANENT_DRIVER_ERRORS: ReadonlySet<string> = new Set([
  'MongoAPIError',
  'MongoCompatibilityError',
  'MongoExpiredSessionError',
  'MongoInvalidArgumentError',
  'MongoMissingCredentialsError',
  'MongoMissingDependencyError',
  'MongoNotConnectedError',
  'MongoParseError',
]);

/** Errors of the driver that occur before a command reaches a connection. */
const NOT_SENT_ERRORS: ReadonlySet<string> = new Set([
  'MongoPoolClearedError',
  'MongoServerSelectionError',
  'MongoTopologyClosedError',
  'MongoWaitQueueTimeoutError',
]);

/**
 * Sorts an error into an outcome, by its name, code, labels and details. The class is not compared: an application may
 * have two copies of the driver, and `instanceof` fails across copies.
 */
export function outcomeOfError(error: unknown): Refused | Unknown {
  const name = error instanceof Error ? error.name : '';
  const code = codeOf(error);
  if (PERMANENT_DRIVER_ERRORS.has(name)) return { type: 'refused', error, byServer: false };
  if (name === 'MongoServerError' && !isTransient(error, code)) {
    return { type: 'refused', error, byServer: true };
  }
  const notApplied =
    NOT_SENT_ERRORS.has(name) ||
    (name === 'MongoServerError' && code !== undefined && NOT_APPLIED_CODES.has(code));
  return { type: 'unknown', error, maybeApplied: !notApplied };
}

/** The errors of a closed client that `outcomeOfError` does not count as refusals: see `PERMANENT_DRIVER_ERRORS`. */
const CLOSING_ERRORS: ReadonlySet<string> = new Set(['MongoClientClosedError', 'MongoTopologyClosedError']);

/** Whether the driver may refuse every further command, for example because the client is closed. */
export const mayBeRefusedByDriver = (error: unknown): boolean => {
  const outcome = outcomeOfError(error);
  if (outcome.type === 'refused') return !outcome.byServer;
  return error instanceof Error && CLOSING_ERRORS.has(error.name);
};

/**
 * Error codes for a command or an option that the server does not implement. Usually such a server is another product
 * that speaks MongoDB's protocol.
 */
const NOT_IMPLEMENTED_CODES: ReadonlySet<number> = new Set([
  59, // CommandNotFound
  115, // CommandNotSupported
  238, // NotImplemented
]);

export const isNotImplemented = (error: unknown): boolean => NOT_IMPLEMENTED_CODES.has(codeOf(error) ?? 0);

/**
 * The codes of errors that every further change stream would meet. After any other error, the process opens a new
 * stream if it still needs one.
 */
const STREAM_REFUSAL_CODES: ReadonlySet<number> = new Set([
  9, // FailedToParse
  13, // Unauthorized
  72, // InvalidOptions
  115, // CommandNotSupported
  166, // CommandNotSupportedOnView
  323, // APIStrictError
  8000, // AtlasError: not in this tier
  40324, // an unknown stage
  40573, // change streams are for replica sets only
]);

export const isStreamRefused = (error: unknown): boolean => STREAM_REFUSAL_CODES.has(codeOf(error) ?? 0);

const isTransient = (error: unknown, code: number | undefined): boolean =>
  code === undefined ||
  (TRANSIENT_CODES.has(code) && !isPermanentDuplicate(error)) ||
  hasLabel(error, 'RetryableWriteError');

/**
 * Whether every repeat would fail with the same duplicate-key error. Two racing upserts collide on `_id` alone, so a
 * repeat can succeed. A repeat cannot succeed if the collection's collation does not distinguish two names, or if the
 * key is in a unique index other than that of `_id`.
 */
function isPermanentDuplicate(error: unknown): boolean {
  const { code, keyPattern, errorResponse } = error as {
    code?: unknown;
    keyPattern?: object;
    errorResponse?: { collation?: unknown };
  };
  if (code !== 11_000) return false;
  return errorResponse?.collation !== undefined || Object.keys(keyPattern ?? { _id: 1 }).join() !== '_id';
}

function hasLabel(error: unknown, label: string): boolean {
  const labels = (error as { errorLabels?: unknown }).errorLabels;
  return Array.isArray(labels) && labels.includes(label);
}

export function codeOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'number' ? error.code : undefined;
}
