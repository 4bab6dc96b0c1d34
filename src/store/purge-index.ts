import { sleepUntil } from '../clock.js';
import type { Clock, Timer } from '../clock.js';
import type { Report } from '../events.js';
import type { LockCollection } from './lock-collection.js';

/** Long enough that making the index does not compete with what the first lock was taken for. */
const DELAY_MS = 1_000;

/** How long closing waits for an index in the making. */
const CLOSE_MS = 500;

/** A failed index is tried again at the next grant after this long. */
const RETRY_MS = 60_000;

/**
 * Makes the index that purges unused lock documents, in the background after the first grant. Correctness must not
 * depend on it: without it documents stay, and that is all.
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

  /** A lock was granted: there is something to purge one day. */
  wanted(): void {
    const nowMs = this.#clock.nowMs();
    if (this.#timer !== undefined || nowMs < this.#nextTryMs) return;
    this.#timer = this.#clock.at(nowMs + DELAY_MS, () => void this.#make());
  }

  /**
   * Makes it now if it is still to come, because a process that never lives long would otherwise never do; but a close
   * does not wait for long.
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
    // Infinite: not again, unless it fails.
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
