import type { LossCause } from '../errors.js';
import type { Standing } from '../lease/holding/loss.js';
import type { ReaderWriterHandle } from '../lease/mode-change/reader-writer-handle.js';
import type { LeaseTerms } from '../options/provider-options.js';
import type { Mode } from '../protocol/lock-document.js';
import type { Revocation } from '../protocol/operation.js';
import type { LockSnapshot } from '../protocol/replies/snapshot.js';
import type { DocumentWatcher } from '../store/streams/document-watch.js';

/** What is asked of every store. */
export interface SeatRequest {
  readonly name: string;
  readonly kind: 'mutex' | 'reader-writer';
  /** A mutex is held to write. */
  readonly mode: Mode;
  readonly terms: LeaseTerms;
  readonly why: string | undefined;
}

/** What one store has granted. It is extended by its store's own monitor, and given back by its store's own queue. */
export interface Seat extends ReaderWriterHandle {
  /** The place of its store in the list of them. */
  readonly store: number;
  /** Why it is over; `undefined` while it is not. */
  readonly ended: LossCause | undefined;
  /** Why its release has found that it was over already. */
  readonly foundGone?: LossCause | undefined;
  /** Who revoked it, and why, as far as is known. */
  readonly revocation?: Revocation | undefined;
  /** How it stands; asking starts nothing. */
  standing(): Standing;
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
  try(wish: SeatRequest): Promise<Seat>;
  /** Returns what ends that. */
  watch(name: string, watcher: DocumentWatcher): () => void;
  inspect(name: string): Promise<LockSnapshot | null>;
  /** Why it has not answered until now, as far as its driver knows. */
  unanswered(): Error;
  close(drainMs: number): Promise<void>;
}
