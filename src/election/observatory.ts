import type { Document } from 'mongodb';
import { within } from '../clock.js';
import type { Clock, Timer } from '../clock.js';
import type { Report } from '../events.js';
import type { Settings } from '../options/provider-options.js';
import { AWAIT_MS } from '../store/lock-collection.js';
import type { LockCollection } from '../store/lock-collection.js';
import { WakeCursor } from '../store/wake-cursor.js';
import { readLeaders } from './leader-info.js';
import type { LeaderInfo, LeaderRead } from './leader-info.js';
import { Observer } from './observer.js';

/** What is known of one election that somebody observes. */
interface Observed {
  readonly observers: Set<Observer>;
  /** Nothing before the first look. */
  leader: LeaderInfo | null | undefined;
  /** The highest token seen: a read that shows an older one was late. */
  token: number;
  /** When the seat ends unless it is extended: whoever falls silent causes no event. */
  endsAtMs: number;
}

const MAX_REOPEN_PAUSE_MS = 1_000;

/**
 * Whoever observes elections through one provider: one change stream over their documents says when to look, and one
 * read looks at all of them. Where there is no stream, or not just now, it looks at the pace of polling.
 */
export class Observatory {
  readonly #collection: LockCollection;
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #report: Report;
  readonly #closing: AbortSignal;
  readonly #observed = new Map<string, Observed>();
  #cursor: WakeCursor | undefined;
  #isStreaming = false;
  #answeredAtMs = 0;
  #failures = 0;
  #isLooking = false;
  #mustLookAgain = false;
  #timer: Timer | undefined;
  #reopening: Timer | undefined;
  readonly #ending = new Set<Promise<void>>();

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
    this.#report = report;
    this.#closing = closing;
  }

  /** The leader of now, then every next one that a look finds; ends when either signal aborts. */
  async *observe(name: string, signal: AbortSignal | undefined): AsyncGenerator<LeaderInfo | null> {
    const observer = new Observer();
    const end = (): void => {
      observer.end();
    };
    const signals = signal === undefined ? [this.#closing] : [this.#closing, signal];
    for (const each of signals) each.addEventListener('abort', end, { once: true });
    try {
      if (signals.some(({ aborted }) => aborted)) return;
      this.#add(name, observer);
      for (let next = await observer.next(); next !== undefined; next = await observer.next()) yield next;
    } finally {
      for (const each of signals) each.removeEventListener('abort', end);
      this.#remove(name, observer);
    }
  }

  /** When the provider has closed, and so every observer has ended. */
  async close(): Promise<void> {
    this.#rest();
    await within(this.#clock, this.#settings.storeTimeoutMs, Promise.allSettled(this.#ending));
  }

  #add(name: string, observer: Observer): void {
    const known = this.#observed.get(name);
    if (known !== undefined) {
      known.observers.add(observer);
      if (known.leader !== undefined) observer.show(known.leader);
      return;
    }
    this.#observed.set(name, {
      observers: new Set([observer]),
      leader: undefined,
      token: 0,
      endsAtMs: Infinity,
    });
    // The stream is over the documents that are observed when it opens.
    this.#failures = 0;
    void this.#reopen();
    this.#look();
  }

  #remove(name: string, observer: Observer): void {
    const known = this.#observed.get(name);
    known?.observers.delete(observer);
    if (known?.observers.size !== 0) return;
    this.#observed.delete(name);
    if (this.#observed.size === 0) this.#rest();
  }

  #rest(): void {
    this.#timer?.cancel();
    this.#reopening?.cancel();
    this.#discardCursor();
  }

  // ---- looking

  #look(): void {
    this.#mustLookAgain = this.#isLooking;
    if (this.#isLooking || this.#observed.size === 0 || this.#closing.aborted) return;
    this.#isLooking = true;
    this.#timer?.cancel();
    void this.#lookNow().finally(() => {
      this.#isLooking = false;
      if (this.#mustLookAgain) this.#look();
      else this.#schedule();
    });
  }

  async #lookNow(): Promise<void> {
    const sentAtMs = this.#clock.nowMs();
    const reads = await readLeaders(this.#collection, [...this.#observed.keys()]);
    // Told as an event by the collection; the next look comes at the pace of polling.
    if (reads instanceof Error) this.#isStreaming = false;
    else for (const read of reads) this.#seen(read, sentAtMs);
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
    const silentAtMs = this.#answeredAtMs + AWAIT_MS + this.#settings.storeTimeoutMs;
    const endsAtMs = Math.min(...[...this.#observed.values()].map((known) => known.endsAtMs));
    const dueMs = this.#isStreaming
      ? Math.min(Math.max(endsAtMs, nowMs + this.#settings.pollMs.min), Math.max(silentAtMs, nowMs))
      : nowMs + this.#settings.pollMs.max;
    this.#timer?.cancel();
    this.#timer = this.#clock.at(dueMs, () => {
      this.#due();
    });
  }

  #due(): void {
    const silentAtMs = this.#answeredAtMs + AWAIT_MS + this.#settings.storeTimeoutMs;
    const nowMs = this.#clock.nowMs();
    if (this.#isStreaming && nowMs >= silentAtMs) this.#trouble(new Error('the change stream fell silent'));
    const isAnyOver = [...this.#observed.values()].some(({ endsAtMs }) => endsAtMs <= nowMs);
    if (isAnyOver || !this.#isStreaming) this.#look();
    else this.#schedule();
  }

  // ---- the stream

  async #reopen(): Promise<void> {
    this.#discardCursor();
    if (this.#settings.wakeups === 'polling') return;
    const server = await this.#collection.meet();
    if (this.#observed.size === 0 || this.#closing.aborted) return;
    if (server.type === 'done' && !server.value.hasChangeStreams) return;
    // Another one may have opened it meanwhile, and with fewer names.
    this.#discardCursor();
    try {
      this.#open();
    } catch (error) {
      this.#trouble(error);
    }
  }

  #open(): void {
    const cursor: WakeCursor = new WakeCursor(this.#collection, changesOf([...this.#observed.keys()]), {
      answered: () => {
        if (this.#cursor !== cursor) return;
        this.#answeredAtMs = this.#clock.nowMs();
        if (this.#isStreaming) return;
        this.#isStreaming = true;
        this.#failures = 0;
        // What happened before is not known.
        this.#look();
      },
      event: () => {
        if (this.#cursor === cursor) this.#look();
      },
      trouble: (error) => {
        if (this.#cursor === cursor) this.#trouble(error);
      },
    });
    this.#cursor = cursor;
  }

  /** A stream is never resumed: a fresh one, and a look once it is open (E13). */
  #trouble(error: unknown): void {
    this.#discardCursor();
    if (this.#observed.size === 0 || this.#closing.aborted) return;
    this.#report('storeError', { lockName: null, during: 'stream', error });
    const pauseMs = Math.min(MAX_REOPEN_PAUSE_MS, 25 * 2 ** this.#failures) * (0.5 + Math.random() / 2);
    this.#failures = Math.min(this.#failures + 1, 10);
    this.#reopening?.cancel();
    this.#reopening = this.#clock.at(this.#clock.nowMs() + pauseMs, () => void this.#reopen());
    this.#look();
  }

  #discardCursor(): void {
    this.#isStreaming = false;
    if (this.#cursor === undefined) return;
    const ended = this.#cursor.close().catch(() => undefined);
    this.#cursor = undefined;
    this.#ending.add(ended);
    void ended.finally(() => this.#ending.delete(ended));
  }
}

const changesOf = (names: readonly string[]): Document[] => [
  {
    $match: {
      $or: [
        { 'documentKey._id': { $in: names } },
        { operationType: { $nin: ['insert', 'update', 'replace', 'delete'] } },
      ],
    },
  },
  { $project: { operationType: 1 } },
];
