import type { LockProvider, LockProviderOptions, PrimitiveOptions } from '../../../src/index.js';
import type { ExclusiveLock, LockAdapter, ModeOfWaiting } from './adapters.js';
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

  constructor({ adapter, wakeups }: Subject, options: LockProviderOptions = {}) {
    super(wakeups, options);
    this.#adapter = adapter;
    this.#bystander = this.provider(this.database.plain);
  }

  /** An unused name, or this one, prepared by the adapter. */
  async name(name = this.freshName()): Promise<string> {
    await this.#adapter.prepare(this.#bystander, name);
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
