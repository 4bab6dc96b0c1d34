import { inject } from 'vitest';

import type { LockProvider, LockProviderOptions, PrimitiveOptions } from '../../src/index.js';
import { OwnDatabase, randomName } from '../support/own-database.js';
import type { OwnClient } from '../support/own-database.js';
import { eventually } from '../support/patience.js';
import type { ExclusiveLock, LockAdapter, ModeOfWaiting } from './adapters.js';

/** What a suite is run for. */
export interface Subject {
  readonly adapter: LockAdapter;
  readonly wakeups: ModeOfWaiting;
}

/** A database of its own with two providers, each on a client of its own, as two processes would have them. */
export class LockWorld implements AsyncDisposable {
  readonly database = new OwnDatabase(inject('mongoUri'));
  readonly hereClient: OwnClient;
  readonly thereClient: OwnClient;
  readonly here: LockProvider;
  readonly there: LockProvider;
  readonly #adapter: LockAdapter;
  readonly #options: LockProviderOptions;
  readonly #bystander: LockProvider;

  constructor({ adapter, wakeups }: Subject, options: LockProviderOptions = {}) {
    this.#adapter = adapter;
    // A lease so long that a waiter who is not woken does not find its grant by chance, when it extends its place. And
    // making the index takes longer than most tests; the suite about it asks for it.
    this.#options = { wakeups, leaseMs: 60_000, createIndexes: false, ...options };
    this.hereClient = this.database.client();
    this.thereClient = this.database.client();
    this.here = this.provider(this.hereClient);
    this.there = this.provider(this.thereClient);
    this.#bystander = this.provider(this.database.plain);
  }

  provider(client: OwnClient, options: LockProviderOptions = {}): LockProvider {
    return client.provider({ ...this.#options, ...options });
  }

  /** A name that nobody has used, or this one, made ready for the adapter. */
  async name(name = randomName('lock')): Promise<string> {
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

  /** How many wait for the lock now, by a look from outside. */
  async countWaiters(name: string): Promise<number> {
    const snapshot = await this.here.inspect(this.#adapter.documentsOf(name)[0]);
    return snapshot?.waiters.length ?? 0;
  }

  async untilWaiting(name: string, count: number): Promise<void> {
    await eventually(`${count} waiting`, async () => (await this.countWaiters(name)) === count);
  }

  /** Deletes the lock's documents behind its back. */
  async destroy(name: string): Promise<void> {
    const documents = this.database.plain.db.collection<{ _id: string }>('distributed.locks');
    const { deletedCount } = await documents.deleteMany({ _id: { $in: this.#adapter.documentsOf(name) } });
    if (deletedCount === 0) throw new Error(`there is no document of lock ${name}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database[Symbol.asyncDispose]();
  }
}
