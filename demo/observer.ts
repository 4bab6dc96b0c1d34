import { monotonicMs, sleep } from '../benchmarks/worker-process.js';
import type { LeaseInfo, LockProvider } from '../src/index.js';
import { LOCK_NAME } from './messages.js';

/** Looks at the lock from outside, again and again, by the reads that `inspect` sends; keeps every lease it has seen. */
export class Observer {
  readonly #locks: LockProvider;
  readonly #seen = new Map<number, LeaseInfo>();
  /** How far the server's wall clock is ahead of the monotonic one. */
  #aheadMs = 0;

  constructor(locks: LockProvider) {
    this.#locks = locks;
  }

  async look(): Promise<void> {
    const snapshot = await this.#locks.inspect(LOCK_NAME);
    if (snapshot === null) return;
    this.#aheadMs = snapshot.asOf.getTime() - monotonicMs();
    // An extension may have been on its way when its sender was killed: the last look at a lease counts.
    for (const lease of snapshot.holders) this.#seen.set(lease.token, lease);
  }

  /** How much of this lease is left. */
  leftMs(token: number): number {
    const expiresMs = this.#seen.get(token)?.expiresAt.getTime() ?? 0;
    return Math.max(0, expiresMs - this.#aheadMs - monotonicMs());
  }

  /** From the end of one lease to the grant of another, by the server's clock; `undefined` if one was never seen. */
  gapMs(before: number, after: number): number | undefined {
    const ended = this.#seen.get(before);
    const began = this.#seen.get(after);
    if (ended === undefined || began === undefined) return undefined;
    return began.acquiredAt.getTime() - ended.expiresAt.getTime();
  }

  /** Looks until `until` is true. */
  async watch(until: () => boolean, everyMs: number): Promise<void> {
    while (!until()) {
      await this.look();
      await sleep(everyMs);
    }
  }
}
