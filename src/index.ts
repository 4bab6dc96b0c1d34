export { LockProvider } from './provider.js';
export type {
  DriverDb,
  DriverSession,
  DriverTransactionOptions,
  DriverTransactions,
  DriverUpdateOptions,
  DriverUpdateResult,
  DriverUpdated,
} from './driver-types.js';
export type { LockProviderHealth } from './health.js';
export type { RevokeResult } from './admin/inspector.js';
export type { LeaderElectionOptions, OnFailure, WhyDeposed } from './election/election-options.js';
export type { DeposedEvent, LeaderElectionEvents } from './election/election-events.js';
export type { LeaderElection } from './election/leader-election.js';
export type { CandidateInfo, LeaderInfo } from './election/leader-info.js';
export {
  AcquireTimeoutError,
  CorruptLockDocumentError,
  DeadlockError,
  LockKindMismatchError,
  LockModeError,
  LockLostError,
  ProviderClosedError,
  QueueFullError,
  SemaphoreLimitMismatchError,
  StoreUnavailableError,
  UnsupportedServerError,
} from './errors.js';
export type { LossCause } from './errors.js';
export { LeaseholdError } from './leasehold-error.js';
export type { LeaseholdErrorCode } from './leasehold-error.js';
export type {
  AbandonedEvent,
  AcquiredEvent,
  AttemptEvent,
  ExtendedEvent,
  IndexErrorEvent,
  LockProviderEvents,
  LostEvent,
  ModeChangedEvent,
  ReleaseRequestedEvent,
  ReleasedEvent,
  StoreErrorEvent,
  TimeoutEvent,
  WaitingEvent,
  WakeupsEvent,
} from './events.js';
export { fencedTransaction } from './fencing/fenced-transaction.js';
export type { FencedTransactionOptions } from './fencing/fenced-transaction.js';
export { fencedUpdateOne } from './fencing/fenced-update.js';
export type { FencedUpdateOptions } from './fencing/fenced-update.js';
export { StaleTokenError } from './fencing/stale-token-error.js';
export type { Hold, LockHandle } from './lease/holding/lock-handle.js';
export type { PermitHandle } from './lease/holding/permit-handle.js';
export type { ReaderWriterHandle } from './lease/mode-change/reader-writer-handle.js';
export type { DrainOptions, ListFilter, RevokeOptions } from './options/admin-options.js';
export type { LockProviderOptions, Wakeups } from './options/provider-options.js';
export type {
  AcquireOptions,
  PermitOptions,
  PrimitiveOptions,
  SemaphoreOptions,
  WhenLimitDiffers,
} from './options/request-options.js';
export type {
  LockRequest,
  MutexRequest,
  PermitRequest,
  ReadRequest,
  UpgradeableReadRequest,
  WriteRequest,
} from './primitives/lock-request.js';
export type { CompositeHandle, HandleFor } from './primitives/composite-handle.js';
export type { Mutex } from './primitives/mutex.js';
export type { ReaderWriterLock } from './primitives/reader-writer-lock.js';
export type { Semaphore } from './primitives/semaphore.js';
export type {
  WebLock,
  WebLockInfo,
  WebLockMode,
  WebLockOptions,
  WebLocks,
  WebLocksSnapshot,
} from './primitives/web-locks.js';
export type { LockKind, Mode } from './protocol/lock-document.js';
export type { LeaseInfo, LockSnapshot, WaiterInfo } from './protocol/replies/snapshot.js';
export type {
  JobCompletedEvent,
  JobFailedEvent,
  JobMissedEvent,
  JobOverrunEvent,
  JobRunEvent,
  ScheduledJobEvents,
  WhyMissed,
} from './schedule/job-events.js';
export type {
  CronTimes,
  JobOptions,
  JobRun,
  PeriodicTimes,
  ScheduledJobOptions,
} from './schedule/job-options.js';
export { JobNotStartedError } from './schedule/job-not-started.js';
export type { JobClaim, JobRunner, JobStatus } from './schedule/job-status.js';
export type { RunOutcome } from './protocol/operation.js';
export type { ScheduledJob } from './schedule/scheduled-job.js';
/* eslint-disable @typescript-eslint/no-deprecated -- they stay until 1.0; `leasehold/quorum` exports the same names */
export { QuorumError, QuorumLockProvider } from './quorum/deprecated-exports.js';
export type {
  OfStore,
  QuorumLockProviderEvents,
  QuorumLockProviderOptions,
} from './quorum/deprecated-exports.js';
