import type { AcquireOptions, Hold, LockHandle, LockProvider, PrimitiveOptions } from '../../src/index.js';

/** A lock object of any primitive, used as a mutex. */
export interface ExclusiveLock<H extends Hold = Hold> {
  acquire(options?: AcquireOptions): Promise<H>;
  tryAcquire(options?: AcquireOptions): Promise<H | null>;
  use<T>(work: (hold: H) => T | Promise<T>, options?: AcquireOptions): Promise<T>;
}

/** How one primitive is used as a mutex. Every suite here asks for nothing more. */
export interface LockAdapter<H extends Hold = Hold> {
  readonly primitive: Primitive;
  /** A new lock object: any number of one name are the same lock. */
  open(locks: LockProvider, name: string, options?: PrimitiveOptions): ExclusiveLock<H>;
  /** Done once per name before it is used, for instance taking all seats but one; `locks` outlives the test. */
  prepare(locks: LockProvider, name: string): Promise<void>;
  /** The lock documents behind a name; a waiter is queued in the first one. */
  documentsOf(name: string): readonly [string, ...string[]];
  /** Bytes that the adapter adds to a name: what a name given to it must be shorter by. */
  readonly addedBytes: number;
  tokensOf(hold: H): readonly number[];
}

/** Every primitive that can be used as a mutex; each is run in every mode of waiting. */
export const PRIMITIVES = ['mutex'] as const;
export type Primitive = (typeof PRIMITIVES)[number];

export const MODES_OF_WAITING = ['change-stream', 'polling'] as const;
export type ModeOfWaiting = (typeof MODES_OF_WAITING)[number];

export const mutex: LockAdapter<LockHandle> = {
  primitive: 'mutex',
  open: (locks, name, options) => locks.createMutex(name, options),
  prepare: () => Promise.resolve(),
  documentsOf: (name) => [name],
  addedBytes: 0,
  tokensOf: ({ fencingToken }) => [fencingToken],
};
