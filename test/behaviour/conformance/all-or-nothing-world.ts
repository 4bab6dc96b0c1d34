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

/** Two providers who want several locks at once. The database is their own, so names may be short. */
export class AllOrNothingWorld extends TwoProviders {
  readonly #told: string[] = [];

  /** What has happened to the locks of the first provider from now on, as `acquired a`, `released b` … */
  listen(): string[] {
    for (const event of ['acquired', 'released', 'lost', 'timeout'] as const) {
      this.here.on(event, ({ lockName }) => this.#told.push(`${event} ${lockName}`));
    }
    return this.#told;
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

  /** Mutexes of these names, in their order, of the first provider. */
  async takeHere(...names: readonly string[]): Promise<CompositeHandle<readonly { mutex: Mutex }[]>> {
    return await this.here.acquireAll(mutexes(this.here, names));
  }

  /** Which of these mutexes a try of the second provider gets now. What it gets is given back at once. */
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
