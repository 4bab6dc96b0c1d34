// Folder `quorum`: one lock is held in more than half of several independent deployments. The code asks the deployments
// in rounds, makes a hold of the seats in a majority of them, and ends the hold.

import { setMaxListeners } from 'node:events';
import type { EventEmitter } from 'eventemitter3';
import type { DriverDb } from '../driver-types.js';
import { Engine } from '../engine.js';
import { PROVIDER_WARNINGS } from '../events.js';
import { IsolatedEmitter } from '../isolated-emitter.js';
import type {
  IndexErrorEvent,
  LockProviderEvents,
  Report,
  StoreErrorEvent,
  WakeupsEvent,
} from '../events.js';
import type { LockProviderHealth } from '../health.js';
import { keepAlive } from '../keep-alive.js';
import { Observation, keepObservable } from '../observation.js';
import { parseDrain } from '../options/admin-options.js';
import { parseName } from '../options/checks.js';
import { leaseDurations } from '../options/provider-options.js';
import type { LeaseDurations } from '../options/provider-options.js';
import { parseLimit, parsePrimitiveOptions, refuseKeepMs } from '../options/request-options.js';
import type { PrimitiveOptions } from '../options/request-options.js';
import type { Mutex } from '../primitives/mutex.js';
import type { ReaderWriterLock } from '../primitives/reader-writer-lock.js';
import { surroundingsOf } from '../surroundings.js';
import type { FailureWarnings } from '../warnings.js';
import { ContendedLocks } from './contended-locks.js';
import { Deployment } from './deployment.js';
import { QuorumMutex, QuorumReaderWriterLock } from './quorum-locks.js';
import { parseDbs, parseQuorumOptions } from './quorum-options.js';
import type { QuorumLockProviderOptions } from './quorum-options.js';
import { QuorumRequester } from './quorum-requester.js';
import type { Quorum } from './quorum.js';
import { StoreHealth } from './store-health.js';

/** The store that an event is about. */
export interface OfStore {
  /** The index of the store in the list of databases; 0 is the first. */
  readonly store: number;
}

/** The health of a {@link QuorumLockProvider} and of its stores at this moment. */
export interface QuorumHealth {
  /** Whether a majority of the stores is healthy. */
  readonly healthy: boolean;
  /**
   * Why stores are not healthy; each sentence names its store. Not empty if any store is not healthy, even if a
   * majority is healthy.
   */
  readonly reasons: readonly string[];
  /** The health of each store and of the seats in it, in the order of the databases. */
  readonly stores: readonly LockProviderHealth[];
}

/**
 * The events of a {@link QuorumLockProvider}. An event about a hold comes once for all stores. An event about one store
 * names the store. `waiting` and `extended` never come: a quorum has no queue, and each store extends its own seat.
 * `wakeups` comes only if an upgrade has to wait.
 */
export interface QuorumLockProviderEvents extends LockProviderEvents {
  /** The way in which a store wakes waiters was decided, or has changed. */
  wakeups: [WakeupsEvent & OfStore];
  /** A command to a store failed, or got no answer. */
  storeError: [StoreErrorEvent & OfStore];
  /** The index for purging could not be created in a store. */
  indexError: [IndexErrorEvent & OfStore];
}

const WARNINGS: FailureWarnings<QuorumLockProviderEvents> = {
  ...PROVIDER_WARNINGS,
  storeError: {
    ...PROVIDER_WARNINGS.storeError,
    message: (event) => {
      const message = PROVIDER_WARNINGS.storeError.message(event);
      return message === null ? null : `Store ${String(event.store)}: ${message}`;
    },
  },
};

/**
 * Makes mutexes and reader-writer locks that are held in more than half of several independent MongoDB deployments.
 * Such a lock survives the loss of a whole deployment. One replica set and a `LockProvider` are usually the better
 * choice: a replica set survives the loss of members, has a fair queue, and costs much less.
 *
 * Guaranteed: two conflicting holds never both have a majority, as long as the clocks of each deployment and of the
 * processes do not drift apart by more than `clockAllowanceMs`. If they drift further apart, only the `fencingToken`
 * protects.
 *
 * Not promised: an order. There is no queue, so a request may wait longer than a later one.
 *
 * Required: all processes name the same deployments, preferably in the same order. A deployment that has lost its data
 * must not be used again before the longest lease has passed.
 *
 * @example
 *   await using locks = new QuorumLockProvider([east.db('app'), west.db('app'), north.db('app')]);
 *   await using lock = await locks.createMutex('invoice:42').acquire({ timeoutMs: 5_000 });
 */
export class QuorumLockProvider extends IsolatedEmitter<QuorumLockProviderEvents> implements AsyncDisposable {
  /** `host:pid:random`. Each lease of this provider, in every store, names this process id. */
  readonly processId: string;
  readonly #quorum: Quorum;
  readonly #requester: QuorumRequester;
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;

  /**
   * @param dbs - 3, 5, … databases, each in a deployment of its own. The constructor refuses a list that has the same
   *   database of the same client twice. It cannot notice that two clients reach the same deployment.
   * @throws `TypeError` or `RangeError` for a wrong list or a wrong option; `RangeError` if `wakeups` is
   *   `change-stream` and the pool of a client has room for one connection only.
   */
  constructor(dbs: readonly DriverDb[], options?: QuorumLockProviderOptions) {
    super(WARNINGS);
    const parsedDbs = parseDbs(dbs);
    const { settings, minValidityMs } = parseQuorumOptions(options);
    const { clock } = surroundingsOf(parsedDbs[0]);
    let processId: string | undefined;
    const stores = parsedDbs.map((db, index) => {
      const engine = new Engine(db, settings, this.#reportOf(index), processId, true);
      ({ processId } = engine);
      return new Deployment(index, engine);
    });
    this.processId = processId ?? '';
    const observation = new Observation();
    // Every request listens to this signal, so a large number of listeners is no leak.
    setMaxListeners(0, this.#closing.signal);
    this.#quorum = {
      stores,
      majority: Math.floor(stores.length / 2) + 1,
      settings,
      clock,
      report: (event, ...payload) => {
        this.emit(event, ...(payload as EventEmitter.EventArgs<QuorumLockProviderEvents, typeof event>));
      },
      closing: this.#closing.signal,
      observation,
      health: new StoreHealth(),
      contended: new ContendedLocks(clock),
      minValidityMs,
    };
    this.#requester = new QuorumRequester(this.#quorum);
    minValidityMs(leaseDurations(settings, settings.leaseMs));
    keepObservable(this, {
      clock,
      observe: (observer) => {
        const ends = [observation.add(observer), ...stores.map((store) => store.observeExtensions(observer))];
        return () => {
          for (const end of ends) end();
        };
      },
      streams: () => stores.reduce((sum, store) => sum + store.health().streams, 0),
    });
  }

  /**
   * Makes a mutex of this name. Sends nothing. All mutex objects of one name are the same lock.
   *
   * @throws `TypeError` or `RangeError` for a wrong name or option. A `keepMs` above 0 is refused.
   */
  createMutex(name: string, options?: PrimitiveOptions): Mutex {
    return new QuorumMutex(this.#requester, parseName(name), this.#durations('createMutex', options));
  }

  /**
   * Makes a reader-writer lock of this name. Sends nothing. All reader-writer objects of one name are the same lock.
   *
   * @throws As `createMutex`.
   */
  createReaderWriterLock(name: string, options?: PrimitiveOptions): ReaderWriterLock {
    const durations = this.#durations('createReaderWriterLock', options);
    return new QuorumReaderWriterLock(this.#requester, parseName(name), durations);
  }

  /**
   * Always throws: a majority of stores cannot hold a semaphore. Each store counts only its own permits. In a semaphore
   * of two permits over three stores, each of three holders could have a permit in two stores, although no store has
   * granted more than two permits.
   *
   * @throws `TypeError`; for a wrong name or limit, the error that names the wrong value.
   */
  createSemaphore(name: string, limit: number): never {
    const call = `createSemaphore(${JSON.stringify(parseName(name))}, ${String(parseLimit(limit))})`;
    throw new TypeError(
      `${call}: a quorum has no semaphores, because a majority of counters does not bound their sum; use a LockProvider`,
    );
  }

  /**
   * The health of this provider and of its stores at this moment. Sends nothing and never throws. The provider is
   * healthy if a majority of its stores is healthy.
   */
  health(): QuorumHealth {
    const { stores, majority } = this.#quorum;
    const healths = stores.map((store) => store.health());
    return {
      healthy: healths.filter(({ healthy }) => healthy).length >= majority,
      reasons: healths.flatMap(({ reasons }, index) =>
        reasons.map((reason) => `store ${String(index)}: ${reason}`),
      ),
      stores: healths,
    };
  }

  /**
   * Ends the provider in all stores in parallel, in each as the `close` of a `LockProvider` does. Waits at most
   * `drainMs` (0 to 24 h, default 5,000) for the holders to release. A further call waits for the same end, and its
   * `drainMs` has no effect.
   *
   * @throws `TypeError` or `RangeError` for a wrong option. Such a call closes nothing.
   */
  async close(options?: { drainMs?: number | undefined }): Promise<void> {
    const drainMs = parseDrain('close', options);
    this.#closed ??= this.#close(drainMs);
    await keepAlive(this.#closed);
  }

  override toJSON(): object {
    const { processId } = this;
    const { settings, stores } = this.#quorum;
    const closed = this.#closed !== undefined;
    return { processId, collection: settings.collectionName, stores: stores.length, closed };
  }

  /** Calls `close()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(drainMs: number): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#quorum.stores.map((store) => store.close(drainMs)));
    this.retire();
  }

  #durations(of: string, options: PrimitiveOptions | undefined): LeaseDurations {
    const { durations, keeping } = parsePrimitiveOptions(this.#quorum.settings, of, options);
    refuseKeepMs(keeping, 'a lock of a quorum');
    this.#quorum.minValidityMs(durations);
    return durations;
  }

  /** Forwards only the events about the store itself. A hold reports its own events, once for all stores. */
  #reportOf(store: number): Report {
    return (event, ...[payload]) => {
      if (event !== 'wakeups' && event !== 'storeError' && event !== 'indexError') return;
      const told = { ...payload, store } as unknown;
      this.emit(event, ...([told] as EventEmitter.EventArgs<QuorumLockProviderEvents, typeof event>));
    };
  }
}
