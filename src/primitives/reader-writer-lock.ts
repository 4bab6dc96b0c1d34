import { inspect } from 'node:util';
import { LeaseHandle } from '../lease/holding/lock-handle.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import { ModeChanges } from '../lease/mode-change/mode-changes.js';
import { ReaderWriterLeaseHandle } from '../lease/mode-change/reader-writer-handle.js';
import type { ReaderWriterHandle } from '../lease/mode-change/reader-writer-handle.js';
import type { LeaseTerms } from '../options/provider-options.js';
import type { AcquireOptions } from '../options/request-options.js';
import { portrait } from '../portrait.js';
import { readerWriterSeats } from '../protocol/kinds/reader-writer-seats.js';
import type { LockSnapshot } from '../protocol/replies/snapshot.js';
import type { Requester, Target } from './requester.js';

/**
 * A lock that many read together, or one writes alone, granted in the order of the requests: all requests before the
 * first writer in the queue enter together. So a stream of readers keeps no writer away, nor writers a reader.
 *
 * An upgradeable read is a read of which there is one at a time, and which can become a write without letting go. Not
 * reentrant, as a {@link Mutex} is not; what that says about clocks and tokens holds here, too.
 */
export interface ReaderWriterLock {
  /** As it was given to `createReaderWriterLock`. */
  readonly name: string;

  /**
   * Waits until it is granted to read, beside other readers.
   *
   * @throws As `acquire` of a {@link Mutex}; after any error nothing is held.
   */
  acquireRead(options?: AcquireOptions): Promise<LockHandle>;

  /** Waits until it is granted to write, alone. It can be downgraded. @throws As `acquireRead`. */
  acquireWrite(options?: AcquireOptions): Promise<ReaderWriterHandle>;

  /**
   * Waits until it is granted to read beside other readers, as the only one that can be upgraded.
   *
   * @throws As `acquireRead`.
   */
  acquireUpgradeableRead(options?: AcquireOptions): Promise<ReaderWriterHandle>;

  /** Like `acquireRead`, with one try unless `timeoutMs` says otherwise; `null` where that would time out. */
  tryAcquireRead(options?: AcquireOptions): Promise<LockHandle | null>;

  /** Like `acquireWrite`, with one try unless `timeoutMs` says otherwise; `null` where that would time out. */
  tryAcquireWrite(options?: AcquireOptions): Promise<ReaderWriterHandle | null>;

  /** Like `acquireUpgradeableRead`, with one try unless `timeoutMs` says otherwise; `null` where that would time out. */
  tryAcquireUpgradeableRead(options?: AcquireOptions): Promise<ReaderWriterHandle | null>;

  /**
   * Acquires to read, works, releases; the release is awaited also if the work fails.
   *
   * @throws What the work throws; {@link LockLostError} if the hold was lost before the work ended.
   */
  useRead<T>(work: (lock: LockHandle) => T | Promise<T>, options?: AcquireOptions): Promise<T>;

  /** Acquires to write, works, releases. @throws As `useRead`. */
  useWrite<T>(work: (lock: ReaderWriterHandle) => T | Promise<T>, options?: AcquireOptions): Promise<T>;

  /** Acquires an upgradeable read, works, releases. @throws As `useRead`. */
  useUpgradeableRead<T>(
    work: (lock: ReaderWriterHandle) => T | Promise<T>,
    options?: AcquireOptions,
  ): Promise<T>;

  /** What the lock looks like now; `null` if it has never been used, or not for the retention time. */
  inspect(): Promise<LockSnapshot | null>;
}

/** @internal */
export class ReaderWriterLockFace implements ReaderWriterLock {
  readonly name: string;
  readonly #requester: Requester;
  readonly #read: Target<LockHandle>;
  readonly #write: Target<ReaderWriterHandle>;
  readonly #upgradeableRead: Target<ReaderWriterHandle>;

  constructor(requester: Requester, name: string, terms: LeaseTerms) {
    this.name = name;
    this.#requester = requester;
    const lock = { name, terms, seats: readerWriterSeats };
    const makeHandle: Target<ReaderWriterHandle>['makeHandle'] = (hold, holds, context) =>
      new ReaderWriterLeaseHandle(hold, holds, new ModeChanges(context, holds, hold));
    this.#read = {
      ...lock,
      demand: () => ({ mode: 'read' }),
      makeHandle: (hold, holds) => new LeaseHandle(hold, holds),
    };
    this.#write = { ...lock, demand: () => ({ mode: 'write' }), makeHandle };
    this.#upgradeableRead = { ...lock, demand: () => ({ mode: 'upgradeable' }), makeHandle };
  }

  belongsTo(requester: Requester): boolean {
    return this.#requester === requester;
  }

  acquireRead(options?: AcquireOptions): Promise<LockHandle> {
    return this.#requester.acquire(this.#read, options);
  }

  acquireWrite(options?: AcquireOptions): Promise<ReaderWriterHandle> {
    return this.#requester.acquire(this.#write, options);
  }

  acquireUpgradeableRead(options?: AcquireOptions): Promise<ReaderWriterHandle> {
    return this.#requester.acquire(this.#upgradeableRead, options);
  }

  tryAcquireRead(options?: AcquireOptions): Promise<LockHandle | null> {
    return this.#requester.tryAcquire(this.#read, options);
  }

  tryAcquireWrite(options?: AcquireOptions): Promise<ReaderWriterHandle | null> {
    return this.#requester.tryAcquire(this.#write, options);
  }

  tryAcquireUpgradeableRead(options?: AcquireOptions): Promise<ReaderWriterHandle | null> {
    return this.#requester.tryAcquire(this.#upgradeableRead, options);
  }

  useRead<T>(work: (lock: LockHandle) => T | Promise<T>, options?: AcquireOptions): Promise<T> {
    return this.#requester.use(() => this.acquireRead(options), work);
  }

  useWrite<T>(work: (lock: ReaderWriterHandle) => T | Promise<T>, options?: AcquireOptions): Promise<T> {
    return this.#requester.use(() => this.acquireWrite(options), work);
  }

  useUpgradeableRead<T>(
    work: (lock: ReaderWriterHandle) => T | Promise<T>,
    options?: AcquireOptions,
  ): Promise<T> {
    return this.#requester.use(() => this.acquireUpgradeableRead(options), work);
  }

  inspect(): Promise<LockSnapshot | null> {
    return this.#requester.inspect(this.name);
  }

  toJSON(): object {
    return { name: this.name, kind: 'reader-writer' };
  }

  [inspect.custom](): object {
    return portrait('ReaderWriterLock', this.toJSON());
  }
}
