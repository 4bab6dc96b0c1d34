import type { LockHandle, LockProvider, LockProviderOptions } from '../../../src/index.js';
import { OwnDatabase, randomName } from '../../support/test-provider.js';
import type { OwnClient } from '../../support/test-provider.js';
import { later } from '../../../lab/patience.js';
import { simulatedStore } from '../../support/simulated-store.js';
import type { ModeOfWaiting } from './adapters.js';
import { countWaiters, untilWaiting } from '../../support/waiters.js';

export type Waits = readonly (() => Promise<unknown>)[];

/** What these calls returned. */
export type Started<W extends Waits> = { readonly [I in keyof W]: ReturnType<W[I]> };

/** How the locks of one run of a primitive's own suites are used. */
export interface OwnSubject {
  readonly wakeups: ModeOfWaiting;
  /** Whether both processes keep their seats between their callers. */
  readonly keeps: boolean;
}

export interface Mortal {
  readonly locks: LockProvider;
  readonly die: () => Promise<void>;
}

/** A database of its own with two providers, each on a client of its own, as two processes would have them. */
export class TwoProviders implements AsyncDisposable {
  readonly database = new OwnDatabase();
  readonly hereClient: OwnClient;
  readonly thereClient: OwnClient;
  readonly here: LockProvider;
  readonly there: LockProvider;
  readonly wakeups: ModeOfWaiting;
  readonly #options: LockProviderOptions;

  constructor(wakeups: ModeOfWaiting, options: LockProviderOptions = {}) {
    this.wakeups = wakeups;
    // The lease is so long that a waiter without a wake-up does not find its grant by chance when it extends its place.
    // Creating the index takes longer than most tests, so only the suite about it does. A process that runs many tests at
    // once on a busy machine may hear an answer later than the default allows.
    this.#options = {
      ...{ wakeups, leaseMs: 60_000, storeTimeoutMs: 20_000, createIndexes: false },
      ...options,
    };
    this.hereClient = this.database.client();
    this.thereClient = this.database.client();
    this.here = this.provider(this.hereClient);
    this.there = this.provider(this.thereClient);
  }

  /** One more provider like these two, except for these options. */
  provider(client: OwnClient = this.database.client(), options: LockProviderOptions = {}): LockProvider {
    return client.provider({ ...this.#options, ...options });
  }

  /** A provider that can end like a killed process: without a command to the server. */
  mortal(leaseMs: number): Mortal {
    const client = this.database.client();
    return {
      locks: this.provider(client, { leaseMs }),
      die: () => client.die(),
    };
  }

  /** An unused lock name. */
  freshName(): string {
    return randomName('lock');
  }

  /** How many requests wait in this document now, as `inspect` shows. */
  async countWaitersIn(document: string): Promise<number> {
    return await countWaiters(this.here, document);
  }

  async untilWaitingIn(document: string, count: number): Promise<void> {
    await untilWaiting(this.here, document, count);
  }

  /**
   * Starts these waits one after the other, each when the one before is in the queue of this document. With
   * `untilQueued`, a request that is granted at once is released and sent again, until it is queued.
   */
  async queueUpIn<const W extends Waits>(
    document: string,
    waits: W,
    untilQueued = false,
  ): Promise<Started<W>> {
    const before = await this.countWaitersIn(document);
    const started: Promise<unknown>[] = [];
    for (const wait of waits) {
      let maySendAgain = untilQueued;
      const waitAgain = async (): Promise<unknown> => {
        for (;;) {
          const granted = await wait();
          if (!maySendAgain) return granted;
          await (granted as LockHandle).release();
        }
      };
      started.push(later(untilQueued ? waitAgain() : wait()));
      await this.untilWaitingIn(document, before + started.length);
      maySendAgain = false;
    }
    return started as Started<W>;
  }

  /** Deletes these documents without the library. */
  async destroyDocuments(names: readonly string[]): Promise<void> {
    simulatedStore?.tampered(this.database.name);
    const documents = this.database.plain.db.collection<{ _id: string }>('distributed.locks');
    const { deletedCount } = await documents.deleteMany({ _id: { $in: names } });
    if (deletedCount === 0) throw new Error(`there is no document of lock ${names.join(', ')}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database[Symbol.asyncDispose]();
  }
}
