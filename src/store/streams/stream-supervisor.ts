// Folder `streams`: change streams. The supervisor opens, reopens and closes one stream. The owner of the stream, such
// as the wake stream or the document watch, decides which events the stream selects, and receives these events.

import type { Document } from 'mongodb';
import type { Chance } from '../../chance.js';
import type { Timer } from '../../clock.js';
import { StateMachine } from '../../state-machine.js';
import type { Moves } from '../../state-machine.js';
import { isStreamRefused, mayBeRefusedByDriver } from '../outcome.js';
import { StreamCursor } from './stream-cursor.js';
import type { StreamContext } from './stream-cursor.js';

const MAX_REOPEN_PAUSE_MS = 1_000;

/**
 * A stream that breaks soon after each opening must not be reopened at once each time: the failure count is reset only
 * when a stream answers after it has been open for `PROVEN_MS`.
 */
const PROVEN_MS = 5_000;

/**
 * The most cursors without a first answer, including those that are being closed. Each of them occupies a connection of
 * the client's pool, and extensions need a connection as well (E36).
 */
const MAX_UNANSWERED = 3;

/** The origin of a refusal: the settings of the provider, the handshake, or the server's answer to the stream. */
export type RefusedBy = 'settings' | 'handshake' | 'stream';

export interface StreamOwner {
  pipeline(): Document[];
  /** Whether the open cursor selects every event that is wanted. If not, a wider cursor is opened beside it. */
  isEnough(): boolean;
  /** A new cursor has answered, so the stream is open. `isWider`: this cursor replaces one that was open until now. */
  opened(isWider: boolean): void;
  event(event: Document): void;
  /** The stream broke, or an opening failed. Events may have been missed. After a pause, the next opening follows. */
  lost(error: unknown): void;
  /** The stream was refused, and no opening follows by itself. */
  refused(error: unknown, by: RefusedBy): void;
}

type State = 'idle' | 'opening' | 'streaming' | 'refused' | 'closed';

const MOVES: Moves<State> = {
  idle: ['opening', 'closed'],
  opening: ['opening', 'streaming', 'idle', 'refused', 'closed'],
  streaming: ['streaming', 'opening', 'idle', 'refused', 'closed'],
  refused: ['closed'],
  closed: ['closed'],
};

/**
 * Manages one change stream: opens it, opens a fresh one after trouble, and closes it some time after the last listener
 * has left. A stream is never resumed, because a resume token can age out (E13). The owner has to find out which events
 * it missed. Once the command that opens a cursor has been sent, the opening goes on even if no code listens any more.
 * So short waits do not open one stream after the other.
 *
 * - `idle`: nothing is open. → `opening`, when code listens.
 * - `opening`: a pause, a handshake, or a cursor without an answer. → `streaming`, at the first answer; → `opening`, on
 *   trouble; → `idle`, when no code listens after the pause, after the handshake or on trouble; → `refused`.
 * - `streaming`: a cursor that has answered, at times beside a wider one that will replace it. → `opening`, on trouble
 *   with either; → `idle`, when no code has listened for some time, or on trouble while no code listens; → `refused`.
 * - `refused` and `closed`: nothing is open, for good. Every state leads to `closed`. With `wakeups: 'change-stream'`,
 *   a refusal leads to `idle` instead: the next `join` asks for a stream again.
 */
export class StreamSupervisor {
  readonly #context: StreamContext;
  readonly #owner: StreamOwner;
  readonly #state = new StateMachine<State>('idle', MOVES);
  #isWanted = false;
  #lingerMs = 0;
  #current: StreamCursor | undefined;
  /** The cursor that has not answered yet. */
  #next: StreamCursor | undefined;
  #isShakingHands = false;
  #unanswered = 0;
  #failures = 0;
  #openedAtMs = Infinity;
  #reopenTimer: Timer | undefined;
  #linger: Timer | undefined;
  readonly #closing = new Set<Promise<unknown>>();

  constructor(context: StreamContext, owner: StreamOwner) {
    this.#context = context;
    this.#owner = owner;
  }

  get state(): State {
    return this.#state.now;
  }

  /** How many openings and streams in a row have failed, counted up to 10. */
  get failures(): number {
    return this.#failures;
  }

  /**
   * The time since which the stream has been open; `Infinity` while no stream is open. A wider cursor that replaces
   * the current cursor does not change this time.
   */
  get openedAtMs(): number {
    return this.#openedAtMs;
  }

  /** Called when code begins to listen, or needs more events than before. */
  join(): void {
    this.#isWanted = true;
    this.#linger?.cancel();
    if (this.#state.is('idle')) this.#state.to('opening');
    void this.#open();
  }

  /**
   * Called when no code listens any more. An open stream stays open for `lingerMs`, because the next listener may come
   * soon.
   */
  leave(lingerMs: number): void {
    if (!this.#isWanted) return;
    this.#isWanted = false;
    this.#lingerMs = lingerMs;
    if (this.#state.is('streaming')) this.#restLater();
  }

  /** Holds back the events of the open stream, or lets them come again. A stream that opens later is not paused. */
  pause(isPaused: boolean): void {
    this.#current?.pause(isPaused);
  }

  /** Ends for good. Resolves when the server's cursors are closed, at the latest after `storeTimeoutMs`. */
  async close(): Promise<void> {
    this.#end('closed');
    await Promise.allSettled(this.#closing);
  }

  /**
   * Opens no cursor while another one waits for its first answer. A cursor that was given up does not count here (see
   * `MAX_UNANSWERED`).
   */
  async #open(): Promise<void> {
    if (!this.#needsCursor() || this.#isShakingHands || this.#next !== undefined) return;
    const { collection, settings } = this.#context;
    if (settings.wakeups === 'polling') {
      this.#refuse(new Error(settings.pollingWhy), 'settings');
      return;
    }
    this.#isShakingHands = true;
    const server = await collection.handshake();
    this.#isShakingHands = false;
    if (!this.#needsCursor()) return;
    if (server.type === 'refused') this.#refuse(server.error, 'handshake');
    else if (server.type === 'unknown') this.#trouble(server.error);
    else if (!server.value.hasChangeStreams) {
      this.#refuse(new Error('a standalone server has no change streams'), 'handshake');
    } else if (this.#isWanted) this.#openCursor();
    else this.#becomeIdle();
  }

  #needsCursor(): boolean {
    if (this.#state.is('streaming')) return !this.#owner.isEnough();
    return this.#state.is('opening') && this.#reopenTimer === undefined;
  }

  #openCursor(): void {
    try {
      const isFull = this.#unanswered >= MAX_UNANSWERED;
      if (isFull) throw new Error('the server has not answered earlier change streams');
      // Some versions of the driver throw here, if options of the stream contradict options of the client.
      this.#next = new StreamCursor(this.#context, this.#owner.pipeline(), {
        answered: this.#answered.bind(this),
        event: this.#owner.event.bind(this.#owner),
        trouble: this.#trouble.bind(this),
      });
      this.#unanswered += 1;
      void this.#next.answered.then(() => (this.#unanswered -= 1));
    } catch (error) {
      this.#trouble(error);
    }
  }

  #answered(cursor: StreamCursor): void {
    const nowMs = this.#context.clock.nowMs();
    if (nowMs - this.#openedAtMs >= PROVEN_MS) this.#failures = 0;
    if (cursor !== this.#next) return;
    this.#next = undefined;
    const before = this.#current;
    // If the listener that needed a wider cursor has left, the old cursor is enough.
    const isNeeded = before === undefined || !this.#owner.isEnough();
    this.#discard(isNeeded ? before : cursor);
    if (!isNeeded) return;
    this.#current = cursor;
    this.#state.to('streaming');
    if (before === undefined) this.#openedAtMs = nowMs;
    this.#owner.opened(before !== undefined);
    if (!this.#isWanted) this.#restLater();
    void this.#open();
  }

  #trouble(trouble: unknown): void {
    const { collection, report } = this.#context;
    if (!this.#isWanted && this.#state.is('streaming')) {
      this.#becomeIdle();
      return;
    }
    this.#discardAll();
    this.#state.to('opening');
    const error = collection.shortened(trouble, 'changeStream and find');
    report('storeError', { lockName: null, during: 'stream', error });
    // A listener of `storeError` may have closed the provider.
    if (!this.#state.is('opening')) return;
    if (isStreamRefused(error)) this.#refuse(error, 'stream');
    else if (this.#isWanted) this.#reopenLater(error);
    else this.#becomeIdle();
  }

  #reopenLater(error: unknown): void {
    const { clock } = this.#context;
    const pauseMs = reopenPauseMs(clock.chance, this.#failures, error);
    this.#failures = Math.min(this.#failures + 1, 10);
    this.#reopenTimer = clock.at(clock.nowMs() + pauseMs, () => {
      this.#reopenTimer = undefined;
      if (this.#isWanted) void this.#open();
      else this.#becomeIdle();
    });
    this.#owner.lost(error);
  }

  #refuse(error: unknown, by: RefusedBy): void {
    this.#end(this.#context.settings.wakeups === 'change-stream' ? 'idle' : 'refused');
    this.#owner.refused(error, by);
  }

  #restLater(): void {
    const { clock } = this.#context;
    this.#linger?.cancel();
    this.#linger = clock.at(clock.nowMs() + this.#lingerMs, this.#becomeIdle.bind(this));
  }

  #becomeIdle(): void {
    this.#end('idle');
  }

  #end(state: 'idle' | 'refused' | 'closed'): void {
    this.#linger?.cancel();
    this.#discardAll();
    this.#state.to(state);
  }

  #discardAll(): void {
    this.#reopenTimer?.cancel();
    this.#reopenTimer = undefined;
    for (const cursor of [this.#current, this.#next]) this.#discard(cursor);
    this.#current = undefined;
    this.#next = undefined;
    this.#openedAtMs = Infinity;
  }

  #discard(cursor: StreamCursor | undefined): void {
    if (cursor === undefined) return;
    const closed = cursor.close();
    this.#closing.add(closed);
    void closed.finally(() => this.#closing.delete(closed));
  }
}

/**
 * The pause before the next opening, in ms. The first reopening is immediate, because no event reports a grant until
 * the stream is open again.
 *
 * If the client may be closed, the pause is always `MAX_REOPEN_PAUSE_MS`. Meanwhile, other commands, such as looks,
 * show whether the client is closed. Opening a stream on a closed client leaves timers of driver 6.22 running for half
 * a minute.
 */
const reopenPauseMs = (chance: Chance, failures: number, error: unknown): number =>
  mayBeRefusedByDriver(error)
    ? MAX_REOPEN_PAUSE_MS
    : chance.number() * Math.min(MAX_REOPEN_PAUSE_MS, 25 * (2 ** failures - 1));
