import { LinkedController } from '../abort-listeners.js';
import type { Clock, Timer } from '../clock.js';
import type { Report } from '../events.js';
import type { Settings } from '../options/provider-options.js';
import { onlyClaims } from '../protocol/jobs/job-claims.js';
import { DocumentWatch } from '../store/streams/document-watch.js';
import type { LockCollection } from '../store/lock-collection.js';
import { readLeaders } from './leader-info.js';
import type { LeaderInfo, LeaderRead } from './leader-info.js';
import { LeaderIterator } from './leader-iterator.js';

interface Observed {
  readonly observers: Set<LeaderIterator>;
  readonly unwatch: () => void;
  /** `undefined` before the first read. */
  leader: LeaderInfo | null | undefined;
  /** The highest token seen. A read with a lower token is older, and is ignored. */
  token: number;
  /**
   * The local time at which the leader's lease and the transition of the election end, unless the lease is extended;
   * infinite if there is no leader, and before the first read. No event reports this end, so the leader is read again
   * at this time.
   */
  endsAtMs: number;
}

/**
 * Reads the leaders for all iterations over leaders of one provider (here called observers), with one command for all
 * observed elections. The leaders are read when an election gets its first observer, when the change stream reports
 * that a leader may have changed, and when the lease of a leader and the transition of its election end. While the
 * change stream does not cover all observed elections, and after a failed read, the leaders are read every
 * `pollMs.max`.
 */
export class LeaderWatch {
  readonly #collection: LockCollection;
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #closing: AbortSignal;
  readonly #watch: DocumentWatch;
  readonly #observed = new Map<string, Observed>();
  #isReading = false;
  #hasFailed = false;
  #mustReadAgain = false;
  #timer: Timer | undefined;

  constructor(
    collection: LockCollection,
    settings: Settings,
    clock: Clock,
    report: Report,
    closing: AbortSignal,
  ) {
    this.#collection = collection;
    this.#settings = settings;
    this.#clock = clock;
    this.#closing = closing;
    this.#watch = new DocumentWatch({ collection, settings, clock, report }, 0);
  }

  /**
   * Iterates over the leaders that the reads find, beginning with the present one. The iteration ends when `signal`
   * aborts or the provider closes.
   *
   * @param isAwaited - Whether a caller awaits each leader, so that the process has to stay alive.
   */
  observe(name: string, signal: AbortSignal | undefined, isAwaited: boolean): LeaderIterator {
    let over: LinkedController | undefined;
    const begin = (): void => {
      over = new LinkedController(this.#closing, signal);
      over.signal.addEventListener('abort', () => {
        observer.end();
      });
      if (over.signal.aborted) observer.end();
      else this.#add(name, observer);
    };
    const observer: LeaderIterator = new LeaderIterator(isAwaited, begin, () => {
      over?.unlink();
      this.#remove(name, observer);
    });
    return observer;
  }

  /** Whether the change stream of this watch is open. */
  get isStreaming(): boolean {
    return this.#watch.isOpen;
  }

  /** Called while the provider closes. Every iteration over leaders has ended before this call. */
  async close(): Promise<void> {
    this.#timer?.cancel();
    await this.#watch.close();
  }

  #add(name: string, observer: LeaderIterator): void {
    const known = this.#observed.get(name);
    if (known !== undefined) {
      known.observers.add(observer);
      if (known.leader !== undefined) observer.show(known.leader);
      return;
    }
    const changed = (words: readonly string[] | null): void => {
      // Jobs often claim instants and store how runs ended. Neither changes the leader.
      if (words === null || !onlyClaims(words)) this.#readLeaders();
    };
    this.#observed.set(name, {
      observers: new Set([observer]),
      unwatch: this.#watch.watch(name, { changed }),
      leader: undefined,
      token: 0,
      endsAtMs: Infinity,
    });
    this.#readLeaders();
  }

  #remove(name: string, observer: LeaderIterator): void {
    const known = this.#observed.get(name);
    known?.observers.delete(observer);
    if (known?.observers.size !== 0) return;
    this.#observed.delete(name);
    known.unwatch();
    if (this.#observed.size === 0) this.#timer?.cancel();
  }

  // ---- reading

  #readLeaders(): void {
    this.#mustReadAgain = this.#isReading;
    if (this.#isReading || this.#observed.size === 0 || this.#closing.aborted) return;
    this.#isReading = true;
    this.#timer?.cancel();
    void this.#readNow().finally(() => {
      this.#isReading = false;
      if (this.#mustReadAgain) this.#readLeaders();
      else this.#schedule();
    });
  }

  async #readNow(): Promise<void> {
    const sentAtMs = this.#clock.nowMs();
    const reads = await readLeaders(this.#collection, [...this.#observed.keys()]);
    // The event `storeError` has already reported a failed read. `#schedule` sets the next read after `pollMs.max`.
    this.#hasFailed = reads instanceof Error;
    if (!(reads instanceof Error)) for (const read of reads) this.#seen(read, sentAtMs);
  }

  #seen({ name, leader, leftMs }: LeaderRead, sentAtMs: number): void {
    const known = this.#observed.get(name);
    if (known === undefined || (leader !== null && leader.token < known.token)) return;
    known.endsAtMs = sentAtMs + leftMs;
    const isNews = known.leader === undefined || known.leader?.token !== leader?.token;
    known.leader = leader;
    known.token = leader?.token ?? known.token;
    if (isNews) for (const observer of known.observers) observer.show(leader);
  }

  #schedule(): void {
    if (this.#observed.size === 0 || this.#closing.aborted) return;
    const nowMs = this.#clock.nowMs();
    const { min, max } = this.#settings.pollMs;
    const endsAtMs = Math.min(...[...this.#observed.values()].map((known) => known.endsAtMs));
    const isTold = this.#watch.isStreaming && !this.#hasFailed;
    const dueMs = isTold ? Math.max(endsAtMs, nowMs + min) : nowMs + max;
    this.#timer?.cancel();
    // No observed election has a leader, so no lease will end. The stream reports each new leader.
    if (dueMs === Infinity) return;
    this.#timer = this.#clock.at(dueMs, () => {
      this.#readLeaders();
    });
  }
}
