export { LockProvider } from './provider.js';
export type { RevokeResult } from './admin/inspector.js';
export {
  AcquireTimeoutError,
  CorruptLockDocumentError,
  DeadlockError,
  LeaseholdError,
  LockKindMismatchError,
  LockLostError,
  ProviderClosedError,
  QueueFullError,
  StoreUnavailableError,
  UnsupportedServerError,
} from './errors.js';
export type { LeaseholdErrorCode, LossCause } from './errors.js';
export type {
  AbandonedEvent,
  AcquiredEvent,
  AttemptEvent,
  ExtendedEvent,
  IndexErrorEvent,
  LockProviderEvents,
  LostEvent,
  ReleaseRequestedEvent,
  ReleasedEvent,
  StoreErrorEvent,
  TimeoutEvent,
  WaitingEvent,
  WakeupsEvent,
} from './events.js';
export type { Hold, LockHandle } from './lease/lock-handle.js';
export type {
  AcquireOptions,
  ListFilter,
  LockProviderOptions,
  PrimitiveOptions,
  RevokeOptions,
  Wakeups,
} from './options.js';
export type { Mutex } from './primitives/mutex.js';
export type { LockKind } from './protocol/lock-document.js';
export type { LeaseInfo, LockSnapshot, WaiterInfo } from './protocol/snapshot.js';
