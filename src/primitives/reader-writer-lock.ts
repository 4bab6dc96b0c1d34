import { inspect } from 'node:util';
import { LeaseHandle } from '../lease/holding/lease-handle.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import { ModeChanges } from '../lease/mode-change/mode-changes.js';
import { ReaderWriterLeaseHandle } from '../lease/mode-change/reader-writer-handle.js';
import type { ReaderWriterHandle } from '../lease/mode-change/reader-writer-handle.js';
import type { LeaseDurations } from '../options/provider-options.js';
import type { AcquireOptions, ParsedKeeping } from '../options/request-options.js';
import { portrait } from '../portrait.js';
import { readerWriterRules } from '../protocol/kinds/reader-writer-rules.js';
import type { LockSnapshot } from '../protocol/replies/snapshot.js';
import type { Requester, Target } from './requester.js';

/**
 * A lock that many readers hold together, or one writer alone. Requests are granted in their order; the option `keepMs`
 * allows bounded exceptions. The reads at the head of the queue are granted together, up to the first writer or to a
 * second upgradeable read. So a stream of readers does not keep out a writer, and a stream of writers does not keep out
 * a reader.
 *
 * An upgradeable read is a read that can become a write without a release in between. This change, the upgrade, jumps
 * the queue of waiting requests. Only one hold at a time is upgradeable. The lock is not reentrant. In the cases that
 * {@link Mutex} lists, a writer and another holder can both believe that they hold the lock. Only the token of a write
 * can fence.
 */
export interface ReaderWriterLock {
  /** The name that was given to `createReaderWriterLock`. */
  readonly name: string;

  /**
   * Waits until a read is granted. Other readers may hold the lock at the same time.
   *
   * @throws As `acquire` of a {@link Mutex}; after any error nothing is held.
   */
  acquireRead(options?: AcquireOptions): Promise<LockHandle>;

  /**
   * Waits until a write is granted, which excludes all other holders. The hold can be downgraded.
   *
   * @throws As `acquireRead`.
   */
  acquireWrite(options?: AcquireOptions): Promise<ReaderWriterHandle>;

  /**
   * Waits until an upgradeable read is granted. Other readers may hold the lock at the same time, but no second
   * upgradeable read.
   *
   * @throws As `acquireRead`.
   */
  acquireUpgradeableRead(options?: AcquireOptions): Promise<ReaderWriterHandle>;

  /** Like `acquireRead`, but makes one try unless `timeoutMs` is given. Resolves with `null` instead of timing out. */
  tryAcquireRead(options?: AcquireOptions): Promise<LockHandle | null>;

  /** Like `acquireWrite`, but makes one try unless `timeoutMs` is given. Resolves with `null` instead of timing out. */
  tryAcquireWrite(options?: AcquireOptions): Promise<ReaderWriterHandle | null>;

  /**
   * Like `acquireUpgradeableRead`, but makes one try unless `timeoutMs` is given. Resolves with `null` instead of
   * timing out.
   */
  tryAcquireUpgradeableRead(options?: AcquireOptions): Promise<ReaderWriterHandle | null>;

  /**
   * Acquires a read, calls `work`, and releases the read, even if `work` fails. Settles after the release.
   *
   * @throws As `acquireRead`; what `work` throws; {@link LockLostError} if the hold was lost before `work` ended.
   */
  useRead<T>(work: (lock: LockHandle) => T | Promise<T>, options?: AcquireOptions): Promise<T>;

  /**
   * Like `useRead`, with a write.
   * @throws As `useRead`.
   */
  useWrite<T>(work: (lock: ReaderWriterHandle) => T | Promise<T>, options?: AcquireOptions): Promise<T>;

  /**
   * Like `useRead`, with an upgradeable read.
   * @throws As `useRead`.
   */
  useUpgradeableRead<T>(
    work: (lock: ReaderWriterHandle) => T | Promise<T>,
    options?: AcquireOptions,
  ): Promise<T>;

  /**
   * Reads the present state of the lock of this name, of whatever kind it is; `null` if none is stored, for example
   * because it was never used, or was purged after the retention time.
   */
  inspect(): Promise<LockSnapshot | null>;
}

/** @internal */
export class ReaderWriterLockFace implements ReaderWriterLock {
  readonly name: string;
  readonly readTarget: Target<LockHandle>;
  readonly writeTarget: Target<ReaderWriterHandle>;
  readonly upgradeableReadTarget: Target<ReaderWriterHandle>;
  readonly #requester: Requester;

  constructor(requester: Requester, name: string, durations: LeaseDurations, keeping: ParsedKeeping) {
    this.name = name;
    this.#requester = requester;
    const lock = { name, durations, rules: readerWriterRules };
    const makeHandle: Target<ReaderWriterHandle>['makeHandle'] = (hold, holds, context) =>
      new ReaderWriterLeaseHandle(hold, holds, new ModeChanges(context, holds, hold));
    this.readTarget = {
      ...lock,
      // Only plain reads share a kept seat. A hold whose mode can change has its own lease.
      keeping,
      demand: () => ({ mode: 'read' }),
      makeHandle: (hold, holds) => new LeaseHandle(hold, holds),
    };
    this.writeTarget = { ...lock, demand: () => ({ mode: 'write' }), makeHandle };
    this.upgradeableReadTarget = { ...lock, demand: () => ({ mode: 'upgradeable' }), makeHandle };
  }

  belongsTo(requester: Requester): boolean {
    return this.#requester === requester;
  }

  acquireRead(options?: AcquireOptions): Promise<LockHandle> {
    return this.#requester.acquire(this.readTarget, options);
  }

  acquireWrite(options?: AcquireOptions): Promise<ReaderWriterHandle> {
    return this.#requester.acquire(this.writeTarget, options);
  }

  acquireUpgradeableRead(options?: AcquireOptions): Promise<ReaderWriterHandle> {
    return this.#requester.acquire(this.upgradeableReadTarget, options);
  }

  tryAcquireRead(options?: AcquireOptions): Promise<LockHandle | null> {
    return this.#requester.tryAcquire(this.readTarget, options);
  }

  tryAcquireWrite(options?: AcquireOptions): Promise<ReaderWriterHandle | null> {
    return this.#requester.tryAcquire(this.writeTarget, options);
  }

  tryAcquireUpgradeableRead(options?: AcquireOptions): Promise<ReaderWriterHandle | null> {
    return this.#requester.tryAcquire(this.upgradeableReadTarget, options);
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
