import type { LockProviderOptions } from '../../../src/index.js';

/** The one argument of a worker. */
export interface WorkerTask {
  readonly uri: string;
  /** The name of its driver, by which a proxy can cut off this worker alone. */
  readonly driver: string;
  readonly database: string;
  readonly seed: number;
  readonly journalPath: string;
  /** How many actors request locks at the same time. */
  readonly actors: number;
  /** How many others ask for many new names in one turn. */
  readonly bursts: number;
  /** How long an actor may pause between reading a set and writing it back. */
  readonly thinkMs: number;
  /** How long an actor may be idle between two requests. */
  readonly idleMs: number;
  /** The name of the only lock that actors want; `undefined`: all. */
  readonly onlyLock?: string | undefined;
  /** Whether it stands for election. A candidate that waits keeps the change stream open. */
  readonly hasCandidate: boolean;
  /** Whether it only holds one mutex of its own all the time, with a lease of 30 s. */
  readonly isSteady: boolean;
  readonly options: LockProviderOptions & { readonly leaseMs: number };
}

/** The orders to a worker. */
export type Order =
  /** Begin nothing new, release everything, and end. */
  | { readonly do: 'stop' }
  /** Block the event loop for this long. */
  | { readonly do: 'block'; readonly ms: number }
  /** End in the middle of everything, by an uncaught error. */
  | { readonly do: 'crash' }
  /** The answer to a question about the set in the run's memory. */
  | { readonly do: 'hear'; readonly question: number; readonly values: readonly string[] };

/** The reports of a worker. */
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

/** The application name of the workers, for faults that are meant for them alone. */
export const APP_NAME = 'leasehold-worker';

/** The lock of the steady holder. */
export const STEADY_LOCK = 'steady';
export const STEADY_LEASE_MS = 30_000;

/** The collection of the fenced sets: one document a lock. */
export const SETS = 'sets';

/** The collection of the sets that are changed in transactions. */
export const TRANSACTED_SETS = 'transacted-sets';
