import type { Report } from './report.js';
import type { Workbench } from './workbench.js';

/** How many members the replica set has that is measured on. */
export type Members = 1 | 3;

/** A number that the command line can set. */
export interface Setting {
  readonly meaning: string;
  /** So that all scenarios together end within ten minutes. */
  readonly usual: number;
  /** Where gates are judged and time is no matter; by default as usual. */
  readonly thorough?: number;
}

/** One thing that is measured, with its floor and its gates. */
export interface Scenario<Name extends string = string> {
  readonly name: string;
  /** In one line. */
  readonly about: string;
  /** What can be run alone, if it has parts. */
  readonly parts: readonly string[];
  readonly settings: Readonly<Record<Name, Setting>>;
  /** The sizes on which its gates are judged; the first is the usual one. */
  readonly sizes: readonly [Members, ...Members[]];
  run(setup: Setup<Name>): Promise<void>;
}

/** What a scenario is given. */
export interface Setup<Name extends string = string> {
  readonly members: Members;
  readonly settings: Readonly<Record<Name, number>>;
  readonly report: Report;
  /** Whether this part is to be run. */
  readonly wants: (part: string) => boolean;
  /** Starts the servers; all that is connected to them ends with it. */
  readonly open: () => Promise<Workbench>;
}

/** Lets the names of the settings be inferred, and forgets them for the runner. */
export const defineScenario = <Name extends string>(scenario: Scenario<Name>): Scenario => scenario;
