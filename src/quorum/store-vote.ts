import type { LeaseInfo } from '../protocol/replies/snapshot.js';
import type { Seat, Store } from './store.js';

export interface Granted {
  readonly type: 'granted';
  readonly seat: Seat;
  readonly fence: Fence;
}

export type Answer =
  | Granted
  /** Somebody else has it there. */
  | { readonly type: 'refused'; readonly holders: readonly LeaseInfo[] }
  /** The store did not answer, or not so that it tells. */
  | { readonly type: 'failed'; readonly error: unknown };

/** That of a seat: how high it is to be lifted, and how high it is known to be. */
interface Fence {
  wanted: number;
  lifted: number;
}

/** What one store has to say to one request. */
export interface StoreVote {
  readonly store: Store;
  /** In this round; `undefined`: not yet. */
  answer: Answer | undefined;
  /** The last answer of any round. */
  lastAnswer: Answer | undefined;
  asked: Promise<Seat> | undefined;
  /** Whether the round may last until it answers: it has been asked in this round, and answered the last time. */
  isAwaited: boolean;
}
