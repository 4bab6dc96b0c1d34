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

/** How one primitive is used as a mutex. Every suite here asks for nothing more. */
export interface LockAdapter<H extends Hold = Hold> {
  readonly primitive: Primitive;
  /** A new lock object: any number of one name are the same lock. */
  open(locks: LockProvider, name: string, options?: PrimitiveOptions): ExclusiveLock<H>;
  /** Done once per name before it is used, for instance taking all seats but one; `locks` outlives the test. */
  prepare(locks: LockProvider, name: string): Promise<void>;
  /** How many leases `prepare` leaves in the first document. */
  readonly bystanders: number;
  /** The lock documents behind a name; a waiter is queued in the first one. */
  documentsOf(name: string): readonly [string, ...string[]];
  /** Bytes that the adapter adds to a name: what a name given to it must be shorter by. */
  readonly addedBytes: number;
  tokensOf(hold: H): readonly number[];
}

/** Every primitive that can be used as a mutex; each is run in every mode of waiting. */
export const PRIMITIVES = [
  'mutex',
  'kept-mutex',
  'write-lock',
  'upgradeable-read',
  'semaphore-of-one',
  'kept-semaphore-of-one',
  'semaphore-with-one-left',
  'composite-of-two',
] as const;
export type Primitive = (typeof PRIMITIVES)[number];

export const MODES_OF_WAITING = ['change-stream', 'polling'] as const;
export type ModeOfWaiting = (typeof MODES_OF_WAITING)[number];

/** What is the same where one name is one lock, which nobody has to be kept out of first. */
const ONE_LOCK = {
  prepare: () => Promise.resolve(),
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

/** Short, so that whoever tries elsewhere is soon not refused any more. */
const KEEP_MS = 50;

export const keptMutex: LockAdapter<LockHandle> = {
  ...ONE_LOCK,
  primitive: 'kept-mutex',
  open: (locks, name, options) => locks.createMutex(name, { ...options, keepMs: KEEP_MS }),
};

export const keptSemaphoreOfOne: LockAdapter<PermitHandle> = {
  ...ONE_LOCK,
  primitive: 'kept-semaphore-of-one',
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

/** Kept as long as the provider is: a handle that is forgotten gives its permit back. */
const keptBy = new WeakMap<LockProvider, PermitHandle[]>();

export const semaphoreWithOneLeft: LockAdapter<PermitHandle> = {
  ...ONE_LOCK,
  primitive: 'semaphore-with-one-left',
  open: (locks, name, options) => locks.createSemaphore(name, LIMIT, options),
  prepare: async (locks, name) => {
    const semaphore = locks.createSemaphore(name, LIMIT);
    // A name that was prepared before has its four already.
    const missing = (await semaphore.available()) - (LIMIT - TAKEN);
    const taking = Array.from({ length: missing }, () => semaphore.acquire({ why: 'to leave one' }));
    const taken = await Promise.all(taking);
    // Looked at only now: names are prepared side by side, and a handle that is not kept is given back.
    keptBy.set(locks, [...(keptBy.get(locks) ?? []), ...taken]);
  },
  bystanders: TAKEN,
};

type TwoMutexes = CompositeHandle<readonly [{ mutex: Mutex }, { mutex: Mutex }]>;

/** What is no name stays none, so that it is refused as it is. */
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
      // What `use` of one lock does.
      use: async (work, request) => {
        await using hold = await acquire(request);
        const result = await work(hold);
        hold.assertHeld();
        return result;
      },
    };
  },
  prepare: () => Promise.resolve(),
  bystanders: 0,
  documentsOf: (name) => [`${name}_1`, `${name}_2`],
  addedBytes: '_1'.length,
  tokensOf: ({ handles }) => handles.map(({ fencingToken }) => fencingToken),
};
