import type { LockHandle } from '../lease/holding/lock-handle.js';
import type { WhyDeposed } from './election-options.js';
import type { LeaderInfo } from './leader-info.js';

/** The events of a `LeaderElection`: one typed payload each. */
export interface LeaderElectionEvents {
  /** This candidate leads. */
  elected: [LockHandle];
  /** It leads no more. */
  deposed: [DeposedEvent];
  /** Somebody else leads, or nobody; told while the candidate is started and somebody listens. */
  leader: [LeaderInfo | null];
  /** A callback failed, or a request, or the store does not answer one; the candidate goes on. */
  error: [unknown];
}

/** A term has ended. */
export interface DeposedEvent {
  /** The term. */
  readonly term: LockHandle;
  /** Which way it ended. */
  readonly why: WhyDeposed;
}
