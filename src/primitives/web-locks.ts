import { inspect } from 'node:util';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import { boolean, knownOptions, oneOf, optional, orElse, wrongType } from '../options/checks.js';
import type { KeysOf } from '../options/unknown-keys.js';
import { portrait } from '../portrait.js';
import type { LockSnapshot } from '../protocol/replies/snapshot.js';
import type { ReaderWriterLock } from './reader-writer-lock.js';
import type { Requester } from './requester.js';

/** `exclusive` is a write of a reader-writer lock, `shared` a read. */
export type WebLockMode = 'exclusive' | 'shared';

/** Options of one request, named as in the Web Locks API. */
export interface WebLockOptions {
  /** The mode in which the lock is acquired. Default: `exclusive`. */
  mode?: WebLockMode | undefined;
  /** Makes one try: if the lock is not free, the callback gets `null`. Default: false. */
  ifAvailable?: boolean | undefined;
  /** Ends the wait. An abort after the grant has no effect. Refused together with `ifAvailable`. */
  signal?: AbortSignal | undefined;
  /** `true` is refused, because the work of the old holder would go on. See `revoke` of a provider. */
  steal?: boolean | undefined;
}

/** A lock as the callback of a request gets it. */
export interface WebLock {
  /** The name of the lock. */
  readonly name: string;
  /** The mode in which the lock is held. */
  readonly mode: WebLockMode;
  /** Aborts with a {@link LockLostError} when the lock is lost. The Web Locks API has no such signal. */
  readonly signal: AbortSignal;
  /** The fencing token. The token of an exclusive lock is higher than every earlier token of this name. */
  readonly fencingToken: number;
}

/** One holder or one waiter, as `query` shows it. */
export interface WebLockInfo {
  /** The name of the lock. */
  readonly name: string;
  /** The mode that is held or asked for; an upgradeable read counts as `shared`. */
  readonly mode: WebLockMode;
  /** The process id of the provider that holds the lock or waits for it. */
  readonly clientId: string;
}

/** What `query` shows: who holds the reader-writer locks of the collection, and who waits for them. */
export interface WebLocksSnapshot {
  /** The holders. */
  readonly held: readonly WebLockInfo[];
  /** The waiters, those of one lock in the order of its queue. */
  readonly pending: readonly WebLockInfo[];
}

/**
 * Locks in the form of the Web Locks API (https://w3c.github.io/web-locks/), which is `navigator.locks` in browsers. A
 * name stands for the reader-writer lock of that name, for all processes that use the collection.
 */
export interface WebLocks {
  /**
   * Acquires the lock, calls `callback`, and releases the lock when the callback has ended, even if it has failed. A
   * callback that returns a promise ends when the promise settles.
   *
   * If the lock is lost while the callback runs, another process may hold the lock at the same time. `signal` of the
   * lock aborts, and the request rejects with {@link LockLostError} instead of the result. If the callback fails, the
   * request rejects with the error of the callback.
   *
   * As in the Web Locks API, a lock is not reentrant. A request inside the callback that could only wait for the end of
   * the callback is rejected with a {@link DeadlockError} instead of waiting for ever.
   *
   * @returns The result of `callback`, after the release of the lock.
   * @throws The reason of `signal` if it aborts before the grant; a `DOMException` named `NotSupportedError` for
   *   `steal`, for `signal` together with `ifAvailable`, and for a name that begins with `-`; `TypeError` or
   *   `RangeError` for another wrong value or an unknown option; otherwise as `useRead` of a {@link ReaderWriterLock}.
   */
  request<T>(name: string, callback: (lock: WebLock) => T | Promise<T>): Promise<T>;
  /** Like `request(name, callback)`, with options. */
  request<T>(
    name: string,
    options: WebLockOptions & { readonly ifAvailable?: false | undefined },
    callback: (lock: WebLock) => T | Promise<T>,
  ): Promise<T>;
  /** With `ifAvailable`, the callback gets `null` and holds nothing if the lock is not free. */
  request<T>(
    name: string,
    options: WebLockOptions,
    callback: (lock: WebLock | null) => T | Promise<T>,
  ): Promise<T>;

  /**
   * Reads who holds and who waits for the reader-writer locks of the collection. The locks are not all read at the same
   * moment.
   *
   * @throws As `list` of a provider.
   */
  query(): Promise<WebLocksSnapshot>;
}

type Callback<T> = (lock: WebLock | null) => T | Promise<T>;

/** The callback of any overload of `request`. It may get `null` only with `ifAvailable`. */
type GivenCallback<T> = (lock: never) => T | Promise<T>;

/** What the locks use of their provider. */
interface WebLocksProvider {
  createReaderWriterLock(name: string): ReaderWriterLock;
  list(): AsyncIterable<LockSnapshot>;
}

const KEYS: KeysOf<WebLockOptions> = { mode: true, ifAvailable: true, signal: true, steal: true };

/** @internal */
export class WebLocksFace implements WebLocks {
  readonly #requester: Requester;
  readonly #provider: WebLocksProvider;

  constructor(requester: Requester, provider: WebLocksProvider) {
    this.#requester = requester;
    this.#provider = provider;
  }

  async request<T>(
    name: string,
    ...given:
      readonly [callback: GivenCallback<T>] | readonly [options: WebLockOptions, callback: GivenCallback<T>]
  ): Promise<T> {
    const [options, last] = given.length === 1 ? [undefined, given[0]] : given;
    if (typeof last !== 'function') throw wrongType('callback', 'a function', last);
    const callback = last as Callback<T>;
    const { mode, ifAvailable, signal } = parseOptions(options);
    const lock = this.#provider.createReaderWriterLock(name);
    if (name.startsWith('-'))
      throw notSupported(`a name that begins with "-", such as ${JSON.stringify(name)}`);
    const work = (hold: LockHandle): T | Promise<T> => callback(new HeldWebLock(hold, mode));
    const isShared = mode === 'shared';
    if (!ifAvailable) {
      return await (isShared ? lock.useRead(work, { signal }) : lock.useWrite(work, { signal }));
    }
    const hold = await (isShared ? lock.tryAcquireRead() : lock.tryAcquireWrite());
    if (hold === null) return await callback(null);
    return await this.#requester.use(() => Promise.resolve(hold), work);
  }

  async query(): Promise<WebLocksSnapshot> {
    const held: WebLockInfo[] = [];
    const pending: WebLockInfo[] = [];
    for await (const { name, kind, holders, waiters } of this.#provider.list()) {
      if (kind !== 'reader-writer') continue;
      held.push(...holders.map((holder) => infoOf(name, holder)));
      pending.push(...waiters.map((waiter) => infoOf(name, waiter)));
    }
    return { held, pending };
  }

  toJSON(): object {
    return {};
  }

  [inspect.custom](): object {
    return portrait('WebLocks', this.toJSON());
  }
}

/**
 * The own properties of this object are those of a `Lock` in the Web Locks API. Such a `Lock` has no `signal` and no
 * `fencingToken`, so these two are getters.
 */
class HeldWebLock implements WebLock {
  readonly name: string;
  readonly mode: WebLockMode;
  readonly #hold: LockHandle;

  constructor(hold: LockHandle, mode: WebLockMode) {
    this.name = hold.name;
    this.mode = mode;
    this.#hold = hold;
  }

  get signal(): AbortSignal {
    return this.#hold.signal;
  }

  get fencingToken(): number {
    return this.#hold.fencingToken;
  }

  [inspect.custom](): object {
    const { name, mode, fencingToken } = this;
    return portrait('WebLock', { name, mode, fencingToken });
  }
}

interface ParsedWebLockOptions {
  readonly mode: WebLockMode;
  readonly ifAvailable: boolean;
  readonly signal: AbortSignal | undefined;
}

function parseOptions(given: WebLockOptions | undefined): ParsedWebLockOptions {
  const { signal, ...options } = knownOptions(given, 'request', KEYS);
  const mode = oneOf('mode', orElse(options.mode, 'exclusive'), ['exclusive', 'shared']);
  const ifAvailable = boolean('ifAvailable', orElse(options.ifAvailable, false));
  if (optional(options.steal, (steal) => boolean('steal', steal)) === true) {
    throw notSupported(
      'steal: the old holder would work on; revoke(name, { force: true }) says what that means',
    );
  }
  if (ifAvailable && signal !== undefined) throw notSupported('signal together with ifAvailable');
  return { mode, ifAvailable, signal };
}

/** The error that the Web Locks API prescribes for a request that is not supported. */
const notSupported = (what: string): DOMException =>
  new DOMException(`web locks do not support ${what}`, 'NotSupportedError');

const infoOf = (
  name: string,
  { mode, process }: { readonly mode?: string | undefined; readonly process: string },
): WebLockInfo => ({ name, mode: mode === 'write' ? 'exclusive' : 'shared', clientId: process });
