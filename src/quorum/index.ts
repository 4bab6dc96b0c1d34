export { QuorumError } from './quorum-error.js';
export { QuorumLockProvider } from './quorum-lock-provider.js';
export type { LockProviderHealth } from '../health.js';
export type { OfStore, QuorumHealth, QuorumLockProviderEvents } from './quorum-lock-provider.js';
export type { QuorumLockProviderOptions } from './quorum-options.js';
