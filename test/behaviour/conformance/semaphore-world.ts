import { expect } from 'vitest';

import type { LockProvider, LockProviderOptions, Semaphore, SemaphoreOptions } from '../../../src/index.js';
import { eventually } from '../../../lab/patience.js';
import { KEEP_MS } from './adapters.js';
import { untilKeeping } from './keeping.js';
import { TwoProviders } from './two-providers.js';
import type { OwnSubject, Started, Waits } from './two-providers.js';

/** How many tokens one grant of kept permits reserves. */
const TOKENS_OF_KEPT_PERMITS = 16;

/**
 * One unused semaphore, opened by two providers.
 *
 * If they keep their permits, three things differ, and nothing else. Permits that are kept idle count as taken until a
 * request that they keep out makes their process give them back. A grant reserves several tokens. And a request that is
 * granted by kept permits asks no server, so its object does not learn the limit.
 */
export class SemaphoreWorld extends TwoProviders {
  readonly name: string = this.freshName();
  readonly permitsHere: Semaphore;
  readonly permitsThere: Semaphore;
  /** By how much the token of a grant is above that of the grant before it, if one update gives both. */
  readonly tokensPerGrant: number;
  readonly #limit: number;
  readonly #keeps: boolean;
  readonly #bystander = this.provider();

  private constructor({ wakeups, keeps }: OwnSubject, limit: number, options?: LockProviderOptions) {
    super(wakeups, options);
    this.#limit = limit;
    this.#keeps = keeps;
    this.tokensPerGrant = keeps ? TOKENS_OF_KEPT_PERMITS : 1;
    this.permitsHere = this.open(this.here);
    this.permitsThere = this.open(this.there);
  }

  static async opened(
    subject: OwnSubject,
    limit: number,
    options?: LockProviderOptions,
  ): Promise<SemaphoreWorld> {
    const world = new SemaphoreWorld(subject, limit, options);
    if (subject.keeps) await untilKeeping(world);
    return world;
  }

  /** A new semaphore object, with the common limit or with this one. */
  open(locks: LockProvider, limit = this.#limit, options?: SemaphoreOptions): Semaphore {
    return locks.createSemaphore(this.name, limit, {
      ...(this.#keeps ? { keepMs: KEEP_MS } : {}),
      ...options,
    });
  }

  async queueUp<const W extends Waits>(...waits: W): Promise<Started<W>> {
    return await this.queueUpIn(this.name, waits);
  }

  async untilWaiting(count: number): Promise<void> {
    await this.untilWaitingIn(this.name, count);
  }

  /** Expects that so many permits are free; those that are kept idle count as free. */
  async expectAvailable(count: number): Promise<void> {
    if (this.#keeps) await eventually('idle permits are given back', () => this.#areAvailable(count));
    expect(await this.permitsHere.available()).toBe(count);
    expect(await this.permitsThere.available()).toBe(count);
  }

  /** Tries to take all permits, so that every process gives back those that it keeps idle. */
  async #areAvailable(count: number): Promise<boolean> {
    const { limit = this.#limit } = (await this.permitsHere.inspect()) ?? {};
    const all = await this.#bystander.createSemaphore(this.name, limit).tryAcquire({ permits: limit });
    await all?.release();
    return (await this.permitsHere.available()) === count;
  }
}
