import type { Hold, LockProvider, LockProviderOptions, PrimitiveOptions } from '../../../src/index.js';
import { eventually } from '../../../lab/patience.js';
import type { ExclusiveLock, LockAdapter, ModeOfWaiting } from './adapters.js';
import { untilKeeping } from './keeping.js';
import { TwoProviders } from './two-providers.js';

/** The primitive and the mode of waiting that a suite is run for. */
export interface Subject {
  readonly adapter: LockAdapter;
  readonly wakeups: ModeOfWaiting;
}

/** Two providers that use one primitive as a mutex. */
export class LockWorld extends TwoProviders {
  readonly #adapter: LockAdapter;
  readonly #bystander: LockProvider;
  #keeping: Promise<void> | undefined;

  constructor({ adapter, wakeups }: Subject, options: LockProviderOptions = {}) {
    super(wakeups, options);
    this.#adapter = adapter;
    this.#bystander = this.provider(this.database.plain);
  }

  /** An unused name, or this one, prepared by the adapter. */
  async name(name = this.freshName()): Promise<string> {
    await this.#adapter.prepare(this.#bystander, name);
    if (this.#adapter.keeps) await (this.#keeping ??= untilKeeping(this));
    return name;
  }

  /** A new lock object of the first provider. */
  openHere(name: string, options?: PrimitiveOptions): ExclusiveLock {
    return this.#adapter.open(this.here, name, options);
  }

  /** A new lock object of the second provider. */
  openThere(name: string, options?: PrimitiveOptions): ExclusiveLock {
    return this.#adapter.open(this.there, name, options);
  }

  /** Expects that the second provider can take the lock, and returns its hold. */
  async expectFree(name: string): Promise<Hold> {
    const lock = this.openThere(name);
    // The first try makes a process give back the seat that it keeps, so a later try may be granted.
    if (this.#adapter.keeps) return await eventually('the lock is free', () => lock.tryAcquire());
    const hold = await lock.tryAcquire();
    if (hold === null) throw new Error(`lock ${name} is busy`);
    return hold;
  }

  /** How many requests wait for the lock now, as `inspect` shows. */
  async countWaiters(name: string): Promise<number> {
    return await this.countWaitersIn(this.#adapter.documentsOf(name)[0]);
  }

  async untilWaiting(name: string, count: number): Promise<void> {
    await this.untilWaitingIn(this.#adapter.documentsOf(name)[0], count);
  }

  /** Deletes the lock's documents without the library. */
  async destroy(name: string): Promise<void> {
    await this.destroyDocuments(this.#adapter.documentsOf(name));
  }
}
