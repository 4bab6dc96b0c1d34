import { sleepUntil } from '../clock.js';
import type { Clock, Timer } from '../clock.js';
import type { Report } from '../events.js';
import type { LockCollection } from './lock-collection.js';

/** The pause between a grant and the build, in ms: the build must not compete with the first work under the lock. */
const DELAY_MS = 1_000;

/** How long `close` waits at most for an index build in progress, in ms. */
const CLOSE_MS = 500;

/** The pause after a failed build, in ms. The first grant after the pause starts another build. */
const RETRY_MS = 60_000;

/**
 * Creates the TTL index that purges unused lock documents, in the background after the first grant. The build waits for
 * long transactions, and other operations wait behind the build (E38). Locks are correct without the index, but unused
 * documents stay.
 */
export class PurgeIndex {
  readonly #collection: LockCollection;
  readonly #clock: Clock;
  readonly #report: Report;
  #nextTryMs = 0;
  #timer: Timer | undefined;
  #making: Promise<void> | undefined;

  constructor(collection: LockCollection, clock: Clock, report: Report) {
    this.#collection = collection;
    this.#clock = clock;
    this.#report = report;
  }

  /** Called at each grant if `createIndexes` is true. */
  wanted(): void {
    const nowMs = this.#clock.nowMs();
    if (this.#timer !== undefined || nowMs < this.#nextTryMs) return;
    this.#timer = this.#clock.at(nowMs + DELAY_MS, () => void this.#make());
  }

  /**
   * Starts a pending build now, because a program with a short life would otherwise never build the index. Waits for
   * the build for at most `CLOSE_MS`.
   */
  async close(): Promise<void> {
    if (this.#timer !== undefined) void this.#make();
    if (this.#making === undefined) return;
    const over = sleepUntil(this.#clock, this.#clock.nowMs() + CLOSE_MS);
    await Promise.race([this.#making, over]);
  }

  async #make(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    // No other build follows, unless this one fails.
    this.#nextTryMs = Infinity;
    this.#making = this.#collection.ensureIndex().then((outcome) => {
      this.#making = undefined;
      if (outcome.type === 'done') return;
      this.#nextTryMs = this.#clock.nowMs() + RETRY_MS;
      this.#report('indexError', { error: outcome.error });
    });
    await this.#making;
  }
}
