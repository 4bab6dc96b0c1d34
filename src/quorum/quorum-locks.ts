import { inspect } from 'node:util';
import { LeaseHandle } from '../lease/holding/lease-handle.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import type { ReaderWriterHandle } from '../lease/mode-change/reader-writer-handle.js';
import type { LeaseDurations } from '../options/provider-options.js';
import type { AcquireOptions } from '../options/request-options.js';
import { portrait } from '../portrait.js';
import { useLock } from '../primitives/call-chain.js';
import type { Mutex } from '../primitives/mutex.js';
import type { ReaderWriterLock } from '../primitives/reader-writer-lock.js';
import { nullAtTimeout } from '../primitives/requester.js';
import type { LockSnapshot } from '../protocol/replies/snapshot.js';
import { QuorumReaderWriterHandle } from './quorum-handle.js';
import { quorumOwner } from './quorum-owner.js';
import type { QuorumRequester, QuorumTarget } from './quorum-requester.js';

/** @internal */
export class QuorumMutex implements Mutex {
  readonly name: string;
  readonly #requester: QuorumRequester;
  readonly #target: QuorumTarget<LockHandle>;

  constructor(requester: QuorumRequester, name: string, durations: LeaseDurations) {
    this.name = name;
    this.#requester = requester;
    this.#target = {
      name,
      durations,
      kind: 'mutex',
      mode: 'write',
      makeHandle: (hold) => new LeaseHandle(hold, quorumOwner),
    };
  }

  acquire(options?: AcquireOptions): Promise<LockHandle> {
    return this.#requester.acquire(this.#target, options, 'acquire');
  }

  tryAcquire(options?: AcquireOptions): Promise<LockHandle | null> {
    return nullAtTimeout(this.#requester.acquire(this.#target, options, 'tryAcquire'));
  }

  use<T>(work: (lock: LockHandle) => T | Promise<T>, options?: AcquireOptions): Promise<T> {
    return useLock(this.#requester, () => this.acquire(options), work);
  }

  inspect(): Promise<LockSnapshot | null> {
    return this.#requester.inspect(this.name);
  }

  toJSON(): object {
    return { name: this.name, kind: 'mutex' };
  }

  [inspect.custom](): object {
    return portrait('Mutex', this.toJSON());
  }
}

/** @internal */
export class QuorumReaderWriterLock implements ReaderWriterLock {
  readonly name: string;
  readonly #requester: QuorumRequester;
  readonly #read: QuorumTarget<LockHandle>;
  readonly #write: QuorumTarget<ReaderWriterHandle>;
  readonly #upgradeableRead: QuorumTarget<ReaderWriterHandle>;

  constructor(requester: QuorumRequester, name: string, durations: LeaseDurations) {
    this.name = name;
    this.#requester = requester;
    const lock = { name, durations, kind: 'reader-writer' } as const;
    const makeHandle: QuorumTarget<ReaderWriterHandle>['makeHandle'] = (hold, quorum) =>
      new QuorumReaderWriterHandle(hold, quorum);
    this.#read = { ...lock, mode: 'read', makeHandle: (hold) => new LeaseHandle(hold, quorumOwner) };
    this.#write = { ...lock, mode: 'write', makeHandle };
    this.#upgradeableRead = { ...lock, mode: 'upgradeable', makeHandle };
  }

  acquireRead(options?: AcquireOptions): Promise<LockHandle> {
    return this.#requester.acquire(this.#read, options, 'acquire');
  }

  acquireWrite(options?: AcquireOptions): Promise<ReaderWriterHandle> {
    return this.#requester.acquire(this.#write, options, 'acquire');
  }

  acquireUpgradeableRead(options?: AcquireOptions): Promise<ReaderWriterHandle> {
    return this.#requester.acquire(this.#upgradeableRead, options, 'acquire');
  }

  tryAcquireRead(options?: AcquireOptions): Promise<LockHandle | null> {
    return nullAtTimeout(this.#requester.acquire(this.#read, options, 'tryAcquire'));
  }

  tryAcquireWrite(options?: AcquireOptions): Promise<ReaderWriterHandle | null> {
    return nullAtTimeout(this.#requester.acquire(this.#write, options, 'tryAcquire'));
  }

  tryAcquireUpgradeableRead(options?: AcquireOptions): Promise<ReaderWriterHandle | null> {
    return nullAtTimeout(this.#requester.acquire(this.#upgradeableRead, options, 'tryAcquire'));
  }

  useRead<T>(work: (lock: LockHandle) => T | Promise<T>, options?: AcquireOptions): Promise<T> {
    return useLock(this.#requester, () => this.acquireRead(options), work);
  }

  useWrite<T>(work: (lock: ReaderWriterHandle) => T | Promise<T>, options?: AcquireOptions): Promise<T> {
    return useLock(this.#requester, () => this.acquireWrite(options), work);
  }

  useUpgradeableRead<T>(
    work: (lock: ReaderWriterHandle) => T | Promise<T>,
    options?: AcquireOptions,
  ): Promise<T> {
    return useLock(this.#requester, () => this.acquireUpgradeableRead(options), work);
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
