export { QuorumError } from './quorum-error.js';
export { QuorumLockProvider } from './quorum-lock-provider.js';
export type { OfStore, QuorumLockProviderEvents } from './quorum-lock-provider.js';
export type { QuorumLockProviderOptions } from './quorum-options.js';
