import type { LockProviderOptions } from '../../../src/index.js';

/** What a worker is started with, as its one argument. */
export interface WorkerTask {
  readonly uri: string;
  /** What its driver calls itself, for a proxy that is to cut off nobody else. */
  readonly driver: string;
  readonly database: string;
  readonly seed: number;
  readonly journalPath: string;
  /** How many ask at the same time. */
  readonly actors: number;
  /** How long somebody may think between reading a set and writing it back. */
  readonly thinkMs: number;
  /** Does nothing but hold one mutex of its own all the time, on a lease of 30 s. */
  readonly isSteady: boolean;
  readonly options: LockProviderOptions & { readonly leaseMs: number };
}

/** What a worker is told. */
export type Order =
  /** Takes up nothing new, gives everything back, and ends by itself. */
  | { readonly do: 'stop' }
  /** Has no time for anything for so long. */
  | { readonly do: 'block'; readonly ms: number }
  /** Ends in the middle of everything, by an error that nobody catches. */
  | { readonly do: 'crash' }
  /** What was asked of the set in the run's memory. */
  | { readonly do: 'hear'; readonly question: number; readonly values: readonly string[] };

/** What a worker says. */
export type Report =
  | { readonly says: 'ready' }
  | { readonly says: 'unblocked' }
  /** Reads the set of a lock in the run's memory, or replaces it. */
  | {
      readonly says: 'ask';
      readonly question: number;
      readonly lock: string;
      readonly replaceBy?: readonly string[] | undefined;
    };

/** The name that workers present themselves to the server with, for faults that are meant for them alone. */
export const APP_NAME = 'leasehold-worker';

/** The lock of the steady holder. */
export const STEADY_LOCK = 'steady';
export const STEADY_LEASE_MS = 30_000;

/** The collection of the fenced sets: one document a lock. */
export const SETS = 'sets';

/** The same of those that are changed in transactions. */
export const TRANSACTED_SETS = 'transacted-sets';
