import type { Clock } from '../clock.js';

/**
 * To make the view of a filter, all locks are searched: with 100,000 locks, that takes about 60 ms. So a view is kept
 * for at least this many times as long as it takes to make all views. The views then take at most a fifth of the time
 * of the process.
 */
const ROUNDS_PER_VIEW = 5;

/**
 * When the board changes, a view that no viewer has asked for during this time, in ms, is forgotten. A viewer that
 * asks for it after that gets a new view.
 */
const KEEP_MS = 10_000;

/** The most views that are kept. A new one replaces the oldest one. */
const MAX_VIEWS = 200;

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

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the view of the filter. Calls `make` if no view is kept, or an outdated one has been kept long enough. */
  of(filter: string, make: () => V): V {
    const nowMs = this.#clock.nowMs();
    const known = this.#kept.get(filter);
    if (known !== undefined) {
      known.askedAtMs = nowMs;
      if (known.isFresh || nowMs < known.madeAtMs + ROUNDS_PER_VIEW * this.#roundMs) return known.view;
      this.#kept.delete(filter);
    }
    const view = make();
    const madeAtMs = this.#clock.nowMs();
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size >= MAX_VIEWS) this.#kept.delete(oldest);
    this.#kept.set(filter, { view, madeAtMs, tookMs: madeAtMs - nowMs, askedAtMs: madeAtMs, isFresh: true });
    return view;
  }

  /** Called when the board has changed. */
  changed(): void {
    const nowMs = this.#clock.nowMs();
    for (const [filter, kept] of this.#kept) {
      kept.isFresh = false;
      if (nowMs - kept.askedAtMs > KEEP_MS) this.#kept.delete(filter);
    }
  }

  clear(): void {
    this.#kept.clear();
  }

  /** How long it took to make all views. */
  get #roundMs(): number {
    let ms = 0;
    for (const { tookMs } of this.#kept.values()) ms += tookMs;
    return ms;
  }
}
