import type { Document } from 'mongodb';
import type { Timer } from '../../clock.js';
import { isStreamRefused } from '../outcome.js';
import { StreamCursor } from './stream-cursor.js';
import type { StreamContext } from './stream-cursor.js';

export const MAX_REOPEN_PAUSE_MS = 1_000;

/** What the streams of a process do differently. Each owner says why beside its rules. */
export interface StreamRules {
  /** How long the first answer of a cursor may take. */
  readonly firstAnswerMs: number;
  /** How many cursors may be without their first answer, those that are being closed included. */
  readonly maxUnanswered: number;
  /** The pause before the next opening, after so many earlier failures in a row. */
  readonly pauseMs: (failures: number, error: unknown) => number;
  /** The count of failures starts again at an answer of a stream that has been open for so long. */
  readonly provenMs: number;
  /** Whether a stream is opened only on a server that has answered the handshake. */
  readonly needsHandshake: boolean;
  /** Whether an opening goes on when nobody listens any more: its trouble is reported, and failures stay counted. */
  readonly completesOpening: boolean;
  /** Whether the next listener makes a refused stream ask the server again. */
  readonly asksAgain: boolean;
}

/** What refused a stream: the option `wakeups`, the handshake, or the server's answer to the stream itself. */
export type RefusedBy = 'settings' | 'handshake' | 'stream';

export interface StreamOwner {
  /** What the next cursor selects. */
  pipeline(): Document[];
  /** Whether the open cursor tells of everything that is wanted. If not, a wider one is opened beside it. */
  isEnough(): boolean;
  /** A cursor has answered for the first time. `isWider`: it replaces one that has told of its events until now. */
  opened(isWider: boolean): void;
  event(event: Document): void;
  /** The stream broke, and events may be missed. The next opening follows after a pause. */
  lost(error: unknown): void;
  /** The stream was refused, and no opening follows by itself. */
  refused(error: unknown, by: RefusedBy): void;
}

type State = 'idle' | 'opening' | 'streaming' | 'refused' | 'closed';

const MOVES: Readonly<Record<State, readonly State[]>> = {
  idle: ['opening', 'closed'],
  opening: ['opening', 'streaming', 'idle', 'refused', 'closed'],
  streaming: ['streaming', 'opening', 'idle', 'refused', 'closed'],
  refused: ['closed'],
  closed: ['closed'],
};

/**
 * Owns the life of one change stream: opens it, opens it afresh after any trouble, closes it when nobody needs it. A
 * stream is never resumed, because a resume token can age out (E13): the owner looks for what it missed.
 *
 * - `idle`: nothing is open. → `opening`, when somebody listens.
 * - `opening`: a handshake, a cursor without an answer, or a pause before them. → `streaming`, at the first answer;
 *   → `opening`, on trouble; → `idle`, when nobody listens; → `refused`.
 * - `streaming`: a cursor that has answered, at times beside a wider one that will replace it. → `opening`, on trouble
 *   with either; → `idle`, when nobody has listened for some time, or on trouble while nobody listens; → `refused`.
 * - `refused` and `closed`: nothing is open, for good. Every state leads to `closed`.
 */
export class StreamSupervisor {
  readonly #context: StreamContext;
  readonly #rules: StreamRules;
  readonly #owner: StreamOwner;
  #state: State = 'idle';
  #isWanted = false;
  #lingerMs = 0;
  #current: StreamCursor | undefined;
  /** The cursor that has not answered yet, and is to replace the current one. */
  #next: StreamCursor | undefined;
  #isShakingHands = false;
  #unanswered = 0;
  #failures = 0;
  #openedAtMs = Infinity;
  #pause: Timer | undefined;
  #linger: Timer | undefined;
  readonly #closing = new Set<Promise<unknown>>();

  constructor(context: StreamContext, rules: StreamRules, owner: StreamOwner) {
    this.#context = context;
    this.#rules = rules;
    this.#owner = owner;
  }

  get state(): State {
    return this.#state;
  }

  /** How many openings and streams have failed in a row. */
  get failures(): number {
    return this.#failures;
  }

  /** Since when the stream tells of events without a gap; infinitely late if it does not. */
  get openedAtMs(): number {
    return this.#state === 'streaming' ? this.#openedAtMs : Infinity;
  }

  /** Somebody listens, or listens to more than before. */
  join(): void {
    this.#isWanted = true;
    this.#linger?.cancel();
    if (this.#state === 'idle') this.#set('opening');
    void this.#open();
  }

  /** Nobody listens any more. The stream stays open for so long, because the next listener may come soon. */
  leave(lingerMs: number): void {
    if (!this.#isWanted) return;
    this.#isWanted = false;
    this.#lingerMs = lingerMs;
    const mayEnd = this.#state === 'opening' && !this.#rules.completesOpening;
    if (mayEnd || this.#state === 'streaming') this.#restLater();
  }

  /** Ends for good. Resolves when the server's cursors are closed, or have had the time of one call to the store. */
  async close(): Promise<void> {
    this.#end('closed');
    await Promise.allSettled(this.#closing);
  }

  /** Opens a cursor, if one is needed. One is opened at a time. */
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
    const { completesOpening, needsHandshake } = this.#rules;
    if (!this.#isWanted && !completesOpening) this.#rest();
    else if (server.type === 'done' && !server.value.hasChangeStreams) {
      this.#refuse(new Error('a standalone server has no change streams'), 'handshake');
    } else if (server.type === 'done' || !needsHandshake) this.#openCursor();
    else if (server.type === 'refused') this.#refuse(server.error, 'handshake');
    else this.#trouble(server.error);
  }

  #needsCursor(): boolean {
    if (this.#state === 'streaming') return !this.#owner.isEnough();
    return this.#state === 'opening' && this.#pause === undefined;
  }

  #openCursor(): void {
    const { firstAnswerMs, maxUnanswered } = this.#rules;
    try {
      const isFull = this.#unanswered >= maxUnanswered;
      if (isFull) throw new Error('the server has not answered earlier change streams');
      // Some versions of the driver refuse at once what contradicts other options of the client.
      this.#next = new StreamCursor(this.#context, this.#owner.pipeline(), firstAnswerMs, {
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
    if (nowMs - Math.min(this.#openedAtMs, nowMs) >= this.#rules.provenMs) this.#failures = 0;
    if (cursor !== this.#next) return;
    this.#next = undefined;
    const before = this.#current;
    // The listener that needed a wider cursor has left.
    const isNeeded = before === undefined || !this.#owner.isEnough();
    this.#discard(isNeeded ? before : cursor);
    if (!isNeeded) return;
    this.#current = cursor;
    this.#set('streaming');
    this.#openedAtMs = nowMs;
    this.#owner.opened(before !== undefined);
    if (!this.#isWanted && this.#rules.completesOpening) this.#restLater();
    void this.#open();
  }

  #trouble(trouble: unknown): void {
    const { collection, report } = this.#context;
    const isMissed = this.#isWanted || (this.#state === 'opening' && this.#rules.completesOpening);
    if (isMissed) {
      this.#discardAll();
      this.#set('opening');
      this.#openedAtMs = Infinity;
      const error = collection.brief(trouble, 'changeStream and find');
      report('storeError', { lockName: null, during: 'stream', error });
      // The event may have made the last listener leave.
      if (this.#state !== 'opening') return;
      if (isStreamRefused(error)) this.#refuse(error, 'stream');
      else if (this.#isWanted) this.#reopenLater(error);
      else this.#rest();
    } else this.#rest();
  }

  #reopenLater(error: unknown): void {
    const { clock } = this.#context;
    const pauseMs = this.#rules.pauseMs(this.#failures, error);
    this.#failures = Math.min(this.#failures + 1, 10);
    this.#pause = clock.at(clock.nowMs() + pauseMs, () => {
      this.#pause = undefined;
      if (this.#isWanted) void this.#open();
      else this.#rest();
    });
    this.#owner.lost(error);
  }

  #refuse(error: unknown, by: RefusedBy): void {
    this.#end(this.#rules.asksAgain ? 'idle' : 'refused');
    this.#owner.refused(error, by);
  }

  #restLater(): void {
    const { clock } = this.#context;
    this.#linger?.cancel();
    if (this.#lingerMs === 0 && !this.#rules.completesOpening) this.#rest();
    else this.#linger = clock.at(clock.nowMs() + this.#lingerMs, this.#rest.bind(this));
  }

  #rest(): void {
    if (!this.#rules.completesOpening) this.#failures = 0;
    this.#end('idle');
  }

  #end(state: 'idle' | 'refused' | 'closed'): void {
    this.#linger?.cancel();
    this.#discardAll();
    this.#set(state);
  }

  #discardAll(): void {
    this.#pause?.cancel();
    this.#pause = undefined;
    for (const cursor of [this.#current, this.#next]) this.#discard(cursor);
    this.#current = undefined;
    this.#next = undefined;
  }

  #discard(cursor: StreamCursor | undefined): void {
    if (cursor === undefined) return;
    const closed = cursor.close();
    this.#closing.add(closed);
    void closed.finally(() => this.#closing.delete(closed));
  }

  #set(state: State): void {
    if (!MOVES[this.#state].includes(state)) throw new Error(`no move from ${this.#state} to ${state}`);
    this.#state = state;
  }
}
