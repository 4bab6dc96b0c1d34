import type { FastPathAnswer } from '../../protocol/pipeline/fast-path.js';
import type { Outcome } from '../outcome.js';

/** The statement was taken back before it was sent. */
export interface Withdrawn {
  readonly type: 'withdrawn';
}

/** The server has answered, and nothing shows that the statement was applied. */
export interface Unconfirmed {
  readonly type: 'unconfirmed';
  /** False: it was surely not applied. */
  readonly maybeApplied: boolean;
}

/** The statement was to go in a group only, and there was none. It was not sent. */
export interface WithoutGroup {
  readonly type: 'without group';
}

export interface CommitOptions {
  /** Go ahead of the statements that are not urgent. */
  readonly isUrgent: boolean;
  /** Do not send the statement if it would go alone. */
  readonly onlyInGroup: boolean;
}

export type Committed = Outcome<FastPathAnswer> | Unconfirmed | Withdrawn | WithoutGroup;

/** One statement that was given to the committer. */
export interface Commit {
  readonly outcome: Promise<Committed>;
  /** Takes the statement back. Returns true if it was not sent and never will be. */
  withdraw(): boolean;
}
