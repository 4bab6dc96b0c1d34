import type { LockProvider, LockProviderOptions, Semaphore, SemaphoreOptions } from '../../../src/index.js';
import type { ModeOfWaiting } from './adapters.js';
import { TwoProviders } from './two-providers.js';
import type { Started, Waits } from './two-providers.js';

/** One unused semaphore, opened by two providers. */
export class SemaphoreWorld extends TwoProviders {
  readonly name: string = this.freshName();
  readonly permitsHere: Semaphore;
  readonly permitsThere: Semaphore;
  readonly #limit: number;

  constructor(wakeups: ModeOfWaiting, limit: number, options?: LockProviderOptions) {
    super(wakeups, options);
    this.#limit = limit;
    this.permitsHere = this.open(this.here);
    this.permitsThere = this.open(this.there);
  }

  /** A new semaphore object, with the common limit or with this one. */
  open(locks: LockProvider, limit = this.#limit, options?: SemaphoreOptions): Semaphore {
    return locks.createSemaphore(this.name, limit, options);
  }

  async queueUp<const W extends Waits>(...waits: W): Promise<Started<W>> {
    return await this.queueUpIn(this.name, waits);
  }

  async untilWaiting(count: number): Promise<void> {
    await this.untilWaitingIn(this.name, count);
  }
}
