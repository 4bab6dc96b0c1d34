import type { LossCause } from '../errors.js';
import type { LockProviderHealth } from '../health.js';
import type { Standing } from '../lease/holding/loss.js';
import type { ReaderWriterHandle } from '../lease/mode-change/reader-writer-handle.js';
import type { LeaseDurations } from '../options/provider-options.js';
import type { Mode } from '../protocol/lock-document.js';
import type { Revocation } from '../protocol/operation.js';
import type { LockSnapshot } from '../protocol/replies/snapshot.js';
import type { DocumentWatcher } from '../store/streams/document-watch.js';

/** The request for a seat, the same for every store. */
export interface SeatRequest {
  readonly name: string;
  readonly kind: 'mutex' | 'reader-writer';
  /** Always `write` for a mutex. */
  readonly mode: Mode;
  readonly durations: LeaseDurations;
  readonly why: string | undefined;
}

/**
 * A seat that one store has granted. The lease monitor of that store extends the seat, and the release queue of that
 * store releases it.
 */
export interface StoreSeat extends ReaderWriterHandle {
  /** The index of the seat's store in the list of stores. */
  readonly store: number;
  /** Why the seat has ended; `undefined` while the seat is held. This call ends a seat that is past its deadline. */
  checkEnd(): LossCause | undefined;
  /** The cause of the loss, if the release found that the seat had been lost already. */
  readonly foundGone?: LossCause | undefined;
  /** The provider that revoked the seat, and why, as far as each is known. */
  readonly revocation?: Revocation | undefined;
  /** Whether the seat is held, and for how long. This call ends no seat and sends nothing. */
  standing(): Standing;
  /** Calls back when the seat has ended; at once if it has ended already. */
  onEnded(callback: () => void): () => void;
  /**
   * When the promise resolves, every later grant of this lock in this store has a token above `token`. Rejects if the
   * seat has ended, if the store refuses, or if the store does not confirm within `storeTimeoutMs`.
   */
  raiseFence(token: number): Promise<void>;
}

/** One of the independent deployments. Each `try` and `inspect` settles within `storeTimeoutMs`. */
export interface Store {
  /** The index of this store in the list of stores. */
  readonly index: number;
  /** Sends one try. Rejects with `AcquireTimeoutError` if the lock is busy in this store. */
  try(request: SeatRequest): Promise<StoreSeat>;
  /**
   * Calls the watcher when the document of the lock may have changed, as far as a change stream tells: some changes go
   * unreported. Returns a function to unsubscribe.
   */
  watch(name: string, watcher: DocumentWatcher): () => void;
  inspect(name: string): Promise<LockSnapshot | null>;
  /** An error that says why there is no answer yet, as far as the driver knows. */
  unanswered(): Error;
  /** The health of the store and of the seats in it. Sends nothing. */
  health(): LockProviderHealth;
  close(drainMs: number): Promise<void>;
}
