import type { Moment } from '../clock.js';

/**
 * How a call to the store ended.
 *
 * - `done`: the server did it, and a majority has it. `sentAt` is the moment just before sending.
 * - `refused`: the server answered no. Nothing was changed, and asking again is of no use.
 * - `unknown`: no answer, or one that does not tell. It may have been applied (`maybeApplied`); the same request by
 *   the same id may be repeated.
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
  /** False: it was the driver that refused, because the client is closed or the call is wrong. */
  readonly byServer: boolean;
}

export interface Unknown {
  readonly type: 'unknown';
  readonly error: unknown;
  readonly maybeApplied: boolean;
}

/** Whether it is known what a call has changed: all that it asked for, or nothing. */
export const isKnown = (outcome: Outcome<unknown>): boolean =>
  outcome.type !== 'unknown' || !outcome.maybeApplied;

/** What a server says while it changes its role, is overloaded or shuts down, and what a later try may be spared. */
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
  94, // NotYetInitialized: a member that has not got its configuration yet
  112, // WriteConflict
  117, // ConflictingOperationInProgress: of the collection's catalog, a drop or a build, that ends
  133, // FailedToSatisfyReadPreference: a shard without a primary
  134, // ReadConcernMajorityNotAvailableYet
  150, // StaleEpoch
  175, // QueryPlanKilled
  189, // PrimarySteppedDown
  202, // NetworkInterfaceExceededTimeLimit
  211, // KeyNotFound: of the cluster's signing keys
  215, // DatabaseDropPending: until the drop is done, then the next request makes the collection anew
  234, // RetryChangeStream
  246, // SnapshotUnavailable: a majority's read while the collection is dropped and made anew
  249, // StaleDbVersion: a router that has to ask again where the database is
  261, // TooManyLogicalSessions: until the server forgets those of clients that have ended
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

/** Of those, the ones that are said before anything is applied. */
const NOT_APPLIED_CODES: ReadonlySet<number> = new Set([
  ...[94, 112, 215, 249, 261, 462],
  ...[10058, 10107, 11000, 13388, 13435, 13436],
]);

/**
 * The driver's errors that say that the caller is at fault, or that the client's owner has closed it; a repeat would fail
 * the same.
 *
 * Only `MongoNotConnectedError` is said of a closed client alone. A `MongoTopologyClosedError` is also what every command
 * gets after a first connect has failed; and a `MongoClientClosedError` meets a command on its way, which may have been
 * applied. After both, the same command is sent once more, and then a closed client says `MongoNotConnectedError`.
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

/** The driver's errors before a command reached a connection. */
const NOT_SENT_ERRORS: ReadonlySet<string> = new Set([
  'MongoPoolClearedError',
  'MongoServerSelectionError',
  'MongoTopologyClosedError',
  'MongoWaitQueueTimeoutError',
]);

/**
 * Sorts an error. By name and code, not by class: an application may hold two copies of the driver, and then
 * `instanceof` of ours fails for theirs.
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

/** What the driver says when the owner closes the client, though not of a closed client alone. */
const CLOSING_ERRORS: ReadonlySet<string> = new Set(['MongoClientClosedError', 'MongoTopologyClosedError']);

/** Whether the client may be closed, or the call is wrong for the driver: the next command tells. */
export const mayBeRefusedByDriver = (error: unknown): boolean => {
  const outcome = outcomeOfError(error);
  if (outcome.type === 'refused') return !outcome.byServer;
  return error instanceof Error && CLOSING_ERRORS.has(error.name);
};

/**
 * What a server says to a command, or to an option of one, that it does not have: it speaks MongoDB's protocol and is
 * another product.
 */
const NOT_IMPLEMENTED_CODES: ReadonlySet<number> = new Set([
  59, // CommandNotFound
  115, // CommandNotSupported
  238, // NotImplemented
]);

export const isNotImplemented = (error: unknown): boolean => NOT_IMPLEMENTED_CODES.has(codeOf(error) ?? 0);

/** What the server will say to the next change stream, too; after anything else another one is opened. */
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

/**
 * Whether there will be no change stream, ever. Other codes than those of a command: most errors end a stream, and hardly
 * any says that the next one will not open.
 */
export const isStreamRefused = (error: unknown): boolean => STREAM_REFUSAL_CODES.has(codeOf(error) ?? 0);

const isTransient = (error: unknown, code: number | undefined): boolean =>
  code === undefined ||
  (TRANSIENT_CODES.has(code) && !isTakenForGood(error)) ||
  hasLabel(error, 'RetryableWriteError');

/**
 * A key that no repeat will find free: of a name that the collection's collation does not tell from another, or in an
 * index of somebody else's. Two upserts that race collide on `_id` alone.
 */
function isTakenForGood(error: unknown): boolean {
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
