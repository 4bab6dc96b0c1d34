/** The ways in which the process uses names. */
export const WAYS = [
  'a mutex',
  'the work of useMutex',
  'a read',
  'a write',
  'an upgrade',
  'permits',
  'a kept mutex',
  'a kept read',
  'a kept permit',
  'a try of a busy lock',
  'a wait that times out',
  'a wait that is aborted',
  'a hand-over',
  'several locks at once',
  'an eviction',
  'a revocation',
  'another kind',
  'an inspection',
  'an abandoned handle',
  'an election',
] as const;
export type Way = (typeof WAYS)[number];

/** The way of the names that are used last. */
export const OTHER = 'another name';

export interface ManyNamesTask {
  readonly uri: string;
  readonly database: string;
  readonly wakeups: 'change-stream' | 'polling';
  /** How many names are used in each way. */
  readonly namesEach: number;
}

export type ManyNamesOrder =
  | { readonly does: 'use all' }
  /** Uses this many other names in each of two providers. */
  | { readonly does: 'use others'; readonly count: number }
  /** Writes a snapshot of the heap into this file. */
  | { readonly does: 'snapshot'; readonly path: string };

/** The order is carried out. */
export interface ManyNamesLine {
  readonly says: ManyNamesOrder['does'];
}
