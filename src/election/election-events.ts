import type { LockHandle } from '../lease/holding/lock-handle.js';
import type { WhyDeposed } from './election-options.js';
import type { LeaderInfo } from './leader-info.js';

/** The events of a `LeaderElection`, each with one typed payload. */
export interface LeaderElectionEvents {
  /** This candidate is the leader now. */
  elected: [LockHandle];
  /**
   * This candidate does not lead any more. If the term was lost, or if its work took longer than `drainMs`, the work
   * may still be running.
   */
  deposed: [DeposedEvent];
  /**
   * First the present leader, and then each next leader that this process reads; `null` if there is no leader. Emitted
   * only while the candidate is started and this event has a listener.
   */
  leader: [LeaderInfo | null];
  /**
   * A callback or a request failed, or the store does not answer a request. The error does not stop the candidate. By
   * default, a failed `onElected` ends the term (see `onFailure`).
   */
  error: [unknown];
}

/** A term has ended. */
export interface DeposedEvent {
  /** The handle of the term. */
  readonly term: LockHandle;
  /** How the term ended. */
  readonly why: WhyDeposed;
}
