import type {
  AcquireOptions,
  CompositeHandle,
  Hold,
  LockHandle,
  LockProvider,
  Mutex,
  PermitHandle,
  PrimitiveOptions,
  ReaderWriterHandle,
} from '../../../src/index.js';

/** A lock object of any primitive, used as a mutex. */
export interface ExclusiveLock<H extends Hold = Hold> {
  acquire(options?: AcquireOptions): Promise<H>;
  tryAcquire(options?: AcquireOptions): Promise<H | null>;
  use<T>(work: (hold: H) => T | Promise<T>, options?: AcquireOptions): Promise<T>;
}

/** How one primitive is used as a mutex: all that the suites here need. */
export interface LockAdapter<H extends Hold = Hold> {
  readonly primitive: Primitive;
  /** A new lock object; all lock objects with one name are the same lock. */
  open(locks: LockProvider, name: string, options?: PrimitiveOptions): ExclusiveLock<H>;
  /** Prepares a name once before its use, for instance takes all permits but one; `locks` outlives the test. */
  prepare(locks: LockProvider, name: string): Promise<void>;
  /** Whether a process keeps its seat between its callers. */
  readonly keeps: boolean;
  /** How many leases `prepare` leaves in the first document. */
  readonly bystanders: number;
  /** The lock documents behind a name; a waiter is queued in the first one. */
  documentsOf(name: string): readonly [string, ...string[]];
  /** How many bytes the adapter adds to a name; a name given to it must be shorter by as many. */
  readonly addedBytes: number;
  tokensOf(hold: H): readonly number[];
}

/** Every primitive that can be used as a mutex; the suites run for each in every mode of waiting. */
export const PRIMITIVES = [
  'mutex',
  'kept-mutex',
  'write-lock',
  'upgradeable-read',
  'semaphore-of-one',
  'kept-semaphore-of-one',
  'semaphore-with-one-left',
  'composite-of-two',
  'kept-composite-of-two',
] as const;
export type Primitive = (typeof PRIMITIVES)[number];

export const MODES_OF_WAITING = ['change-stream', 'polling'] as const;
export type ModeOfWaiting = (typeof MODES_OF_WAITING)[number];

/** What is the same for every primitive whose name is one lock that needs no preparation. */
const ONE_LOCK = {
  prepare: () => Promise.resolve(),
  keeps: false,
  bystanders: 0,
  documentsOf: (name: string): readonly [string] => [name],
  addedBytes: 0,
  tokensOf: ({ fencingToken }: LockHandle): readonly number[] => [fencingToken],
};

export const mutex: LockAdapter<LockHandle> = {
  ...ONE_LOCK,
  primitive: 'mutex',
  open: (locks, name, options) => locks.createMutex(name, options),
};

/** Longer than any test, so that a process gives an idle seat back only because another request wants it. */
export const KEEP_MS = 600_000;

export const keptMutex: LockAdapter<LockHandle> = {
  ...ONE_LOCK,
  primitive: 'kept-mutex',
  keeps: true,
  open: (locks, name, options) => locks.createMutex(name, { ...options, keepMs: KEEP_MS }),
};

export const keptSemaphoreOfOne: LockAdapter<PermitHandle> = {
  ...ONE_LOCK,
  primitive: 'kept-semaphore-of-one',
  keeps: true,
  open: (locks, name, options) => locks.createSemaphore(name, 1, { ...options, keepMs: KEEP_MS }),
};

export const writeLock: LockAdapter<ReaderWriterHandle> = {
  ...ONE_LOCK,
  primitive: 'write-lock',
  open: (locks, name, options) => {
    const lock = locks.createReaderWriterLock(name, options);
    return {
      acquire: (request) => lock.acquireWrite(request),
      tryAcquire: (request) => lock.tryAcquireWrite(request),
      use: (work, request) => lock.useWrite(work, request),
    };
  },
};

export const upgradeableRead: LockAdapter<ReaderWriterHandle> = {
  ...ONE_LOCK,
  primitive: 'upgradeable-read',
  open: (locks, name, options) => {
    const lock = locks.createReaderWriterLock(name, options);
    return {
      acquire: (request) => lock.acquireUpgradeableRead(request),
      tryAcquire: (request) => lock.tryAcquireUpgradeableRead(request),
      use: (work, request) => lock.useUpgradeableRead(work, request),
    };
  },
};

export const semaphoreOfOne: LockAdapter<PermitHandle> = {
  ...ONE_LOCK,
  primitive: 'semaphore-of-one',
  open: (locks, name, options) => locks.createSemaphore(name, 1, options),
};

const LIMIT = 5;
const TAKEN = LIMIT - 1;

/** Refers to the handles as long as their provider exists: a handle without a reference releases its permit. */
const keptBy = new WeakMap<LockProvider, PermitHandle[]>();

export const semaphoreWithOneLeft: LockAdapter<PermitHandle> = {
  ...ONE_LOCK,
  primitive: 'semaphore-with-one-left',
  open: (locks, name, options) => locks.createSemaphore(name, LIMIT, options),
  prepare: async (locks, name) => {
    const semaphore = locks.createSemaphore(name, LIMIT);
    // A name that was prepared before has four holders already.
    const missing = (await semaphore.available()) - (LIMIT - TAKEN);
    const taking = Array.from({ length: missing }, () => semaphore.acquire({ why: 'to leave one' }));
    const taken = await Promise.all(taking);
    // Read only now, because names are prepared at the same time and no handle may be dropped.
    keptBy.set(locks, [...(keptBy.get(locks) ?? []), ...taken]);
  },
  bystanders: TAKEN,
};

type TwoMutexes = CompositeHandle<readonly [{ mutex: Mutex }, { mutex: Mutex }]>;

/** An invalid name is passed on unchanged, so that the provider sees it as it is. */
const member = (name: string, suffix: string): string =>
  typeof name === 'string' && name !== '' ? `${name}${suffix}` : name;

export const compositeOfTwo: LockAdapter<TwoMutexes> = {
  primitive: 'composite-of-two',
  open: (locks, name, options) => {
    const first = locks.createMutex(member(name, '_1'), options);
    const second = locks.createMutex(member(name, '_2'), options);
    const acquire = (request?: AcquireOptions): Promise<TwoMutexes> =>
      locks.acquireAll([{ mutex: first }, { mutex: second }], request);
    return {
      acquire,
      tryAcquire: (request) => locks.tryAcquireAll([{ mutex: first }, { mutex: second }], request),
      // The same steps as in `use` of one lock.
      use: async (work, request) => {
        await using hold = await acquire(request);
        const result = await work(hold);
        hold.assertHeld();
        return result;
      },
    };
  },
  prepare: () => Promise.resolve(),
  keeps: false,
  bystanders: 0,
  documentsOf: (name) => [`${name}_1`, `${name}_2`],
  addedBytes: '_1'.length,
  tokensOf: ({ handles }) => handles.map(({ fencingToken }) => fencingToken),
};

export const keptCompositeOfTwo: LockAdapter<TwoMutexes> = {
  ...compositeOfTwo,
  primitive: 'kept-composite-of-two',
  keeps: true,
  open: (locks, name, options) => compositeOfTwo.open(locks, name, { ...options, keepMs: KEEP_MS }),
};
