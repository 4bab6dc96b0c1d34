import { QuorumError as Failure } from './quorum-error.js';
import { QuorumLockProvider as Provider } from './quorum-lock-provider.js';
import type { OfStore as Store, QuorumLockProviderEvents as Events } from './quorum-lock-provider.js';
import type { QuorumLockProviderOptions as Options } from './quorum-options.js';

// Declarations and not re-exports, because the bundled types lose the `@deprecated` note of a re-export.

/** @deprecated Import this class from `leasehold/quorum`, which exports the same one. */
export const QuorumLockProvider: typeof Provider = Provider;
/** @deprecated Import this class from `leasehold/quorum`, which exports the same one. */
export type QuorumLockProvider = Provider;

/** @deprecated Import this class from `leasehold/quorum`, which exports the same one. */
export const QuorumError: typeof Failure = Failure;
/** @deprecated Import this class from `leasehold/quorum`, which exports the same one. */
export type QuorumError = Failure;

/** @deprecated Import this type from `leasehold/quorum`. */
export type QuorumLockProviderOptions = Options;

/** @deprecated Import this type from `leasehold/quorum`. */
export type QuorumLockProviderEvents = Events;

/** @deprecated Import this type from `leasehold/quorum`. */
export type OfStore = Store;
