import type { Clock, Timer } from '../clock.js';
import type { Settings } from '../options/provider-options.js';
import { pollProjection, readPoll } from '../protocol/extension.js';
import type { Seats } from '../protocol/seats.js';
import type { LockCollection } from '../store/lock-collection.js';
import type { WaitingRoom } from './waiting-room.js';

const MAX_NAMES_PER_READ = 256;
const GROWTH = 1.6;

/**
 * Looks for grants while there is no change stream: plain reads of all locks that this process is queued for, with
 * pauses that grow. A majority's reads, because the local state of one member can show a grant that is rolled back.
 * What a read does not show proves nothing (it may be old): only grants are taken from it, and a place that is not shown
 * is looked at.
 */
export class Poller {
  readonly #collection: LockCollection;
  readonly #kinds: readonly Seats[];
  readonly #process: string;
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #room: WaitingRoom;
  #pauseMs: number;
  #timer: Timer | undefined;
  #isReading = false;
  #closed = false;

  constructor(
    collection: LockCollection,
    kinds: readonly Seats[],
    process: string,
    settings: Settings,
    clock: Clock,
    room: WaitingRoom,
  ) {
    this.#collection = collection;
    this.#kinds = kinds;
    this.#process = process;
    this.#settings = settings;
    this.#clock = clock;
    this.#room = room;
    this.#pauseMs = settings.pollMs.min;
  }

  /** Polls soon: somebody began to wait, or something moved. */
  hurry(): void {
    this.#pauseMs = this.#settings.pollMs.min;
    if (!this.#isReading) this.#schedule();
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  #schedule(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#closed || this.#room.namesToPoll.length === 0) return;
    const atMs = this.#clock.nowMs() + this.#pauseMs * (0.75 + Math.random() / 4);
    this.#timer = this.#clock.at(atMs, () => void this.#poll());
  }

  async #poll(): Promise<void> {
    this.#isReading = true;
    this.#pauseMs = Math.min(this.#pauseMs * GROWTH, this.#settings.pollMs.max);
    const names = this.#room.namesToPoll;
    for (let from = 0; from < names.length; from += MAX_NAMES_PER_READ) {
      await this.#read(names.slice(from, from + MAX_NAMES_PER_READ));
    }
    this.#isReading = false;
    this.#schedule();
  }

  async #read(names: readonly string[]): Promise<void> {
    const projection = pollProjection(this.#kinds, this.#process);
    const outcome = await this.#collection.read(names, projection, 'majority');
    if (outcome.type !== 'done') return;
    for (const document of outcome.value) {
      const isAwaited = this.#room.seen(readPoll(document), outcome.sentAt);
      if (isAwaited) this.#pauseMs = this.#settings.pollMs.min;
    }
  }
}
