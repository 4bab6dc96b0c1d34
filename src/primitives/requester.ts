import { AsyncLocalStorage } from 'node:async_hooks';
import { AcquireTimeoutError, DeadlockError, LockLostError, ProviderClosedError } from '../errors.js';
import { Acquisition } from '../lease/acquisition.js';
import type { AcquisitionContext } from '../lease/attempt.js';
import type { Grant } from '../lease/held-lease.js';
import type { LockHandle } from '../lease/lock-handle.js';
import { parseAcquireOptions } from '../options.js';
import type { AcquireOptions, LeaseTerms } from '../options.js';
import type { Seats } from '../protocol/seats.js';
import type { LockSnapshot } from '../protocol/snapshot.js';

/** What a chain of calls holds through `use…`, innermost last. */
interface ChainLink {
  readonly requester: Requester;
  readonly lock: LockHandle;
  readonly outer: ChainLink | undefined;
}

const chain = new AsyncLocalStorage<ChainLink>();

/** What all primitives do alike: check the options, acquire, turn a timeout into `null`, run work under a lock. */
export class Requester {
  readonly #context: AcquisitionContext;
  readonly #hold: (grant: Grant, waitedMs: number) => LockHandle;
  readonly #inspect: (name: string) => Promise<LockSnapshot | null>;

  constructor(
    context: AcquisitionContext,
    hold: (grant: Grant, waitedMs: number) => LockHandle,
    inspect: (name: string) => Promise<LockSnapshot | null>,
  ) {
    this.#context = context;
    this.#hold = hold;
    this.#inspect = inspect;
  }

  acquire(name: string, seats: Seats, terms: LeaseTerms, options: AcquireOptions = {}): Promise<LockHandle> {
    return this.#acquire(name, seats, terms, options, Infinity);
  }

  async #acquire(
    name: string,
    seats: Seats,
    terms: LeaseTerms,
    options: AcquireOptions | undefined,
    defaultTimeoutMs: number,
  ): Promise<LockHandle> {
    const parsed = parseAcquireOptions(this.#context.settings, terms, options, defaultTimeoutMs);
    const waitsForItself = parsed.timeoutMs === Infinity && this.#isHeldByChain(name);
    // Nobody else could end this wait; if there is room all the same, one try finds it.
    const request = waitsForItself ? { ...parsed, timeoutMs: 0 } : parsed;
    const acquisition = new Acquisition(this.#context, name, seats, request);
    try {
      const grant = await acquisition.run();
      // Closed in the very turn of the grant: nobody would see to this hold any more.
      if (this.#context.closing.aborted) {
        acquisition.giveBack();
        throw new ProviderClosedError(name);
      }
      return this.#hold(grant, acquisition.waitedMs);
    } catch (error) {
      if (waitsForItself && error instanceof AcquireTimeoutError) throw new DeadlockError(name);
      throw error;
    }
  }

  async tryAcquire(
    name: string,
    seats: Seats,
    terms: LeaseTerms,
    options: AcquireOptions | undefined,
  ): Promise<LockHandle | null> {
    try {
      return await this.#acquire(name, seats, terms, options, 0);
    } catch (error) {
      if (error instanceof AcquireTimeoutError) return null;
      throw error;
    }
  }

  async use<L extends LockHandle, T>(
    acquire: () => Promise<L>,
    work: (lock: L) => T | Promise<T>,
  ): Promise<T> {
    if (typeof work !== 'function') throw new TypeError(`work must be a function, got ${typeof work}`);
    const lock = await acquire();
    try {
      const link = { requester: this, lock, outer: chain.getStore() };
      const result = await chain.run(link, () => work(lock));
      if (!lock.isHeld) await throwLoss(lock);
      return result;
    } finally {
      await lock.release();
    }
  }

  inspect(name: string): Promise<LockSnapshot | null> {
    return this.#inspect(name);
  }

  #isHeldByChain(name: string): boolean {
    for (let link = chain.getStore(); link !== undefined; link = link.outer) {
      if (link.requester === this && link.lock.name === name && link.lock.isHeld) return true;
    }
    return false;
  }
}

/**
 * The work may have released the lock itself, on purpose: that is no loss. Nor is a suspended machine: such a hold is
 * asked for, and if nobody answers it was not known to be lost before the work ended.
 */
async function throwLoss(lock: LockHandle): Promise<void> {
  try {
    await lock.confirm();
  } catch (error) {
    if (error instanceof LockLostError && error.why !== 'released') throw error;
  }
}
