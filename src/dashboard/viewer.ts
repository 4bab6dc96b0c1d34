import type { Clock } from '../clock.js';
import { sleepUntil } from '../clock.js';
import type { Board, Ranked, View } from './board.js';
import type { HandOverRate } from './hand-over-rate.js';
import type { Aged } from './views.js';
import type { BoardMessage, BoardState, Found, ListChange, Row } from './wire.js';

/** What all viewers are shown. */
export interface Scene {
  readonly clock: Clock;
  readonly board: Board;
  readonly rate: HandOverRate;
  readonly mayRevoke: boolean;
  readonly state: BoardState;
  readonly why: string | undefined;
  readonly serverNowMs: number;
  /** `LockFeed.outdatedMs`. */
  readonly outdatedMs: number;
}

/** A viewer that gets no message for this time, in ms, gets a comment line, so that proxies keep the connection. */
const SILENCE_MS = 15_000;

/**
 * While the filter waits for its first search, or shows old rows, the viewer gets a message at least this often, in ms.
 */
const ASK_AGAIN_MS = 500;

/** How long a browser waits before it connects again, in ms. */
const RETRY_MS = 1_000;

/**
 * What one viewer has been sent, and what the next message has to say. A message has only the rows that have changed
 * since the message before it. A message is made when the viewer reads it. So a slow viewer gets fewer messages, and at
 * most one message is in memory.
 */
export class Viewer {
  readonly #scene: Scene;
  readonly filter: string;
  readonly #locks = new ShownList();
  readonly #elections = new ShownList();
  readonly #jobs = new ShownList();
  #isDue = true;
  #isFirst = true;
  /** Whether the last message had no rows, or old ones, because the filter waits for a search. */
  #mustAskAgain = false;
  #isOver = false;
  #nap = new AbortController();

  constructor(scene: Scene, filter: string) {
    this.#scene = scene;
    this.filter = filter;
  }

  /** Called when there may be something new to show. */
  changed(): void {
    this.#isDue = true;
    this.#nap.abort();
  }

  end(): void {
    this.#isOver = true;
    this.#nap.abort();
  }

  /** The next part of the stream, as soon as there is one; `null` after the end. */
  async next(): Promise<string | null> {
    if (!this.#isDue) await this.#sleep(this.#mustAskAgain ? ASK_AGAIN_MS : SILENCE_MS);
    if (this.#isOver) return null;
    if (!this.#isDue && !this.#mustAskAgain) return ': nothing has changed\n\n';
    const { board, serverNowMs } = this.#scene;
    const seen = board.view(this.filter, serverNowMs);
    this.#isDue = false;
    this.#mustAskAgain = seen === undefined || seen.ageMs > 0;
    const retry = this.#isFirst ? `retry: ${String(RETRY_MS)}\n` : '';
    this.#isFirst = false;
    return `${retry}data: ${JSON.stringify(this.#message(seen))}\n\n`;
  }

  async #sleep(ms: number): Promise<void> {
    const { clock } = this.#scene;
    if (this.#isOver) return;
    this.#nap = new AbortController();
    await sleepUntil(clock, clock.nowMs() + ms, this.#nap.signal);
  }

  #message(seen: Aged<View> | undefined): BoardMessage {
    const { board, rate, state, why, mayRevoke, serverNowMs } = this.#scene;
    return {
      ...{ state, why, mayRevoke },
      now: Math.round(serverNowMs),
      totals: board.totals,
      handOvers: rate.seconds,
      found: seen === undefined ? undefined : this.#changeTo(seen),
    };
  }

  #changeTo({ view: { locks, elections, jobs }, ageMs }: Aged<View>): Found {
    return {
      ageMs: Math.round(Math.max(ageMs, this.#scene.outdatedMs)),
      locks: this.#locks.changeTo(locks),
      elections: this.#elections.changeTo(elections),
      jobs: this.#jobs.changeTo(jobs),
    };
  }
}

/** The rows of one list that a viewer has been sent. */
class ShownList {
  #order: readonly number[] = [];
  #rows: ReadonlyMap<number, Row> = new Map();

  changeTo<R extends Row>({ matching, rows }: Ranked<R>): ListChange<R> {
    const changed = rows.filter((row) => !isSame(this.#rows.get(row.key), row));
    const order = rows.map(({ key }) => key);
    const isOrdered =
      order.length === this.#order.length && order.every((key, at) => key === this.#order[at]);
    this.#order = order;
    this.#rows = new Map(rows.map((row) => [row.key, row]));
    return { matching, order: isOrdered ? undefined : order, rows: changed };
  }
}

/** Compares the contents of the rows, because each read makes new row objects, also for locks that have not changed. */
const isSame = (shown: Row | undefined, row: Row): boolean =>
  shown === row || (shown !== undefined && JSON.stringify(shown) === JSON.stringify(row));
