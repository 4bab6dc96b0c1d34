import type { Clock, Timer } from '../../clock.js';
import type { LeasesRead } from '../../protocol/pipeline/extension.js';
import { keeperProjection, readForKeeper } from '../../protocol/pipeline/keeper-reads.js';
import type { LockCollection } from '../../store/lock-collection.js';
import { READ_EVERY_MS, quietMsFor } from '../waiting/wakeup-policy.js';
import type { Cached, OwnSeat } from './cached-request.js';

/** The most documents of one read. A process that keeps more locks goes on listening, which costs the server less. */
export const MOST_READ = 256;

/** For how long a far keeper relies on a read: until the next one is answered, unless the store is slow. */
const RELIED_MS = 2 * READ_EVERY_MS;

/** What the watch needs of its process. */
export interface KeeperSurroundings {
  readonly clock: Clock;
  readonly process: string;
  readonly wakeIdleMs: number;
  readonly collection: Pick<LockCollection, 'read'>;
  /** The instant since which events arrive without a gap; `Infinity` while no events arrive. */
  gaplessSinceMs(): number;
  /** Whether no change stream is open or about to open, so that no seat is kept. */
  isPolling(): boolean;
  /** Whether the process has to listen for the sake of its kept seats. */
  listen(isListening: boolean): void;
  /** Asks the server about the lease of this attempt, which a read did not show as it was. */
  confirm(id: string): void;
}

/**
 * Finds out whether others wait for the seats that this process keeps.
 *
 * An open change stream costs the server processor time for every write of the whole replica set, so a process does not
 * listen for a seat that nobody uses. A keeper is *near* until none of its kept seats has been used for `wakeIdleMs`: it
 * listens. Otherwise it is *far*: it reads all its kept locks together once a second. It relies on such a read for two
 * seconds, so that the next caller of a kept seat need not ask the server. That use makes the keeper near again.
 *
 * A near keeper reads, too, as long as no events arrive, and once after each opening of the stream.
 */
export class KeeperWatch {
  readonly #surroundings: KeeperSurroundings;
  readonly #quietMs: number;
  /** The locks of which this process has a seat that it may keep. */
  readonly #locks = new Set<Cached>();
  #isNear = false;
  #usedAtMs = -Infinity;
  /**
   * Until then a caller may come back for a seat that the process has no more. It wants the seat kept, which needs a
   * stream that was open before its request.
   */
  #missedUntilMs = -Infinity;
  #isReading = false;
  #gapCount = 0;
  #isClosed = false;
  #timer: Timer | undefined;

  constructor(surroundings: KeeperSurroundings) {
    this.#surroundings = surroundings;
    this.#quietMs = quietMsFor(surroundings.wakeIdleMs);
  }

  /** A caller of this process uses a seat that may be kept. */
  used(): void {
    this.#usedAtMs = this.#surroundings.clock.nowMs();
    if (this.#isNear || this.#isClosed) return;
    this.#isNear = true;
    this.#surroundings.listen(true);
    this.#schedule();
  }

  /** `hasSeats` of this lock may have changed. */
  changed(lock: Cached): void {
    if (lock.hasSeats) this.#locks.add(lock);
    else if (this.#locks.delete(lock)) this.#missedUntilMs = this.#surroundings.clock.nowMs() + lock.keepMs;
  }

  /** Events may have been missed. */
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
      (this.#locks.size > 0 ? untilMs : Math.max(untilMs, this.#missedUntilMs))
    );
  }

  /** Whether the process is far, or may become far: no caller uses its seats, and it has heard of others until now. */
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

  /** Reads all kept locks. A near keeper whose seats nobody uses any more is far after the answer. */
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
    // This read was sent before the last gap.
    if (this.#gapCount > gapCount) void this.#read();
  }

  /** Returns false if the store did not answer. */
  async #readSome(locks: readonly Cached[], isQuiet: boolean): Promise<boolean> {
    const { process, collection } = this.#surroundings;
    const asked = locks.map((lock) => ({ lock, seats: lock.ownSeats }));
    const names = [...new Set(locks.map(({ name }) => name))];
    const kinds = [...new Set(locks.map(({ seats }) => seats))];
    // The local state is enough. If it shows a waiter that is rolled back later, the process gives up a seat too early.
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

/** Without events, the process hears of a revocation, or of a lost document, only by its reads and its extensions. */
function isAsKnown(seat: OwnSeat, read: LeasesRead | undefined): boolean {
  const lease = read?.leases.find(({ id }) => id === seat.id);
  return lease !== undefined && (lease.ending !== true || seat.wasAskedToRelease);
}
