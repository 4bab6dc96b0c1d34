import type { TrialName } from './trials.js';

/** One text of one file of the library, and what stands there instead. */
export interface Edit {
  /** Under `src/`. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** A bug that is planted to see whether anything notices. */
export interface Mutation {
  /** For the command line and the table. */
  readonly name: string;
  /** What is wrong with the library then. */
  readonly breaks: string;
  readonly edits: readonly [Edit, ...Edit[]];
  /** What brings it out. */
  readonly trial: TrialName;
}
