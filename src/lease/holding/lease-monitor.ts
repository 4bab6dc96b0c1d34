import type { Clock, Timer } from '../../clock.js';
import type { Settings } from '../../options/provider-options.js';
import { DueQueue } from './due-queue.js';
import type { Answers, Confirmation, LeaseExtender } from './lease-extender.js';
import type { Seat } from './seat.js';
import { LOST, WatchedSeat } from './watched-seat.js';

/**
 * The most leases in one batch. A bound on documents is not enough: a process may have thousands of leases of one
 * semaphore.
 */
const MAX_LEASES = 2_048;

const MAX_DOCUMENTS = 256;

/**
 * How many documents a batch has at most: `MIN_DOCUMENTS` after a batch that took less than `QUICK_BATCH_MS`,
 * and else, also before the first batch has ended, `MAX_DOCUMENTS`. Small batches are better for other clients, whose
 * writes may wait for the end of a batch. On a slow server, few batches matter more, so that the last one is not late.
 * Also on a quick server the bound rises, up to `MAX_DOCUMENTS`, if all seats would need more than about `FEW_BATCHES`
 * batches.
 */
const MIN_DOCUMENTS = 128;
const FEW_BATCHES = 40;
const QUICK_BATCH_MS = 50;

const MAX_BATCHES_IN_FLIGHT = 4;

/**
 * Normally one batch is in flight, so that the extensions of thousands of leases use only one processor of the server
 * at a time: this protects the p99 latency of other clients' writes. But a primary may stand still (E17). So if a batch
 * has no answer `SLOW_BATCH_MS` after its start, the next batch starts beside it, up to `MAX_BATCHES_IN_FLIGHT` in all.
 * The next batch starts sooner if half of the `extendEveryMs` of its first seat is less than `SLOW_BATCH_MS`.
 */
const SLOW_BATCH_MS = 200;

/**
 * Extends every lease of one provider in batches of documents. A batch is one update and then a read of the same
 * documents, which shows which leases of the batch are still live. A seat joins a batch when its extension is due or
 * nearly due, or when `confirm` or `confirmAll` has asked for it.
 *
 * A seat that the read does not show is lost. A batch without an answer proves nothing: its seats stay until their own
 * deadlines, and the monitor tries them again. A primary may stand still (E17), so each batch is bounded by about a
 * third of its shortest lease, at most `storeTimeoutMs`, and a second try can follow before the lease ends. No document
 * is in two batches at once, because concurrent updates of one document conflict.
 */
export class LeaseMonitor {
  readonly #extender: Pick<LeaseExtender, 'extend'>;
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #watched = new Map<string, WatchedSeat>();
  /** All seats that are neither in a batch nor waiting for the end of a batch that contains their document. */
  readonly #due = new DueQueue<WatchedSeat>();
  /** The documents that are in a batch, by name. Each has the list of its other seats that came due meanwhile. */
  readonly #inFlight = new Map<string, WatchedSeat[]>();
  #timer: Timer | undefined;
  #timerAtMs = Infinity;
  #isTickQueued = false;
  #batchesInFlight = 0;
  #startedMs = -Infinity;
  #isServerQuick = false;

  constructor(extender: Pick<LeaseExtender, 'extend'>, settings: Settings, clock: Clock) {
    this.#extender = extender;
    this.#settings = settings;
    this.#clock = clock;
  }

  get allSeats(): readonly Seat[] {
    return [...this.#watched.values()].map(({ seat }) => seat);
  }

  get isEmpty(): boolean {
    return this.#watched.size === 0;
  }

  get(id: string): Seat | undefined {
    return this.#watched.get(id)?.seat;
  }

  add(seat: Seat): void {
    const watched = new WatchedSeat(seat);
    this.#watched.set(seat.id, watched);
    this.#due.set(watched, watched.dueMs);
    this.#scheduleAt(watched.dueMs);
  }

  remove({ id }: Seat): void {
    const watched = this.#watched.get(id);
    if (watched === undefined) return;
    this.#watched.delete(id);
    this.#due.delete(watched);
    watched.end();
    if (this.#watched.size === 0) this.#stopTimer();
  }

  /**
   * Asks the server about one seat as soon as a batch may start, and extends the seat. The answer comes from a batch
   * that is sent after this call: a batch in flight may have read the document before the change that the caller asks
   * about. If the seat ends before that batch is sent, the answer is `LOST`.
   */
  confirm({ id }: Seat): Promise<Confirmation> {
    const watched = this.#watched.get(id);
    if (watched === undefined) return Promise.resolve(LOST);
    const answer = watched.nextAnswer();
    this.#dueNow(watched);
    return answer;
  }

  confirmAll(): void {
    for (const watched of this.#watched.values()) this.#dueNow(watched);
  }

  close(): void {
    this.#stopTimer();
    for (const watched of this.#watched.values()) watched.end();
    this.#watched.clear();
    this.#due.clear();
  }

  #dueNow(watched: WatchedSeat): void {
    watched.isToConfirm = true;
    // An index below 0: the seat is not in `#due`, because it or another seat of its document is in a batch. It becomes
    // due when that batch ends.
    if (watched.index >= 0) this.#due.set(watched, Math.min(watched.dueMs, this.#clock.nowMs()));
    if (this.#isTickQueued) return;
    this.#isTickQueued = true;
    queueMicrotask(() => {
      this.#isTickQueued = false;
      this.#tick();
    });
  }

  get #documentsPerBatch(): number {
    return !this.#isServerQuick
      ? MAX_DOCUMENTS
      : Math.min(MAX_DOCUMENTS, Math.max(MIN_DOCUMENTS, Math.ceil(this.#watched.size / FEW_BATCHES)));
  }

  #stopTimer(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerAtMs = Infinity;
  }

  #scheduleAt(atMs: number): void {
    if (atMs >= this.#timerAtMs) return;
    this.#timer?.cancel();
    this.#timerAtMs = atMs;
    this.#timer = this.#clock.at(atMs, () => {
      this.#timerAtMs = Infinity;
      this.#tick();
    });
  }

  #tick(): void {
    const nowMs = this.#clock.nowMs();
    const { first } = this.#due;
    if (first !== undefined && Math.max(first.dueMs, this.#nextStartMs(first)) <= nowMs) {
      const batch = this.#takeBatch(nowMs);
      if (batch.length > 0) void this.#extend(batch);
    }
    const next = this.#due.first;
    if (next === undefined) return;
    const nextMs = Math.max(next.dueMs, this.#nextStartMs(next));
    if (nextMs < Infinity) this.#scheduleAt(nextMs);
  }

  /**
   * The earliest instant for sending a batch that begins with this seat. `Infinity` while `MAX_BATCHES_IN_FLIGHT`
   * batches are in flight: each batch is bounded in time, and its end starts the next tick.
   */
  #nextStartMs({ seat }: WatchedSeat): number {
    if (this.#batchesInFlight === 0) return -Infinity;
    if (this.#batchesInFlight >= MAX_BATCHES_IN_FLIGHT) return Infinity;
    return this.#startedMs + Math.min(SLOW_BATCH_MS, seat.grant.durations.extendEveryMs / 2);
  }

  /**
   * Takes the due seats in their order. A batch with an extension on schedule also takes seats that come due within
   * half of their own `extendEveryMs`, so that seats which began at different times come to share batches. A batch that
   * has only seats to confirm takes none early.
   */
  #takeBatch(nowMs: number): readonly WatchedSeat[] {
    const batch: WatchedSeat[] = [];
    const names = new Set<string>();
    let [size, documents, takesEarly] = [MAX_LEASES, this.#documentsPerBatch, false];
    for (;;) {
      const { first: next } = this.#due;
      if (next === undefined || batch.length >= size) return batch;
      const { seat, isToConfirm } = next;
      const aheadMs = takesEarly ? seat.grant.durations.extendEveryMs / 2 : 0;
      if (next.dueMs > nowMs + aheadMs) return batch;
      const waiting = this.#inFlight.get(seat.name);
      if (waiting !== undefined) {
        waiting.push(next);
        this.#due.delete(next);
        continue;
      }
      if (!names.has(seat.name) && names.size >= documents) return batch;
      this.#due.delete(next);
      // Past the deadline, `checkOpen` reports the loss even if the timer of the seat is late.
      if (!seat.checkOpen()) continue;
      if (batch.length === 0) {
        size = Math.min(MAX_LEASES, next.batchSize);
        documents = Math.min(documents, size);
      }
      takesEarly ||= !isToConfirm;
      names.add(seat.name);
      batch.push(next);
    }
  }

  async #extend(batch: readonly WatchedSeat[]): Promise<void> {
    this.#batchesInFlight += 1;
    const startedMs = this.#clock.nowMs();
    this.#startedMs = startedMs;
    const seatsOfBatch = batch.map(({ seat }) => seat);
    const names = [...new Set(seatsOfBatch.map(({ name }) => name))];
    for (const name of names) this.#inFlight.set(name, []);
    const pendingAnswers = batch.map((watched) => watched.sent());
    const shortestLeaseMs = Math.min(...seatsOfBatch.map(({ grant }) => grant.durations.leaseMs));
    const boundMs = Math.min(this.#settings.storeTimeoutMs, shortestLeaseMs / 3);
    const { confirmations, isRefused } = await this.#answers(names, seatsOfBatch, boundMs);
    const tookMs = this.#clock.nowMs() - startedMs;
    this.#isServerQuick = tookMs < QUICK_BATCH_MS;
    this.#batchesInFlight -= 1;
    const ended = { size: batch.length, isTooLarge: isRefused || tookMs >= boundMs };
    for (const [index, watched] of batch.entries()) {
      this.#requeue(watched, watched.dueAfter(confirmations[index] ?? LOST, ended));
    }
    for (const name of names) {
      for (const watched of this.#inFlight.get(name) ?? []) this.#requeue(watched, watched.dueMs);
      this.#inFlight.delete(name);
    }
    for (const [index, pendingAnswer] of pendingAnswers.entries())
      pendingAnswer?.answer(confirmations[index] ?? LOST);
    this.#tick();
  }

  async #answers(names: readonly string[], batch: readonly Seat[], boundMs: number): Promise<Answers> {
    try {
      return await this.#extender.extend(names, batch, boundMs);
    } catch (error) {
      // The code that handles the answer has thrown. The seats must be extended again, so each has an unknown outcome.
      return { confirmations: batch.map(() => ({ type: 'unknown', error })), isRefused: false };
    }
  }

  #requeue(watched: WatchedSeat, dueMs: number): void {
    if (this.#watched.get(watched.seat.id) !== watched) return;
    this.#due.set(watched, watched.isToConfirm ? Math.min(dueMs, this.#clock.nowMs()) : dueMs);
  }
}
