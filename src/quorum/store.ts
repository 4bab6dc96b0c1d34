import type { LossCause } from '../errors.js';
import type { ReaderWriterHandle } from '../lease/reader-writer-handle.js';
import type { LeaseTerms } from '../options/provider-options.js';
import type { Mode } from '../protocol/lock-document.js';
import type { LockSnapshot } from '../protocol/snapshot.js';
import type { DocumentWatcher } from '../store/document-watch.js';

/** What is asked of every store. */
export interface Wish {
  readonly name: string;
  readonly kind: 'mutex' | 'reader-writer';
  /** A mutex is held to write. */
  readonly mode: Mode;
  readonly terms: LeaseTerms;
  readonly why: string | undefined;
}

/** What one store has granted. It is extended by its store's own monitor, and given back by its store's own queue. */
export interface Seat extends ReaderWriterHandle {
  /** Why it is over; `undefined` while it is not. */
  readonly ended: LossCause | undefined;
  /** Calls back when it is over; at once if it is. */
  onEnded(callback: () => void): () => void;
  /**
   * From then on every grant of this lock in this store has a higher token. Rejects if the seat is over, or if nobody
   * has confirmed it within `storeTimeoutMs`.
   */
  raiseFence(token: number): Promise<void>;
}

/** One of the independent deployments. Every call settles within `storeTimeoutMs`. */
export interface Store {
  /** Its place in the list of them. */
  readonly index: number;
  /** One try. Rejects with `AcquireTimeoutError` where somebody else has the lock. */
  try(wish: Wish): Promise<Seat>;
  /** Returns what ends that. */
  watch(name: string, watcher: DocumentWatcher): () => void;
  inspect(name: string): Promise<LockSnapshot | null>;
  close(drainMs: number): Promise<void>;
}
