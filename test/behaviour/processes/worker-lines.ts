import type { LockProviderOptions } from '../../../src/index.js';

/** How a worker holds the lock: alone, or beside others. */
export type HeldAs = 'mutex' | 'read' | 'permit';

/** How many permits the lock has where it is a semaphore. */
export const PERMITS = 2;

/** What a worker is started with, as its one argument. */
export interface WorkerTask {
  readonly uri: string;
  readonly database: string;
  readonly lockName: string;
  readonly heldAs: HeldAs;
  readonly options: LockProviderOptions;
}

/** What a worker is told, one line of JSON each. */
export type Order =
  | { readonly do: 'acquire' | 'try' | 'release' | 'look' | 'exit' }
  /** Looks at the hold every few milliseconds from now on. */
  | { readonly do: 'watch' }
  /** Blocks the event loop, and looks before anything else can happen. */
  | { readonly do: 'block'; readonly ms: number }
  /** Takes the lock and gives it back, over and over. */
  | { readonly do: 'rounds'; readonly count: number }
  /** Closes as it is told, in this order, and then has nothing left to do. */
  | { readonly do: 'end'; readonly close: readonly ('provider' | 'client')[] };

/** What a worker tells, one line of JSON each. `atNs` is CLOCK_MONOTONIC, which all processes of a machine share. */
export type Line =
  | { readonly says: 'ready' | 'asking' | 'waiting' | 'releasing' | 'ending'; readonly atNs: string }
  | { readonly says: 'granted'; readonly atNs: string; readonly token: number; readonly remainingMs: number }
  | { readonly says: 'not granted'; readonly atNs: string; readonly code: string }
  | { readonly says: 'released'; readonly atNs: string; readonly wasHeld: boolean }
  | { readonly says: 'signalled'; readonly atNs: string; readonly why: string }
  | Look<'look'>
  | Look<'look after blocking'>;

/** One look at the hold, which began at `fromNs` and was over at `atNs`. */
export interface Look<S extends 'look' | 'look after blocking'> {
  readonly says: S;
  readonly fromNs: string;
  readonly atNs: string;
  readonly isHeld: boolean;
  readonly remainingMs: number;
  readonly aborted: boolean;
  readonly asserts: boolean;
}
