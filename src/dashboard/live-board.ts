import type { Timer } from '../clock.js';
import type { Attachment, Engine } from '../engine.js';
import { Board } from './board.js';
import { HandOverRate } from './hand-over-rate.js';
import { LockFeed } from './lock-feed.js';
import { Viewer } from './viewer.js';
import type { Scene } from './viewer.js';

/** The most viewers at the same time. Each viewer has an open connection. */
const MAX_VIEWERS = 100;

/**
 * How long the board is kept up to date after the last viewer has left, in ms: a page that is reloaded comes back soon,
 * and a page whose connection broke comes back after the pause of its browser (`RETRY_MS`). A board that had forgotten
 * the keys of the rows meanwhile would take an open row from its user.
 */
const LINGER_MS = 5_000;

/** One board for all viewers. It is kept up to date while there are viewers, and for `LINGER_MS` after that. */
export class LiveBoard implements Attachment {
  readonly #scene: Scene;
  readonly #feed: LockFeed;
  readonly #board: Board;
  readonly #rate: HandOverRate;
  readonly #viewers = new Set<Viewer>();
  #linger: Timer | undefined;
  #isClosed = false;

  constructor(engine: Engine, mayRevoke: boolean) {
    const { requester, inspector, overseeing: settings } = engine;
    const { collection, clock, report, closing } = requester.context;
    const board = new Board(clock);
    const rate = new HandOverRate(clock);
    const feed = new LockFeed({ collection, settings, clock, report }, inspector, board, rate, () => {
      for (const viewer of this.#viewers) viewer.changed();
    });
    this.#board = board;
    this.#rate = rate;
    this.#feed = feed;
    this.#scene = {
      ...{ clock, rate, board, mayRevoke },
      get state() {
        return feed.state;
      },
      get why() {
        return feed.why;
      },
      get serverNowMs() {
        return feed.serverNowMs;
      },
      get outdatedMs() {
        return feed.outdatedMs;
      },
    };
    engine.attached.add(this);
    closing.addEventListener('abort', () => {
      this.#end();
    });
    if (closing.aborted) this.#end();
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get isFull(): boolean {
    return this.#viewers.size >= MAX_VIEWERS;
  }

  /**
   * The events of a new viewer. The viewer joins when the stream is read for the first time. The viewer leaves when the
   * stream is cancelled, the signal of the request aborts or the provider closes.
   */
  events(filter: string, request: Request): ReadableStream<Uint8Array> {
    const viewer = new Viewer(this.#scene, filter);
    const encoder = new TextEncoder();
    // In Node.js, the signal of a request that has been collected does not abort any more. So this function holds the
    // request as long as the stream.
    const leave = (): void => {
      request.signal.removeEventListener('abort', leave);
      this.#leave(viewer);
    };
    let hasJoined = false;
    const join = (): void => {
      if (hasJoined) return;
      hasJoined = true;
      this.#join(viewer);
      if (request.signal.aborted) leave();
      else request.signal.addEventListener('abort', leave);
    };
    const source = {
      pull: async (controller: ReadableStreamDefaultController<Uint8Array>) => {
        join();
        const text = await viewer.next();
        if (text !== null) {
          controller.enqueue(encoder.encode(text));
          return;
        }
        leave();
        controller.close();
      },
      cancel: leave,
    };
    // With 0, the stream makes no message before its reader asks for one.
    return new ReadableStream<Uint8Array>(source, { highWaterMark: 0 });
  }

  /** Ends all viewers. Resolves when the change stream is closed, at the latest after `storeTimeoutMs`. */
  async close(): Promise<void> {
    this.#end();
    await this.#feed.close();
  }

  #join(viewer: Viewer): void {
    // Requests that came at the same time may all have found room for one more viewer.
    if (this.#isClosed || this.isFull) {
      viewer.end();
      return;
    }
    this.#viewers.add(viewer);
    this.#board.join(viewer.filter);
    this.#linger?.cancel();
    this.#feed.start();
  }

  #leave(viewer: Viewer): void {
    viewer.end();
    if (!this.#viewers.delete(viewer)) return;
    this.#board.leave(viewer.filter);
    if (this.#viewers.size > 0) return;
    const { clock } = this.#scene;
    this.#linger = clock.at(clock.nowMs() + LINGER_MS, () => {
      this.#forget();
    });
  }

  #forget(): void {
    this.#feed.stop();
    this.#board.clear();
    this.#rate.clear();
  }

  #end(): void {
    this.#isClosed = true;
    for (const viewer of this.#viewers) this.#leave(viewer);
    this.#linger?.cancel();
    this.#forget();
  }
}
