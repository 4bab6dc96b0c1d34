import type { Document } from 'mongodb';
import { within } from '../../clock.js';
import type { Clock, Timer } from '../../clock.js';
import type { Report } from '../../events.js';
import type { Settings } from '../../options/provider-options.js';
import { readWake, readWakeWord } from '../../protocol/wake.js';
import { AWAIT_MS } from '../lock-collection.js';
import type { LockCollection } from '../lock-collection.js';
import { isStreamRefused, mayBeRefusedByDriver } from '../outcome.js';
import { WakeCursor, wakePipeline } from './wake-cursor.js';

/** What the wake stream tells the waits of its process. */
export interface WakeListener {
  /** This attempt was granted with this token; token 0: look again. */
  onWoken(name: string, id: string, token: number): void;
  /** The stream has been (re)opened: what happened before is not known. */
  onOpened(): void;
  /** There is no stream, for now or for good: the process has to poll for its waiters. */
  onBlind(): void;
  /** The collection was dropped or renamed: any document may be gone. */
  onVanished(): void;
  /** The driver refuses whatever is asked: whoever waits should ask, and be told. */
  refusedByDriver(): void;
  /** A stream was demanded and cannot be had. */
  impossible(error: unknown): void;
}

const MAX_REOPEN_PAUSE_MS = 1_000;

/** A stream that has lived for so long was a good one; the next trouble starts counting afresh. */
const PROVEN_MS = 5_000;

/** Each one that the server has not answered yet has a connection of the client's pool for itself (E36). */
const MAX_UNANSWERED = 3;

/** From the second failure in a row on, waits are polled for until a stream is open again. */
const BLIND_AFTER_FAILURES = 2;

/**
 * The one change stream of a provider, filtered by the server to what concerns this process.
 *
 * States, and what is open in each:
 *
 * - `idle`: nothing. → opening, when somebody listens.
 * - `opening`: a cursor that has not answered yet, or a pause before one. → streaming, at its first answer, though nobody
 *   listens any more: short waits must not open one after the other. → opening again, on trouble; → idle, if nobody
 *   listens then; → polling, if the server has no change streams for us.
 * - `streaming`: a cursor, and a watch over its silence. → opening, on any trouble: a stream is never resumed, because
 *   a resume token can age out (E13); the look after each opening finds what was missed.
 *   → idle, when nobody has listened for some time.
 * - `polling`: nothing; for good.
 * - `closed`: nothing; for good.
 */
type State = 'idle' | 'opening' | 'streaming' | 'polling' | 'closed';

export class WakeStream {
  readonly #collection: LockCollection;
  readonly #process: string;
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #report: Report;
  readonly #listener: WakeListener;
  #state: State = 'idle';
  #listening = false;
  #lingerMs = 0;
  #openedAtMs = Infinity;
  #failures = 0;
  #announced = false;
  #cursor: WakeCursor | undefined;
  #unanswered = 0;
  #timer: Timer | undefined;
  readonly #closing = new Set<Promise<void>>();

  constructor(
    collection: LockCollection,
    process: string,
    settings: Settings,
    clock: Clock,
    report: Report,
    listener: WakeListener,
  ) {
    this.#collection = collection;
    this.#process = process;
    this.#settings = settings;
    this.#clock = clock;
    this.#report = report;
    this.#listener = listener;
  }

  /** Whether grants have to be looked for, because no event will tell of them. */
  get isPolling(): boolean {
    return this.#state === 'polling' || (this.#state === 'opening' && this.#failures >= BLIND_AFTER_FAILURES);
  }

  /** Since when events reach us without a gap; infinitely late if they do not. */
  get openedAtMs(): number {
    return this.#state === 'streaming' ? this.#openedAtMs : Infinity;
  }

  /** Says whether anybody listens. The stream opens at once, and closes so long after. */
  listen(listening: boolean, lingerMs: number = this.#settings.wakeIdleMs): void {
    if (this.#listening === listening) return;
    this.#listening = listening;
    this.#lingerMs = lingerMs;
    if (listening && this.#state === 'idle') void this.#begin();
    if (listening && this.#state === 'streaming') this.#watchSilence();
    if (!listening && this.#state === 'streaming') this.#closeWhenIdle();
  }

  /** Ends for good. Resolves when the server's cursors are closed, or can no longer be told to. */
  async close(): Promise<void> {
    this.#close('closed');
    await Promise.allSettled(this.#closing);
  }

  async #begin(): Promise<void> {
    if (!this.#listening) {
      this.#close('idle');
      return;
    }
    this.#state = 'opening';
    if (this.#settings.wakeups === 'polling') {
      this.#poll(this.#settings.pollingWhy);
      return;
    }
    const server = await this.#collection.handshake();
    if (!this.#isOpening()) return;
    if (server.type === 'refused') this.#giveUp(server.error);
    else if (server.type === 'unknown') this.#retry(server.error);
    else if (server.value.hasChangeStreams) this.#open();
    else this.#giveUp(new Error('a standalone server has no change streams'));
  }

  #isOpening(): boolean {
    return this.#state === 'opening';
  }

  #open(): void {
    this.#discardCursor();
    if (this.#unanswered >= MAX_UNANSWERED) {
      this.#retry(new Error('the server has not answered earlier change streams'));
      return;
    }
    try {
      this.#cursor = this.#newCursor();
    } catch (error) {
      // Some versions of the driver refuse at once what contradicts other options of the client.
      this.#retry(error);
      return;
    }
    this.#setTimer(this.#settings.storeTimeoutMs, () => {
      this.#retry(new Error('the change stream did not open in time'));
    });
  }

  #newCursor(): WakeCursor {
    const cursor: WakeCursor = new WakeCursor(this.#collection, wakePipeline(this.#process), {
      answered: () => {
        if (this.#cursor === cursor) this.#answered();
      },
      event: (event) => {
        if (this.#cursor === cursor) this.#dispatch(event);
      },
      trouble: (error) => {
        if (this.#cursor === cursor) this.#retry(error);
      },
    });
    this.#unanswered += 1;
    void cursor.answered.then(() => (this.#unanswered -= 1));
    return cursor;
  }

  #answered(): void {
    if (this.#clock.nowMs() - this.#openedAtMs > PROVEN_MS) this.#failures = 0;
    if (this.#state === 'opening') {
      this.#state = 'streaming';
      this.#openedAtMs = this.#clock.nowMs();
      if (!this.#announced) {
        this.#announced = true;
        this.#report('wakeups', { mode: 'change-stream', why: 'the change stream is open' });
      }
      this.#listener.onOpened();
      if (!this.#listening) this.#closeWhenIdle();
    }
    if (this.#listening) this.#watchSilence();
  }

  /** A socket that died without a word delivers nothing: silence for too long is trouble like any other. */
  #watchSilence(): void {
    this.#setTimer(AWAIT_MS + this.#settings.storeTimeoutMs, () => {
      this.#retry(new Error('the change stream fell silent'));
    });
  }

  #closeWhenIdle(): void {
    this.#setTimer(this.#lingerMs, () => {
      this.#close('idle');
    });
  }

  #retry(trouble: unknown): void {
    const error = this.#collection.brief(trouble, 'changeStream and find');
    this.#discardCursor();
    if (this.#state === 'closed' || this.#state === 'polling') return;
    // It only stayed open behind the last wait, and nobody misses it.
    if (this.#state === 'streaming' && !this.#listening) {
      this.#close('idle');
      return;
    }
    this.#report('storeError', { lockName: null, during: 'stream', error });
    if (isStreamRefused(error)) {
      this.#giveUp(error);
      return;
    }
    if (!this.#listening) {
      this.#close('idle');
      return;
    }
    this.#state = 'opening';
    this.#openedAtMs = Infinity;
    // The first reopening is immediate: after a failover every millisecond is somebody's wait.
    const ceilingMs = Math.min(MAX_REOPEN_PAUSE_MS, 25 * (2 ** this.#failures - 1));
    this.#failures = Math.min(this.#failures + 1, 10);
    if (this.isPolling) this.#listener.onBlind();
    // A stream on a closed client keeps timers of driver 6.22 for half a minute, so the looks come first.
    const mayBeClosed = mayBeRefusedByDriver(error);
    this.#setTimer(mayBeClosed ? MAX_REOPEN_PAUSE_MS : Math.random() * ceilingMs, () => void this.#begin());
    if (mayBeClosed) this.#listener.refusedByDriver();
  }

  #giveUp(error: unknown): void {
    if (this.#settings.wakeups === 'change-stream') {
      this.#close('idle');
      this.#listening = false;
      this.#listener.impossible(error);
    } else {
      this.#poll(error instanceof Error ? error.message : String(error));
      this.#listener.onOpened();
    }
  }

  #poll(why: string): void {
    this.#close('polling');
    this.#report('wakeups', { mode: 'polling', why });
    this.#listener.onBlind();
  }

  #close(state: 'idle' | 'polling' | 'closed'): void {
    if (this.#state === 'closed') return;
    this.#state = state;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#discardCursor();
  }

  #discardCursor(): void {
    if (this.#cursor === undefined) return;
    const closing = this.#cursor.close().catch(() => undefined);
    this.#cursor = undefined;
    const closed = within(this.#clock, this.#settings.storeTimeoutMs, closing);
    this.#closing.add(closed);
    void closed.finally(() => this.#closing.delete(closed));
  }

  #setTimer(delayMs: number, fire: () => void): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.at(this.#clock.nowMs() + delayMs, fire);
  }

  #dispatch(event: Document): void {
    const { documentKey, wake } = event as WakeEvent;
    if (documentKey === undefined) this.#listener.onVanished();
    for (const word of readWake(wake)) {
      const told = readWakeWord(this.#process, word);
      if (told !== undefined && documentKey !== undefined) {
        this.#listener.onWoken(documentKey._id, told.id, told.token);
      }
    }
  }
}

interface WakeEvent {
  readonly documentKey?: { readonly _id: string };
  readonly wake?: unknown;
}
