/** A replica set in memory, for tests of code that uses leasehold. */
export { MemoryReplicaSet } from './memory-replica-set.js';
export type { MemoryReplicaSetOptions, StepDownOptions } from './memory-options.js';
export type { StoredDocument, StoredVersion } from './judge/history.js';
export type { Violation } from './judge/violations.js';
export type { Invariant } from './judge/step.js';
