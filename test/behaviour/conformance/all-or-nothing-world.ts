import type {
  CompositeHandle,
  LockProvider,
  LockRequest,
  Mutex,
  ReaderWriterLock,
  Semaphore,
} from '../../../src/index.js';
import { TwoProviders } from './two-providers.js';

/** A lock of each kind, of one provider; their names are in the order of the fields. */
export interface Kinds {
  readonly mutex: Mutex;
  readonly read: ReaderWriterLock;
  readonly semaphore: Semaphore;
  readonly upgradeableRead: ReaderWriterLock;
  readonly write: ReaderWriterLock;
}

/** Two providers that acquire several locks at once. The database is their own, so names may be short. */
export class AllOrNothingWorld extends TwoProviders {
  readonly #events: string[] = [];

  /** The events of the first provider's locks from now on, as `acquired a`, `released b` … */
  listen(): string[] {
    for (const event of ['acquired', 'released', 'lost', 'timeout'] as const) {
      this.here.on(event, ({ lockName }) => this.#events.push(`${event} ${lockName}`));
    }
    return this.#events;
  }

  kindsOf(locks: LockProvider): Kinds {
    return {
      mutex: locks.createMutex('a mutex'),
      read: locks.createReaderWriterLock('read'),
      semaphore: locks.createSemaphore('semaphore', 3),
      upgradeableRead: locks.createReaderWriterLock('upgradeable'),
      write: locks.createReaderWriterLock('write'),
    };
  }

  /** Acquires the mutexes of these names, in this order, by the first provider. */
  async takeHere(...names: readonly string[]): Promise<CompositeHandle<readonly { mutex: Mutex }[]>> {
    return await this.here.acquireAll(mutexes(this.here, names));
  }

  /** Which of these mutexes a try of the second provider is granted now. Each grant is released at once. */
  async freeOf(...names: readonly string[]): Promise<readonly string[]> {
    const free: string[] = [];
    for (const name of names) {
      const hold = await this.there.tryAcquireMutex(name);
      if (hold === null) continue;
      free.push(name);
      await hold.release();
    }
    return free;
  }
}

export const mutexes = (
  locks: LockProvider,
  names: readonly string[],
): readonly (LockRequest & { readonly mutex: Mutex })[] =>
  names.map((name) => ({ mutex: locks.createMutex(name) }));
