import type { FastPathAnswer } from '../../protocol/pipeline/fast-path.js';
import type { Outcome } from '../outcome.js';

/** The operation was taken back before it was sent. */
export interface Withdrawn {
  readonly type: 'withdrawn';
}

/** The server has answered, and nothing shows that the operation was applied. */
export interface Unconfirmed {
  readonly type: 'unconfirmed';
  /** False: it is certain that the operation was not applied. */
  readonly maybeApplied: boolean;
}

/** The operation was not sent: it has the option `onlyInGroup`, and no other operation was there to be sent with it. */
export interface WithoutGroup {
  readonly type: 'without group';
}

export interface CommitOptions {
  readonly isUrgent: boolean;
  /** Whether to send the operation only together with others. */
  readonly onlyInGroup: boolean;
}

export type Committed = Outcome<FastPathAnswer> | Unconfirmed | Withdrawn | WithoutGroup;

export interface Commit {
  readonly outcome: Promise<Committed>;
  /** Takes the operation back. Returns true if it was not sent and never will be. */
  withdraw(): boolean;
}
