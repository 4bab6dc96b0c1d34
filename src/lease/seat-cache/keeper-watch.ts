import type { Clock, Timer } from '../../clock.js';
import type { LeasesRead } from '../../protocol/pipeline/extension.js';
import { keeperProjection, readForKeeper } from '../../protocol/pipeline/keeper-reads.js';
import type { LockCollection } from '../../store/lock-collection.js';
import { READ_EVERY_MS, quietMsFor } from '../waiting/wakeup-policy.js';
import type { Cached, OwnSeat } from './cached-request.js';

/**
 * The most documents of one read. A process that keeps more locks listens to its change stream, because a stream costs
 * the server less than several reads a second.
 */
export const MOST_READ = 256;

/**
 * How long a far keeper relies on a read, counted from the sending of the read. Unless the store is slow, the next
 * read is answered within that time.
 */
const RELIED_MS = 2 * READ_EVERY_MS;

export interface KeeperSurroundings {
  readonly clock: Clock;
  readonly process: string;
  readonly wakeIdleMs: number;
  readonly collection: Pick<LockCollection, 'read'>;
  /** The instant since which the change stream has been open without a gap; `Infinity` while it is not open. */
  gaplessSinceMs(): number;
  /**
   * Whether the process polls instead of listening to a change stream. A process that polls does not read its kept
   * locks once a second. So when its last read is older than `RELIED_MS`, the process does not know whether others
   * wait, and keeps no further seat.
   */
  isPolling(): boolean;
  /** Says whether the process must listen to the change stream for its kept seats. */
  listen(isListening: boolean): void;
  /** Asks the server about the lease of this attempt: a read did not show the lease, or showed that it is ending. */
  confirm(id: string): void;
}

/**
 * Finds out whether other requests wait for the seats that this process keeps.
 *
 * An open change stream costs the server processor time for every write of the whole replica set, so a process does not
 * listen for a seat whose holds neither begin nor end. A keeper is *near*, and listens, until no hold of its kept seats
 * has begun or ended for `wakeIdleMs` (at least a second). After that the keeper is *far*, even during a long hold: the
 * process reads all its kept locks together once a second. The keeper relies on each read for two seconds, so that the
 * next caller of a kept seat need not ask the server. That caller makes the keeper near again. A keeper of more than
 * `MOST_READ` locks stays near.
 *
 * A near keeper reads, too: once a second while its stream is opening, once after each opening, and before it becomes
 * far.
 */
export class KeeperWatch {
  readonly #surroundings: KeeperSurroundings;
  readonly #quietMs: number;
  /** The locks of which this process has a seat that it may keep. */
  readonly #locks = new Set<Cached>();
  #isNear = false;
  #usedAtMs = -Infinity;
  /**
   * After its last seat has ended, the process goes on listening at least until this instant: a caller who comes soon
   * can keep its seat only if the stream is open before its request.
   */
  #listenUntilMs = -Infinity;
  #isReading = false;
  #gapCount = 0;
  #isClosed = false;
  #timer: Timer | undefined;

  constructor(surroundings: KeeperSurroundings) {
    this.#surroundings = surroundings;
    this.#quietMs = quietMsFor(surroundings.wakeIdleMs);
  }

  /** Called when callers begin to use a seat, and when the last hold of a seat that may be kept has been released. */
  used(): void {
    this.#usedAtMs = this.#surroundings.clock.nowMs();
    if (this.#isNear || this.#isClosed) return;
    this.#isNear = true;
    this.#surroundings.listen(true);
    this.#schedule();
  }

  /** Called when `hasSeats` of this lock may have changed. */
  changed(lock: Cached): void {
    if (lock.hasSeats) this.#locks.add(lock);
    else if (this.#locks.delete(lock)) this.#listenUntilMs = this.#surroundings.clock.nowMs() + lock.keepMs;
  }

  /** Called when events may have been missed. */
  onGap(): void {
    this.#gapCount += 1;
    if (this.#locks.size > 0) void this.#read();
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  get #isDeaf(): boolean {
    return this.#surroundings.gaplessSinceMs() === Infinity;
  }

  get #isUnused(): boolean {
    const untilMs = this.#usedAtMs + this.#quietMs;
    return (
      this.#surroundings.clock.nowMs() >=
      (this.#locks.size > 0 ? untilMs : Math.max(untilMs, this.#listenUntilMs))
    );
  }

  /**
   * Whether the process is far or may become far: no caller has used its kept seats lately, and one read can show all
   * their locks. A near process may become far only while its wake stream is open.
   */
  #isQuiet(): boolean {
    return this.#isUnused && this.#locks.size <= MOST_READ && !(this.#isNear && this.#isDeaf);
  }

  #schedule(): void {
    const { clock } = this.#surroundings;
    this.#timer?.cancel();
    this.#timer = clock.at(clock.nowMs() + READ_EVERY_MS, () => {
      this.#tick();
    });
  }

  #tick(): void {
    if (this.#surroundings.isPolling() || this.#locks.size === 0) {
      if (this.#isUnused) this.#listenNoMore();
    } else if (this.#isDeaf || this.#isQuiet()) void this.#read();
    if (this.#isNear || this.#locks.size > 0) this.#schedule();
  }

  /**
   * Reads all kept locks. The keeper becomes far if the read is answered, and `#isQuiet` is true before and after the
   * read.
   */
  async #read(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    const gapCount = this.#gapCount;
    const isQuiet = this.#isQuiet();
    const locks = [...this.#locks];
    let isAnswered = true;
    for (let from = 0; from < locks.length; from += MOST_READ) {
      isAnswered = (await this.#readSome(locks.slice(from, from + MOST_READ), isQuiet)) && isAnswered;
    }
    this.#isReading = false;
    if (this.#isClosed) return;
    if (isAnswered && isQuiet && this.#isQuiet()) this.#listenNoMore();
    // Events may have been missed after this read was sent, so the read is repeated.
    if (this.#gapCount > gapCount) void this.#read();
  }

  /** Resolves with false if the read failed, or if the watch was closed. */
  async #readSome(locks: readonly Cached[], isQuiet: boolean): Promise<boolean> {
    const { process, collection } = this.#surroundings;
    const asked = locks.map((lock) => ({ lock, seats: lock.ownSeats }));
    const names = [...new Set(locks.map(({ name }) => name))];
    const kinds = [...new Set(locks.map(({ rules }) => rules))];
    // Read concern local is enough: if a waiter in the answer is rolled back later, the process has only given up a
    // seat too early.
    const outcome = await collection.read(names, keeperProjection(kinds, process), 'local');
    if (outcome.type !== 'done' || this.#isClosed) return false;
    const documents = new Map(outcome.value.map(readForKeeper).map((read) => [read.name, read]));
    const { ms: sentAtMs } = outcome.sentAt;
    for (const { lock, seats } of asked) {
      const read = documents.get(lock.name);
      const changed = seats.filter((seat) => seat.isOpen && !isAsKnown(seat, read));
      for (const { id } of changed) this.#surroundings.confirm(id);
      if (read?.othersWait === true) lock.othersWait();
      else if (changed.length === 0) {
        lock.noneWaits(sentAtMs, isQuiet ? sentAtMs + RELIED_MS : -Infinity);
      }
    }
    return true;
  }

  #listenNoMore(): void {
    if (!this.#isNear) return;
    this.#isNear = false;
    this.#surroundings.listen(false);
  }
}

/** Whether the read shows the lease of this seat, and does not show a new revocation of the lease. */
function isAsKnown(seat: OwnSeat, read: LeasesRead | undefined): boolean {
  const lease = read?.leases.find(({ id }) => id === seat.id);
  return lease !== undefined && (lease.ending !== true || seat.wasAskedToRelease);
}
