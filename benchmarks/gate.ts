/** A figure and what it must be. */
export interface Gate {
  readonly name: string;
  readonly measured: number;
  readonly must: '≤' | '≥' | '=';
  readonly bound: number;
  /** False: the machine was too busy for the figure to mean much. */
  readonly isSteady?: boolean;
}

export type Verdict = 'pass' | 'pass, unsteady' | 'missed' | 'missed, unsteady';

export function verdictOn(gate: Gate): Verdict {
  const verdict = isPassed(gate) ? 'pass' : 'missed';
  return gate.isSteady === false ? `${verdict}, unsteady` : verdict;
}

function isPassed({ measured, must, bound }: Gate): boolean {
  if (must === '=') return measured === bound;
  return must === '≤' ? measured <= bound : measured >= bound;
}
