/** The invariants of docs/protocol.md. */
export type Invariant = 'S1' | 'S2' | 'S3' | 'S4' | 'S5' | 'L1' | 'L2' | 'L3' | 'L4' | 'R1' | 'R2';

/** Something that a checker found wrong. */
export interface Violation {
  readonly invariant: Invariant;
  /** The checker that found it, for the table of planted bugs. */
  readonly checker: string;
  /** One line that names lock, ids, tokens and times. */
  readonly what: string;
}
