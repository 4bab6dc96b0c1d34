import type { Clock, Timer } from '../../clock.js';
import type { Settings } from '../../options/provider-options.js';
import { MARK_PROJECTION, pollProjection, readMark, readPoll } from '../../protocol/pipeline/polls.js';
import type { KindRules } from '../../protocol/kind-rules.js';
import type { LockCollection } from '../../store/lock-collection.js';
import type { Refused, Unknown } from '../../store/outcome.js';
import { untilReadMs } from './wakeup-policy.js';
import type { WaitingRoom } from './waiting-room.js';

const MAX_NAMES_PER_READ = 256;
const GROWTH = 1.6;

/**
 * Finds grants by plain reads of the locks that this process is queued for. Without a change stream, the pauses between
 * the reads grow. A process that is far from its turn reads once a second: first the marks of the locks, by a cheap
 * local read. The mark of a lock is a text that changes with every grant. Then a majority read shows the locks whose
 * marks have changed or are not known yet.
 *
 * Grants come from majority reads, because a read with read concern local can show a grant that is later rolled back. A
 * read may be old, so a missing entry proves nothing. From a read, the poller takes only grants, closer places and the
 * lengths of the queues. If the read lacks one of the process's places, the process looks at the lock.
 */
export class Poller {
  readonly #collection: LockCollection;
  readonly #kinds: readonly KindRules[];
  readonly #process: string;
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #room: WaitingRoom;
  #pauseMs: number;
  #readAtMs = -Infinity;
  /**
   * The mark of each lock at its last read. A far process repeats the majority read of a lock only if the mark has
   * changed or is not known.
   */
  #marks = new Map<string, string>();
  #timer: Timer | undefined;
  #timerAtMs = Infinity;
  #isReading = false;
  #closed = false;

  constructor(
    collection: LockCollection,
    kinds: readonly KindRules[],
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

  /**
   * Plans the next read anew. While the process polls, the pauses begin again with the shortest one. Called when an
   * attempt has joined a queue, when the process may have become near or far, and when there is no stream.
   */
  hurry(): void {
    this.#pauseMs = this.#settings.pollMs.min;
    if (!this.#isReading) this.#schedule();
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  #schedule(): void {
    const pendingAtMs = this.#timer === undefined ? Infinity : this.#timerAtMs;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#closed || !this.#room.isToPoll) {
      this.#marks.clear();
      return;
    }
    const nowMs = this.#clock.nowMs();
    const { phaseMs } = this.#room;
    const pauseMs =
      phaseMs === undefined
        ? this.#pauseMs * (0.75 + this.#clock.chance.number() / 4)
        : untilReadMs(phaseMs, this.#collection.serverClock.nowMs(), nowMs - this.#readAtMs);
    // A new wait must not postpone the read that is scheduled for earlier waits.
    this.#timerAtMs = phaseMs === undefined ? Math.min(nowMs + pauseMs, pendingAtMs) : nowMs + pauseMs;
    this.#timer = this.#clock.at(this.#timerAtMs, () => void this.#poll());
  }

  async #poll(): Promise<void> {
    this.#timer = undefined;
    this.#isReading = true;
    this.#readAtMs = this.#clock.nowMs();
    this.#pauseMs = Math.min(this.#pauseMs * GROWTH, this.#settings.pollMs.max);
    const names = this.#room.namesToPoll;
    const marks = this.#room.phaseMs === undefined ? new Map<string, string>() : this.#marks;
    this.#marks = new Map();
    let isAnswered = true;
    for (let from = 0; from < names.length; from += MAX_NAMES_PER_READ) {
      const some = names.slice(from, from + MAX_NAMES_PER_READ);
      isAnswered = (await this.#readMoved(some, marks)) && isAnswered;
    }
    if (isAnswered) this.#room.polled();
    this.#isReading = false;
    this.#schedule();
  }

  /** Reads the locks whose stored mark is not the one in `marks`. Returns false if a read failed. */
  async #readMoved(names: readonly string[], marks: ReadonlyMap<string, string>): Promise<boolean> {
    const marked = names.filter((name) => marks.has(name));
    const moved = new Set(names);
    if (marked.length > 0) {
      // Read concern local is enough: this read decides only which locks need a majority read.
      const outcome = await this.#collection.read(marked, MARK_PROJECTION, 'local');
      if (outcome.type !== 'done') return this.#failed(outcome);
      for (const document of outcome.value) {
        const [name, mark] = [String(document['_id']), readMark(document)];
        if (marks.get(name) !== mark) continue;
        moved.delete(name);
        this.#marks.set(name, mark);
      }
    }
    return moved.size === 0 || (await this.#read([...moved]));
  }

  /** Returns false if the read failed. */
  async #read(names: readonly string[]): Promise<boolean> {
    const projection = pollProjection(this.#kinds, this.#process);
    const outcome = await this.#collection.read(names, projection, 'majority');
    if (outcome.type !== 'done') return this.#failed(outcome);
    const { value: documents, sentAt } = outcome;
    const polls = documents.map(readPoll);
    for (const poll of polls) {
      this.#collection.serverClock.learn(poll.nowMs, sentAt.ms);
      this.#marks.set(poll.name, poll.mark);
      if (this.#room.seen(poll, sentAt)) this.#pauseMs = this.#settings.pollMs.min;
    }
    const found = new Set(polls.map(({ name }) => name));
    for (const name of names) if (!found.has(name)) this.#room.missed(name, sentAt);
    return true;
  }

  #failed(outcome: Refused | Unknown): false {
    if (outcome.type === 'refused' && !outcome.byServer) this.#room.refusedByDriver();
    return false;
  }
}
