/** What a process with a task of node-cron is given. */
export interface CronTask {
  readonly uri: string;
  readonly database: string;
}

/** What it is told. */
export interface CronOrder {
  /** `hang`: every further run goes on for ever. */
  readonly does: 'hang';
}

/** What it tells. */
export type CronLine =
  | { readonly says: 'ready' }
  | { readonly says: 'hang' }
  /** A run begins, for this instant of the schedule. */
  | { readonly says: 'runs'; readonly instantMs: number };
