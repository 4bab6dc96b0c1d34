/** The one argument of a worker of the fleet. */
export interface FleetTask {
  readonly uri: string;
  readonly database: string;
  readonly everyMs: number;
  readonly leaseMs: number;
  /** The seed of the random numbers. */
  readonly seed: number;
}

/** What a worker is told: to die in the middle of its next run, or to end by itself. */
export interface FleetOrder {
  readonly do: 'die' | 'stop';
}

/** What a worker tells. `atNs` is CLOCK_MONOTONIC, which all processes of a machine share. */
export type FleetLine = { readonly atNs: string } & (
  | { readonly says: 'ready' }
  /** The start and the end of a run. `dies` is an end too, because the process kills itself next. */
  | { readonly says: 'start' | 'end' | 'dies'; readonly firedAtMs: number }
  | {
      readonly says: 'missed';
      readonly count: number;
      readonly firstMs: number;
      readonly lastMs: number;
      readonly why: string;
    }
);
