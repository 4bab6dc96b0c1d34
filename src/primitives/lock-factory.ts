import { parseName } from '../options/checks.js';
import {
  parseLimit,
  parsePrimitiveOptions,
  parseSemaphoreOptions,
  refusePasses,
} from '../options/request-options.js';
import type { PrimitiveOptions, SemaphoreOptions } from '../options/request-options.js';
import { MutexFace } from './mutex.js';
import type { Mutex } from './mutex.js';
import { ReaderWriterLockFace } from './reader-writer-lock.js';
import type { ReaderWriterLock } from './reader-writer-lock.js';
import type { Requester } from './requester.js';
import { SemaphoreFace } from './semaphore.js';
import type { Semaphore } from './semaphore.js';

/** Makes the lock objects of one provider. Each method checks its arguments for the `create…` method that it names. */
export class LockFactory {
  readonly #requester: Requester;

  constructor(requester: Requester) {
    this.#requester = requester;
  }

  mutex(name: string, options: PrimitiveOptions | undefined): Mutex {
    const checkedName = parseName(name);
    const { settings } = this.#requester.context;
    const { durations, keeping } = parsePrimitiveOptions(settings, 'createMutex', options);
    return new MutexFace(this.#requester, checkedName, durations, keeping);
  }

  readerWriterLock(name: string, options: PrimitiveOptions | undefined): ReaderWriterLock {
    const checkedName = parseName(name);
    const { settings } = this.#requester.context;
    const { durations, keeping } = parsePrimitiveOptions(settings, 'createReaderWriterLock', options);
    refusePasses(keeping, 'a reader-writer lock, whose kept reads never pass a writer');
    return new ReaderWriterLockFace(this.#requester, checkedName, durations, keeping);
  }

  semaphore(name: string, limit: number, options: SemaphoreOptions | undefined): Semaphore {
    const checkedName = parseName(name);
    const { settings } = this.#requester.context;
    const parsed = parseSemaphoreOptions(settings, 'createSemaphore', options);
    return new SemaphoreFace(this.#requester, checkedName, parseLimit(limit), parsed);
  }
}
