// The findings of a run: values and types that everything else here may import.

/** The number of members of the measured replica set. */
export type Members = 1 | 3;

export type Cell = string | number;

/** The first column names the row; the other columns are its figures. */
export interface Table {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

/** A picture. Its steps, such as 2, 4, 8 … processes, are drawn at equal distances. */
export interface Plot {
  readonly title: string;
  readonly kind: 'line' | 'bar';
  readonly x: { readonly label: string; readonly values: readonly Cell[] };
  /** The name of the axis, with the unit. */
  readonly y: string;
  /** For each line or row of bars, one value for each step. */
  readonly series: readonly (readonly number[])[];
}

/** A picture in a file of its own, with a line for each name. Its values may be several powers of ten apart. */
export interface Chart extends Pick<Plot, 'title' | 'x' | 'y'> {
  /** The name of the file in docs. */
  readonly file: string;
  readonly lines: readonly { readonly name: string; readonly values: readonly number[] }[];
}

/** A figure and its bound. */
export interface Gate {
  readonly name: string;
  readonly measured: number;
  readonly must: '≤' | '≥' | '=';
  readonly bound: number;
  /** False if the machine was too busy for the figure to mean much. */
  readonly isSteady?: boolean;
}

/** The findings of one scenario on one replica set. */
export interface Findings {
  readonly tables: readonly Table[];
  readonly plots: readonly Plot[];
  readonly charts: readonly Chart[];
  /** Facts that fit in no table. */
  readonly notes: Readonly<Record<string, Cell>>;
  readonly gates: readonly Gate[];
}

/** The findings of one run of one scenario, with everything needed to compare them with another run. */
export interface Result extends Findings {
  readonly scenario: string;
  readonly members: Members;
  /** A description of the measured server. */
  readonly server: string;
  /** The start of the run. */
  readonly at: string;
  readonly tookMs: number;
  readonly settings: Readonly<Record<string, number>>;
  /** True if only a part ran, or with settings from the command line: such figures never reach the page. */
  readonly isTrial: boolean;
  readonly node: string;
  readonly driver: string;
  readonly processors: number;
  readonly loadOfLastMinute: number;
}

/** `handover, three members` */
export const placeOf = ({ scenario, members }: Result): string =>
  `${scenario}, ${members === 1 ? 'one member' : 'three members'}`;

export type Verdict = 'pass' | 'pass, unsteady' | 'missed' | 'missed, unsteady';

export function verdictOn({ measured, must, bound, isSteady = true }: Gate): Verdict {
  const isPassed = { '=': measured === bound, '≤': measured <= bound, '≥': measured >= bound }[must];
  const verdict = isPassed ? 'pass' : 'missed';
  return isSteady ? verdict : `${verdict}, unsteady`;
}
