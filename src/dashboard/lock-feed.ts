import type { Document } from 'mongodb';
import type { Inspector, StoredLock } from '../admin/inspector.js';
import { sleepUntil } from '../clock.js';
import { idGivenBack, idsToldToLook, readWake } from '../protocol/wake.js';
import { WAKE_OF_EVENT } from '../store/streams/stream-cursor.js';
import type { StreamContext } from '../store/streams/stream-cursor.js';
import { StreamSupervisor } from '../store/streams/stream-supervisor.js';
import type { Board } from './board.js';
import type { HandOverRate } from './hand-over-rate.js';
import { AFTER_FAILURES, COLLECT_MS, LOOK_EVERY_MS, nextPollMs, nextReadMs } from './read-schedule.js';
import type { BoardState } from './wire.js';

/** The most locks that one command reads by their names. */
const MAX_NAMES = 500;

/** Matches a word of `wake` that reports a grant to a waiter, or a granted upgrade. */
const GRANT = /^[^-~+].*:[^:]+:[1-9]\d*$/;

/**
 * Keeps a board up to date from `start` to `stop`. Reads all locks once, and then each lock for which a change stream
 * over the collection reports a change. After a gap in the stream, reads all locks again. If the stream is refused,
 * polls: reads all locks again and again.
 */
export class LockFeed {
  readonly #context: StreamContext;
  readonly #inspector: Pick<Inspector, 'readStored' | 'pageStored'>;
  readonly #board: Board;
  readonly #rate: HandOverRate;
  readonly #changed: () => void;
  readonly #stream: StreamSupervisor;
  readonly #isDirty = new Set<string>();
  #over: AbortController | undefined;
  /**
   * Aborts when a change is reported, when all locks have to be read again, or at `stop`. The abort ends the part of a
   * pause in which the feed only waits for a change.
   */
  #nap = new AbortController();
  #state: BoardState = 'connecting';
  /** Why the change stream was refused; `undefined` if it was not. While this is set, the feed polls. */
  #pollingWhy: string | undefined;
  #isStreaming = false;
  #mustReadAll = false;
  /**
   * Since when the board does not follow the store; while the feed polls, the time of the last read. `undefined` in the
   * states `connecting` and `live`.
   */
  #outdatedSinceMs: number | undefined;
  #failures = 0;
  /**
   * How far the server's clock is ahead of the monotonic clock of this process, in ms. Until a read has found a lock,
   * the wall clock stands in for the server's clock.
   */
  #aheadMs: number;

  /** @param changed - Called when there may be something new to show. */
  constructor(
    context: StreamContext,
    inspector: Pick<Inspector, 'readStored' | 'pageStored'>,
    board: Board,
    rate: HandOverRate,
    changed: () => void,
  ) {
    this.#context = context;
    this.#inspector = inspector;
    this.#board = board;
    this.#rate = rate;
    this.#changed = changed;
    this.#aheadMs = context.clock.wallMs() - context.clock.nowMs();
    this.#stream = new StreamSupervisor(context, {
      pipeline: () => [{ $project: { operationType: 1, documentKey: 1, wake: WAKE_OF_EVENT } }],
      isEnough: () => true,
      opened: () => {
        if (this.#over === undefined) return;
        this.#isStreaming = true;
        this.#pollingWhy = undefined;
        this.#readAllSoon();
      },
      event: this.#event.bind(this),
      lost: () => {
        this.#isStreaming = false;
        this.#become('unavailable');
      },
      refused: (error) => {
        this.#isStreaming = false;
        this.#pollingWhy = error instanceof Error ? error.message : String(error);
        this.#readAllSoon();
      },
    });
  }

  get state(): BoardState {
    return this.#state;
  }

  get why(): string | undefined {
    return this.#state === 'polling' ? this.#pollingWhy : undefined;
  }

  /**
   * For how long the board has not followed the store, in ms; while the feed polls, the time since the last read. 0
   * in the states `connecting` and `live`.
   */
  get outdatedMs(): number {
    return this.#outdatedSinceMs === undefined ? 0 : this.#context.clock.nowMs() - this.#outdatedSinceMs;
  }

  /** The estimated time of the server. */
  get serverNowMs(): number {
    return this.#context.clock.nowMs() + this.#aheadMs;
  }

  start(): void {
    if (this.#over !== undefined) return;
    const over = new AbortController();
    this.#over = over;
    this.#state = 'connecting';
    this.#outdatedSinceMs = undefined;
    // A stream that has not ended since `stop` goes on, and reports no opening. The first read then reads all locks.
    this.#isStreaming = this.#stream.state === 'streaming';
    this.#mustReadAll = this.#isStreaming || this.#pollingWhy !== undefined;
    this.#stream.join();
    void this.#run(over.signal);
  }

  /** Lets the stream end, and ignores a read that is under way. `start` may follow. */
  stop(): void {
    this.#over?.abort();
    this.#over = undefined;
    this.#nap.abort();
    this.#stream.leave(0);
    this.#isStreaming = false;
    this.#isDirty.clear();
  }

  /** Ends for good. Resolves when the server's cursor is closed, at the latest after `storeTimeoutMs`. */
  async close(): Promise<void> {
    this.stop();
    await this.#stream.close();
  }

  async #run(over: AbortSignal): Promise<void> {
    const { clock } = this.#context;
    const isOver = (): boolean => over.aborted;
    while (!isOver()) {
      const startedMs = clock.nowMs();
      try {
        await this.#read(over);
        this.#failures = 0;
      } catch {
        // The provider has reported the error as an event.
        this.#failures += 1;
        this.#mustReadAll ||= this.#pollingWhy !== undefined || this.#isStreaming;
        if (!isOver()) this.#become('unavailable');
      }
      if (!isOver()) await this.#pause(startedMs, over);
    }
  }

  async #read(over: AbortSignal): Promise<void> {
    if (this.#mustReadAll) await this.#readAll(over);
    else await this.#readDirty(over);
  }

  /**
   * Reads the locks that have changed, and those of which a lease or a place has run out, `MAX_NAMES` at a time. If a
   * change of a lock is reported during the call, and the call does not read the lock after that, the next call does.
   */
  async #readDirty(over: AbortSignal): Promise<void> {
    for (const name of this.#board.endedBy(this.serverNowMs)) this.#isDirty.add(name);
    const dirty = [...this.#isDirty];
    for (let at = 0; at < dirty.length && !over.aborted && !this.#mustReadAll; at += MAX_NAMES)
      await this.#readThese(dirty.slice(at, at + MAX_NAMES), over);
    // Viewers get one message for a read, however many commands it takes.
    if (dirty.length > 0) this.#changed();
  }

  async #readThese(names: readonly string[], over: AbortSignal): Promise<void> {
    const sentAtMs = this.#context.clock.nowMs();
    for (const name of names) this.#isDirty.delete(name);
    let found: readonly StoredLock[];
    try {
      found = await this.#inspector.readStored(names);
    } catch (error) {
      for (const name of names) this.#isDirty.add(name);
      throw error;
    }
    if (over.aborted) return;
    this.#learnTime(found[0]?.asOf, sentAtMs);
    const stored = new Set(found.map(({ name }) => name));
    for (const name of names) if (!stored.has(name)) this.#board.remove(name);
    // If a gap in the stream has begun meanwhile, changes of these locks may be in no event, so the read is not
    // gapless.
    this.#board.put(found, this.#isStreaming && !this.#mustReadAll);
  }

  /** Reads all locks, page by page. A later call of `#read` reads the locks whose changes are reported meanwhile. */
  async #readAll(over: AbortSignal): Promise<void> {
    this.#mustReadAll = false;
    this.#isDirty.clear();
    const seen = new Set<string>();
    for (let after: string | null = null; ;) {
      const sentAtMs = this.#context.clock.nowMs();
      const page = await this.#inspector.pageStored(after);
      if (over.aborted) return;
      const last = page.at(-1);
      if (last === undefined) break;
      this.#learnTime(last.asOf, sentAtMs);
      this.#board.put(page, false);
      for (const { name } of page) seen.add(name);
      after = last.name;
    }
    this.#board.keepOnly(seen);
    if (this.#isStreaming) this.#become('live');
    else this.#become(this.#pollingWhy === undefined ? 'unavailable' : 'polling');
  }

  async #pause(startedMs: number, over: AbortSignal): Promise<void> {
    const { clock } = this.#context;
    this.#nap = new AbortController();
    const nowMs = clock.nowMs();
    if (this.#failures > 0) {
      await AFTER_FAILURES.pause(clock, this.#failures - 1, over);
    } else if (this.#pollingWhy !== undefined && !this.#mustReadAll) {
      await sleepUntil(clock, nextPollMs(startedMs, nowMs), over);
      this.#mustReadAll = true;
    } else {
      // A change that arrives alone costs a round trip. So the stream is paused, and the server collects the changes
      // for the next read.
      this.#stream.pause(true);
      const nextMs = nextReadMs(startedMs, nowMs);
      await sleepUntil(clock, nextMs - COLLECT_MS, over);
      this.#stream.pause(false);
      await sleepUntil(clock, nextMs, over);
      if (this.#isDirty.size > 0 || this.#mustReadAll || over.aborted) return;
      await sleepUntil(clock, startedMs + LOOK_EVERY_MS, this.#nap.signal);
      // Even if no lock has changed, the rate of hand-overs may have changed: its oldest second is now too old.
      this.#changed();
    }
  }

  #event(event: Document): void {
    if (this.#over === undefined) return;
    const { operationType, documentKey, wake } = event as Readonly<Record<string, unknown>>;
    const name = (documentKey as { readonly _id?: unknown } | undefined)?._id;
    if (typeof name !== 'string') {
      // An event without a key is about the whole collection, for example a drop. An event whose key is no text is
      // about a document that is not the library's.
      if (documentKey === undefined) this.#readAllSoon();
      return;
    }
    const words = operationType === 'delete' ? [] : readWake(wake);
    const grants = words.filter((word) => GRANT.test(word)).length;
    this.#board.heard(name, grants, [
      ...words.flatMap((word) => idGivenBack(word) ?? []),
      ...idsToldToLook(words),
    ]);
    if (grants > 0) this.#rate.add(grants);
    this.#isDirty.add(name);
    this.#nap.abort();
  }

  #readAllSoon(): void {
    this.#mustReadAll = true;
    this.#nap.abort();
  }

  #become(state: BoardState): void {
    this.#state = state;
    if (state === 'live') this.#outdatedSinceMs = undefined;
    else if (state === 'polling') this.#outdatedSinceMs = this.#context.clock.nowMs();
    else this.#outdatedSinceMs ??= this.#context.clock.nowMs();
    this.#changed();
  }

  #learnTime(asOf: Date | undefined, sentAtMs: number): void {
    if (asOf !== undefined) this.#aheadMs = asOf.getTime() - (sentAtMs + this.#context.clock.nowMs()) / 2;
  }
}
