import type { Clock } from '../clock.js';

/**
 * The share of the time of the process that the views may take. To make the view of a filter, all locks are searched:
 * with 100,000 locks, that takes about 60 ms.
 */
const SHARE = 1 / 5;

/** The most time that is saved up for views, in ms. It allows many short searches at once. */
const MOST_SAVED_MS = 100;

/**
 * The saved time below which no view of a new filter is made, in ms. This time is reserved for the views that viewers
 * have already. So viewers that open one filter after another do not stop the other viewers.
 */
const RESERVED_MS = 50;

/**
 * A view is not made again before this many times the time that it takes to make all views has passed. So the known
 * views together take at most a seventh of the time, and the rest of `SHARE` is left for new filters.
 */
const ROUNDS_PER_VIEW = 7;

/**
 * A view that no viewer has asked for during this time, in ms, is forgotten. A viewer asks when the board has changed.
 * So the time is longer than the longest pause between two reads of the board while a change stream is open.
 */
const KEEP_MS = 5_000;

/** The most views that are kept: twice the most viewers. While so many views are kept, a new filter waits. */
const MAX_VIEWS = 200;

/** A view, and for how long it may have been outdated, in ms. The age is 0 if the board has not changed since. */
export interface Aged<V> {
  readonly view: V;
  readonly ageMs: number;
}

interface Kept<V> {
  readonly view: V;
  readonly madeAtMs: number;
  readonly tookMs: number;
  askedAtMs: number;
  isFresh: boolean;
}

/** What each filter shows. Viewers with the same filter share one view. With many filters, a view may be outdated. */
export class Views<V> {
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept<V>>();
  /** The time that searches may take now, in ms. After a long search, it is negative. */
  #savedMs = MOST_SAVED_MS;
  #savedAtMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#savedAtMs = clock.nowMs();
  }

  /**
   * Returns the view of the filter. `make` makes a view that is due, if there is time for it. Returns `undefined` if
   * the filter is new and has to wait.
   */
  of(filter: string, make: () => V): Aged<V> | undefined {
    const nowMs = this.#clock.nowMs();
    this.#save(nowMs);
    const known = this.#kept.get(filter);
    if (known !== undefined) {
      known.askedAtMs = nowMs;
      if (known.isFresh) return { view: known.view, ageMs: 0 };
      const dueAtMs = known.madeAtMs + ROUNDS_PER_VIEW * this.#roundMs;
      if (nowMs < dueAtMs || this.#savedMs <= 0) return { view: known.view, ageMs: nowMs - known.madeAtMs };
    } else if (this.#savedMs < RESERVED_MS || !this.#hasRoom(nowMs)) {
      return undefined;
    }
    const view = make();
    const madeAtMs = this.#clock.nowMs();
    const tookMs = madeAtMs - nowMs;
    this.#savedMs -= tookMs;
    this.#kept.set(filter, { view, madeAtMs, tookMs, askedAtMs: madeAtMs, isFresh: true });
    return { view, ageMs: 0 };
  }

  /** Called when the board has changed. */
  changed(): void {
    for (const kept of this.#kept.values()) kept.isFresh = false;
    this.#forget(this.#clock.nowMs());
  }

  clear(): void {
    this.#kept.clear();
  }

  #save(nowMs: number): void {
    this.#savedMs = Math.min(MOST_SAVED_MS, this.#savedMs + SHARE * (nowMs - this.#savedAtMs));
    this.#savedAtMs = nowMs;
  }

  #hasRoom(nowMs: number): boolean {
    if (this.#kept.size >= MAX_VIEWS) this.#forget(nowMs);
    return this.#kept.size < MAX_VIEWS;
  }

  #forget(nowMs: number): void {
    for (const [filter, { askedAtMs }] of this.#kept)
      if (nowMs - askedAtMs > KEEP_MS) this.#kept.delete(filter);
  }

  /** The sum of the times that it took to make each kept view, in ms. */
  get #roundMs(): number {
    let ms = 0;
    for (const { tookMs } of this.#kept.values()) ms += tookMs;
    return ms;
  }
}
