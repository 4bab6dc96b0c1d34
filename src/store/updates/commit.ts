import type { FastPathAnswer } from '../../protocol/pipeline/fast-path.js';
import type { Outcome } from '../outcome.js';

/** The operation was taken back before it was sent. */
export interface Withdrawn {
  readonly type: 'withdrawn';
}

/** The server has answered, and nothing shows that the operation was applied. */
export interface Unconfirmed {
  readonly type: 'unconfirmed';
  /** False: the operation was surely not applied. */
  readonly maybeApplied: boolean;
}

/** The operation was to go only together with others, and there were no others. It was not sent. */
export interface WithoutGroup {
  readonly type: 'without group';
}

export interface CommitOptions {
  /** Go ahead of the operations that are not urgent. */
  readonly isUrgent: boolean;
  /** Do not send the operation if it would go alone. */
  readonly onlyInGroup: boolean;
}

export type Committed = Outcome<FastPathAnswer> | Unconfirmed | Withdrawn | WithoutGroup;

/** One operation that was given to the committer. */
export interface Commit {
  readonly outcome: Promise<Committed>;
  /** Takes the operation back. Returns true if it was not sent and never will be. */
  withdraw(): boolean;
}
