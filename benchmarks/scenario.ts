import type { Members } from './findings.js';
import type { Report } from './report.js';
import type { Workbench } from './workbench.js';

/** A number that the command line can set. */
export interface Setting {
  readonly meaning: string;
  /** The default; with it, all usual scenarios together end within ten minutes. */
  readonly usual: number;
  /** The value for judging gates, which may take longer; without one, the usual value. */
  readonly thorough?: number;
}

/** One kind of measurement, with its floor and its gates. */
export interface Scenario<Name extends string = string> {
  readonly name: string;
  /** One line for the command line. */
  readonly about: string;
  /** The parts that can run alone, if there are any. */
  readonly parts?: readonly string[];
  readonly settings: Readonly<Record<Name, Setting>>;
  /** The sizes on which its gates are judged; the first is the usual one. */
  readonly sizes: readonly [Members, ...Members[]];
  run(setup: Setup<Name>): Promise<void>;
}

/** Everything that a scenario gets for one run. */
export interface Setup<Name extends string = string> {
  readonly members: Members;
  readonly settings: Readonly<Record<Name, number>>;
  readonly report: Report;
  /** Tells whether this part is to run. */
  readonly wants: (part: string) => boolean;
  readonly bench: Workbench;
}

/** Infers the names of the settings, and forgets them for the runner. */
export const defineScenario = <Name extends string>(scenario: Scenario<Name>): Scenario => scenario;
