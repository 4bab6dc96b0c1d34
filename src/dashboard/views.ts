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
 * have already, so viewers that open one filter after another do not stop the other viewers.
 */
const RESERVED_MS = 50;

/**
 * A view is kept for at least this many times as long as it takes to make all views that are not idle (`IDLE_MS`). So
 * these views together take at most a seventh of the time, and the rest of `SHARE` is left for new filters.
 */
const ROUNDS_PER_VIEW = 7;

/**
 * A view is idle if no viewer has asked for it during this time, in ms. Idle views are left out of the sum that delays
 * new views: a viewer that reads nothing must not delay the others. A viewer that takes its messages asks at least once
 * after each read of the feed. With a change stream, the feed pauses for at most `MAX_PAUSE_MS` of read-schedule.ts,
 * which is shorter than this time.
 */
const IDLE_MS = 5_000;

/**
 * A view, and for how long it may have been outdated, in ms. The age is 0 if the board has not changed since the view
 * was made.
 */
export interface Aged<V> {
  readonly view: V;
  readonly ageMs: number;
}

interface Kept<V> {
  readonly view: V;
  readonly madeAtMs: number;
  readonly tookMs: number;
  isFresh: boolean;
}

interface Filter<V> {
  viewers: number;
  /** When a viewer with the filter last asked, in ms of the clock. */
  askedAtMs: number;
  /** `undefined` before the first search. */
  kept: Kept<V> | undefined;
}

/**
 * What the filter of each connected viewer shows. Viewers with the same filter share one view. A view may be outdated,
 * because not every change of the board makes it anew.
 */
export class Views<V> {
  readonly #clock: Clock;
  readonly #filters = new Map<string, Filter<V>>();
  /** The time that searches may take now, in ms. After a long search, it may be negative. */
  #savedMs = MOST_SAVED_MS;
  #savedAtMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#savedAtMs = clock.nowMs();
  }

  /** Called when a viewer with this filter has connected. */
  join(filter: string): void {
    const known = this.#filters.get(filter);
    if (known === undefined) this.#filters.set(filter, { viewers: 1, askedAtMs: -Infinity, kept: undefined });
    else known.viewers += 1;
  }

  /** Called when a viewer that has joined leaves. After the last viewer with the filter, the view is dropped. */
  leave(filter: string): void {
    const known = this.#filters.get(filter);
    if (known === undefined) return;
    known.viewers -= 1;
    if (known.viewers === 0) this.#filters.delete(filter);
  }

  /**
   * Returns the view of the filter. Calls `make` if a new view is due and the saved time allows it. Returns `undefined`
   * if the filter waits for its first search, or if no viewer has joined with the filter.
   */
  of(filter: string, make: () => V): Aged<V> | undefined {
    const nowMs = this.#clock.nowMs();
    this.#save(nowMs);
    const known = this.#filters.get(filter);
    if (known === undefined) return undefined;
    const { kept } = known;
    const wasIdle = isIdle(known, nowMs);
    known.askedAtMs = nowMs;
    if (kept === undefined) {
      if (this.#savedMs < RESERVED_MS) return undefined;
    } else {
      if (kept.isFresh) return { view: kept.view, ageMs: 0 };
      const dueAtMs = kept.madeAtMs + ROUNDS_PER_VIEW * this.#roundMs(nowMs);
      // Idle views do not count in `#roundMs`. Without this condition, many of them could use up the time of new
      // filters.
      const mustWait = wasIdle && this.#isFirstSearchAwaited(nowMs);
      if (nowMs < dueAtMs || this.#savedMs <= 0 || mustWait)
        return { view: kept.view, ageMs: nowMs - kept.madeAtMs };
    }
    const view = make();
    const madeAtMs = this.#clock.nowMs();
    const tookMs = madeAtMs - nowMs;
    this.#savedMs -= tookMs;
    known.askedAtMs = madeAtMs;
    known.kept = { view, madeAtMs, tookMs, isFresh: true };
    return { view, ageMs: 0 };
  }

  /** Called when the board has changed. */
  changed(): void {
    for (const { kept } of this.#filters.values()) if (kept !== undefined) kept.isFresh = false;
  }

  #save(nowMs: number): void {
    this.#savedMs = Math.min(MOST_SAVED_MS, this.#savedMs + SHARE * (nowMs - this.#savedAtMs));
    this.#savedAtMs = nowMs;
  }

  /** How long it took to make all views that are not idle (`IDLE_MS`), in ms. */
  #roundMs(nowMs: number): number {
    let ms = 0;
    for (const filter of this.#filters.values()) if (!isIdle(filter, nowMs)) ms += filter.kept?.tookMs ?? 0;
    return ms;
  }

  #isFirstSearchAwaited(nowMs: number): boolean {
    return [...this.#filters.values()].some((filter) => filter.kept === undefined && !isIdle(filter, nowMs));
  }
}

const isIdle = ({ askedAtMs }: Filter<unknown>, nowMs: number): boolean => nowMs - askedAtMs > IDLE_MS;
