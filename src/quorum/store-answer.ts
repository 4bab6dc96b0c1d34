import type { LeaseInfo } from '../protocol/replies/snapshot.js';
import type { StoreSeat, Store } from './store.js';

export interface Granted {
  readonly type: 'granted';
  readonly seat: StoreSeat;
  readonly fence: FenceProgress;
}

export type StoreAnswer =
  | Granted
  /** The lock is taken in this store. */
  | { readonly type: 'busy'; readonly holders: readonly LeaseInfo[] }
  /**
   * The store returned an error, did not answer in time, did not raise the fence of its seat, or was not asked, because
   * a probe found it silent.
   */
  | { readonly type: 'failed'; readonly error: unknown };

/**
 * How far the fence of the store that granted the seat has been raised. Both tokens begin as the token of the seat.
 */
interface FenceProgress {
  /** The token of the last request to raise the fence. */
  requested: number;
  /** The highest token that the store has confirmed. */
  confirmed: number;
}

/** The tries of one request at one store, and the answers of the store. */
export interface AskedStore {
  readonly store: Store;
  /**
   * The answer in this round, or a late `busy` after it. `undefined` until the answer comes, and after a failed round
   * has released the seat.
   */
  answer: StoreAnswer | undefined;
  /** The latest answer so far, also one between two rounds. A new round does not clear it. */
  lastAnswer: StoreAnswer | undefined;
  inFlight: Promise<StoreSeat> | undefined;
  /**
   * Whether the round waits for this store even if the lock is busy in another store: the try was sent in this round,
   * and the store was not silent before.
   */
  isAwaited: boolean;
}
