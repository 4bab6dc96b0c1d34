/** What a worker of the fleet is started with, as its one argument. */
export interface FleetTask {
  readonly uri: string;
  readonly database: string;
  /** The file that all of them write to. */
  readonly log: string;
  readonly everyMs: number;
  readonly leaseMs: number;
  /** What chance is drawn from. */
  readonly seed: number;
}

/** One line of the log. `atNs` is CLOCK_MONOTONIC, which all processes of a machine share. */
export type FleetLine = { readonly pid: number; readonly atNs: string } & (
  | { readonly says: 'ready' }
  /** Of a run; `dies` ends one as well: the process kills itself next. */
  | { readonly says: 'start' | 'end' | 'dies'; readonly firedAtMs: number }
  | {
      readonly says: 'missed';
      readonly count: number;
      readonly firstMs: number;
      readonly lastMs: number;
      readonly why: string;
    }
);
