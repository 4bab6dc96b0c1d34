import { QuorumError as Failure } from './quorum-error.js';
import { QuorumLockProvider as Provider } from './quorum-lock-provider.js';
import type { OfStore as Store, QuorumLockProviderEvents as Events } from './quorum-lock-provider.js';
import type { QuorumLockProviderOptions as Options } from './quorum-options.js';

// These are declarations and not re-exports: the bundled types lose the `@deprecated` note of a re-export.

/** @deprecated Import it from `leasehold/quorum`, which exports the same class. */
export const QuorumLockProvider: typeof Provider = Provider;
/** @deprecated Import it from `leasehold/quorum`, which exports the same class. */
export type QuorumLockProvider = Provider;

/** @deprecated Import it from `leasehold/quorum`, which exports the same class. */
export const QuorumError: typeof Failure = Failure;
/** @deprecated Import it from `leasehold/quorum`, which exports the same class. */
export type QuorumError = Failure;

/** @deprecated Import it from `leasehold/quorum`. */
export type QuorumLockProviderOptions = Options;

/** @deprecated Import it from `leasehold/quorum`. */
export type QuorumLockProviderEvents = Events;

/** @deprecated Import it from `leasehold/quorum`. */
export type OfStore = Store;
