import type { TrialName } from './trials.js';

/** A text in a file of the library, and the text that replaces it. */
export interface Edit {
  /** The path under `src/`. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** A bug that is planted to see whether a checker finds it. */
export interface Mutation {
  /** For the command line and the table. */
  readonly name: string;
  /** What is wrong with the library because of the bug. */
  readonly breaks: string;
  readonly edits: readonly [Edit, ...Edit[]];
  /** The trial that shows the bug. */
  readonly trial: TrialName;
}
