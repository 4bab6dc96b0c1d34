import { setMaxListeners } from 'node:events';
import type { EventEmitter } from 'eventemitter3';
import type { Db } from 'mongodb';
import { systemClock } from '../clock.js';
import { Engine } from '../engine.js';
import { IsolatedEmitter, PROVIDER_WARNINGS } from '../events.js';
import type {
  IndexErrorEvent,
  LockProviderEvents,
  Report,
  StoreErrorEvent,
  WakeupsEvent,
} from '../events.js';
import { keepAlive } from '../keep-alive.js';
import { parseDrain } from '../options/admin-options.js';
import { parseName } from '../options/checks.js';
import { leaseTerms } from '../options/provider-options.js';
import type { LeaseTerms } from '../options/provider-options.js';
import { parseLimit, parsePrimitiveOptions, refuseKeepMs } from '../options/request-options.js';
import type { PrimitiveOptions } from '../options/request-options.js';
import type { Mutex } from '../primitives/mutex.js';
import type { ReaderWriterLock } from '../primitives/reader-writer-lock.js';
import type { FailureWarnings } from '../warnings.js';
import { ContendedLocks } from './contended-locks.js';
import { Deployment } from './deployment.js';
import { QuorumMutex, QuorumReaderWriterLock } from './quorum-locks.js';
import { parseDbs, parseQuorumOptions } from './quorum-options.js';
import type { QuorumLockProviderOptions } from './quorum-options.js';
import { QuorumRequester } from './quorum-requester.js';
import type { Quorum } from './quorum.js';
import { StoreHealth } from './store-health.js';

/** Where in the list of databases the store stands that the event is about. */
export interface OfStore {
  /** 0 for the first. */
  readonly store: number;
}

/**
 * The events of a {@link QuorumLockProvider}: what happens to a hold is told once for all stores, and what happens to
 * one store says which. `waiting` and `extended` are never told: nobody queues, and each store extends by itself. `wakeups`
 * is told only where an upgrade waits.
 */
export interface QuorumLockProviderEvents extends LockProviderEvents {
  /** How a store wakes was decided, or has changed. */
  wakeups: [WakeupsEvent & OfStore];
  /** A command to a store failed or was not answered. */
  storeError: [StoreErrorEvent & OfStore];
  /** In a store, the index for purging could not be made. */
  indexError: [IndexErrorEvent & OfStore];
}

const WARNINGS: FailureWarnings<QuorumLockProviderEvents> = {
  ...PROVIDER_WARNINGS,
  storeError: {
    ...PROVIDER_WARNINGS.storeError,
    message: (event) => `Store ${String(event.store)}: ${PROVIDER_WARNINGS.storeError.message(event)}`,
  },
};

/**
 * Makes locks that more than half of several independent deployments of MongoDB grant, so that they outlive the loss of
 * a whole deployment. One replica set is usually the better answer: it survives the loss of members, has a queue, and
 * costs a fraction. All processes must name the same deployments, best in
 * the same order.
 *
 * Within the clock bounds of each deployment no two hold what excludes each other; beyond them the token decides. A
 * deployment that comes back with its data lost must stay away for a lease first. Nobody queues: requests are granted in
 * no order.
 *
 * @example
 *   await using locks = new QuorumLockProvider([east.db('app'), west.db('app'), north.db('app')]);
 *   await using lock = await locks.createMutex('invoice:42').acquire({ timeoutMs: 5_000 });
 */
export class QuorumLockProvider extends IsolatedEmitter<QuorumLockProviderEvents> implements AsyncDisposable {
  /** `host:pid:random`, stored with every lease in every store. */
  readonly processId: string;
  readonly #quorum: Quorum;
  readonly #requester: QuorumRequester;
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;

  /**
   * @param dbs - 3, 5, … databases, each of a deployment of its own, which is not checked beyond their clients and names.
   * @throws `TypeError` or `RangeError` naming the option, the rule and the value.
   */
  constructor(dbs: readonly Db[], options?: QuorumLockProviderOptions) {
    super(WARNINGS);
    const parsedDbs = parseDbs(dbs);
    const { settings, minValidityMs } = parseQuorumOptions(options);
    let processId: string | undefined;
    const stores = parsedDbs.map((db, index) => {
      const engine = new Engine(db, settings, this.#reportOf(index), processId);
      ({ processId } = engine);
      return new Deployment(index, engine);
    });
    this.processId = processId ?? '';
    // Every request listens for the end of the provider; that many are no leak.
    setMaxListeners(0, this.#closing.signal);
    this.#quorum = {
      stores,
      majority: Math.floor(stores.length / 2) + 1,
      settings,
      clock: systemClock,
      report: (event, ...payload) => {
        this.emit(event, ...(payload as EventEmitter.EventArgs<QuorumLockProviderEvents, typeof event>));
      },
      closing: this.#closing.signal,
      health: new StoreHealth(),
      contended: new ContendedLocks(systemClock),
      minValidityMs,
    };
    this.#requester = new QuorumRequester(this.#quorum);
    minValidityMs(leaseTerms(settings, settings.leaseMs));
  }

  /**
   * A mutex of this name. Sends nothing; any number of objects of one name are the same lock.
   *
   * @throws `TypeError` or `RangeError` for a wrong name or option, `keepMs` among them: a kept seat is passed on without
   *   asking the stores.
   */
  createMutex(name: string, options?: PrimitiveOptions): Mutex {
    return new QuorumMutex(this.#requester, parseName(name), this.#terms('createMutex', options));
  }

  /** A reader-writer lock of this name. @throws As `createMutex`. */
  createReaderWriterLock(name: string, options?: PrimitiveOptions): ReaderWriterLock {
    const terms = this.#terms('createReaderWriterLock', options);
    return new QuorumReaderWriterLock(this.#requester, parseName(name), terms);
  }

  /**
   * There is none.
   *
   * @throws `TypeError`, always: a majority of counters does not bound the sum. Three who hold two of three stores each
   *   would all hold a semaphore of two, though no store has granted more than two permits.
   */
  createSemaphore(name: string, limit: number): never {
    const asked = `a semaphore (${JSON.stringify(parseName(name))}, ${String(parseLimit(limit))})`;
    throw new TypeError(
      `${asked} cannot be held by a majority of stores: each counts its own permits, and a majority of counters does not bound their sum`,
    );
  }

  /**
   * Ends the provider, as the `close` of a `LockProvider` does, in all stores at once: waits at most `drainMs` (default
   * 5,000) for the holders to release.
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

  /** `close()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(drainMs: number): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#quorum.stores.map((store) => store.close(drainMs)));
    this.retire();
  }

  #terms(of: string, options: PrimitiveOptions | undefined): LeaseTerms {
    const { terms, keepMs } = parsePrimitiveOptions(this.#quorum.settings, of, options);
    refuseKeepMs(keepMs, 'a lock of a quorum');
    this.#quorum.minValidityMs(terms);
    return terms;
  }

  /** What happens to a hold in one store is part of what happens to the hold. */
  #reportOf(store: number): Report {
    return (event, ...[payload]) => {
      if (event !== 'wakeups' && event !== 'storeError' && event !== 'indexError') return;
      const told = { ...payload, store } as unknown;
      this.emit(event, ...([told] as EventEmitter.EventArgs<QuorumLockProviderEvents, typeof event>));
    };
  }
}
