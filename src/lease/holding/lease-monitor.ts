import type { Clock, Timer } from '../../clock.js';
import type { Settings } from '../../options/provider-options.js';
import { DueQueue } from './due-queue.js';
import type { Due } from './due-queue.js';
import type { HeldLease } from './held-lease.js';
import type { Answers, Confirmation, LeaseExtender } from './lease-extender.js';

/** One seat that the monitor watches. */
interface Watched extends Due {
  /** The hold that uses the seat now. A kept seat passes from one hold to the next. */
  hold: HeldLease;
  /** Whether a caller has asked about this hold since the last batch with it was sent. */
  isAskedFor: boolean;
  /** The promise that the next batch with this hold settles. */
  pendingAnswer: PendingAnswer | undefined;
  /**
   * The largest batch that this hold joins. Halved when a batch fails, so that one bad document costs the others
   * little.
   */
  batchSize: number;
}

interface PendingAnswer {
  readonly answered: Promise<Confirmation>;
  answer(confirmation: Confirmation): void;
}

/** The most leases in one batch: a process may have thousands of leases of one semaphore. */
const MAX_BATCH = 2_048;

const MAX_DOCUMENTS = 256;

/**
 * On a quick server a batch has fewer documents, as long as about 40 batches are enough, because another client's write
 * waits for one batch at most. A slow server gets fewer and larger batches; otherwise the last one would come too late.
 */
const MIN_DOCUMENTS = 128;
const FEW_BATCHES = 40;
const QUICK_BATCH_MS = 50;

const MAX_BATCHES_IN_FLIGHT = 4;

/**
 * Batches run one after the other, so that thousands of leases use one of the server's processors at a time and not all
 * of them: this protects the p99 of other clients' writes. The next batch does not wait for one that takes longer than
 * this (E17).
 */
const SLOW_BATCH_MS = 200;

const MIN_RETRY_MS = 20;

/**
 * Extends every lease of one provider, in batches of documents: one update, then one read of the same documents, which
 * shows the leases of this process that are still live. A hold joins a batch when it is due, or when a caller asks
 * about it: to confirm it, because the process was suspended, or because its document may have changed.
 *
 * A hold that the read does not show is lost. A batch without an answer proves nothing: it is tried again, and its
 * holds stay until their own deadlines. Each try is bounded by a third of its shortest lease, and the next try does not
 * queue behind it, so at least two tries fit into a lease even if a primary is stuck (E17). No document is in two
 * batches at once, because concurrent updates of one document conflict.
 */
export class LeaseMonitor {
  readonly #extender: Pick<LeaseExtender, 'extend'>;
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #watched = new Map<string, Watched>();
  /** All seats except those that are in a batch, or wait for the end of one. */
  readonly #due = new DueQueue<Watched>();
  /** The documents that are in a batch, each with its other seats that came due in the meantime. */
  readonly #inFlight = new Map<string, Watched[]>();
  #timer: Timer | undefined;
  #timerAtMs = Infinity;
  #isTickQueued = false;
  #batchesInFlight = 0;
  #startedMs = -Infinity;
  /** Whether the last batch took less than `QUICK_BATCH_MS`. */
  #isServerQuick = false;

  constructor(extender: Pick<LeaseExtender, 'extend'>, settings: Settings, clock: Clock) {
    this.#extender = extender;
    this.#settings = settings;
    this.#clock = clock;
  }

  get holds(): readonly HeldLease[] {
    return [...this.#watched.values()].map(({ hold }) => hold);
  }

  get isEmpty(): boolean {
    return this.#watched.size === 0;
  }

  get(id: string): HeldLease | undefined {
    return this.#watched.get(id)?.hold;
  }

  add(hold: HeldLease): void {
    const dueMs = nextDueMs(hold, this.#clock);
    const idle = { isAskedFor: false, pendingAnswer: undefined, batchSize: MAX_BATCH, index: -1 };
    const watched: Watched = { hold, dueMs, ...idle };
    this.#watched.set(hold.id, watched);
    this.#due.set(watched, dueMs);
    this.#scheduleAt(dueMs);
  }

  /** The seat of `hold`, with its lease, has passed to `next`. */
  replace(hold: HeldLease, next: HeldLease): void {
    const watched = this.#watched.get(hold.id);
    if (watched?.hold === hold) watched.hold = next;
  }

  remove(hold: HeldLease): void {
    const watched = this.#watched.get(hold.id);
    if (watched?.hold !== hold) return;
    this.#watched.delete(hold.id);
    this.#due.delete(watched);
    watched.pendingAnswer?.answer({ type: 'lost' });
    if (this.#watched.size === 0) this.#stopTimer();
  }

  /**
   * Asks the server about one hold now, and extends it. The answer comes from a batch that is sent after this call,
   * because a batch in flight may have passed the document before the reason for this question. All questions of one
   * turn of the event loop share a batch.
   */
  ask(hold: HeldLease): Promise<Confirmation> {
    const watched = this.#watched.get(hold.id);
    if (watched === undefined) return Promise.resolve({ type: 'lost' });
    watched.pendingAnswer ??= newPendingAnswer();
    this.#dueNow(watched);
    return watched.pendingAnswer.answered;
  }

  /** Asks the server about all holds now, because something has happened to the whole collection. */
  askAboutAll(): void {
    for (const watched of this.#watched.values()) this.#dueNow(watched);
  }

  close(): void {
    this.#stopTimer();
    for (const { pendingAnswer } of this.#watched.values()) pendingAnswer?.answer({ type: 'lost' });
    this.#watched.clear();
    this.#due.clear();
  }

  #dueNow(watched: Watched): void {
    watched.isAskedFor = true;
    // A seat that is in a batch, or waits for one, becomes due when that batch ends.
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
   * When a batch that begins with this seat may be sent. If every slot is taken, the end of a batch starts the next
   * tick; each batch is bounded, so it does end.
   */
  #nextStartMs({ hold }: Watched): number {
    if (this.#batchesInFlight === 0) return -Infinity;
    if (this.#batchesInFlight >= MAX_BATCHES_IN_FLIGHT) return Infinity;
    return this.#startedMs + Math.min(SLOW_BATCH_MS, hold.grant.terms.extendEveryMs / 2);
  }

  /**
   * Takes the seats that are due, in the order in which they came due. A batch that extends any seat on schedule also
   * takes seats that come due within half of its period, so that holds which began at different times come to share
   * batches. A batch that only answers questions stays as small as they are.
   */
  #takeBatch(nowMs: number): readonly Watched[] {
    const batch: Watched[] = [];
    const names = new Set<string>();
    let [size, documents, takesEarly] = [MAX_BATCH, this.#documentsPerBatch, false];
    for (;;) {
      const { first: next } = this.#due;
      if (next === undefined || batch.length >= size) return batch;
      const { hold, isAskedFor } = next;
      const aheadMs = takesEarly ? hold.grant.terms.extendEveryMs / 2 : 0;
      if (next.dueMs > nowMs + aheadMs) return batch;
      const waiting = this.#inFlight.get(hold.name);
      if (waiting !== undefined) {
        waiting.push(next);
        this.#due.delete(next);
        continue;
      }
      if (!names.has(hold.name) && names.size >= documents) return batch;
      this.#due.delete(next);
      // Past the deadline, reading `ended` reports the loss, even if the timer is late.
      if (hold.ended !== undefined) continue;
      if (batch.length === 0) {
        size = next.batchSize;
        documents = Math.min(documents, size);
      }
      takesEarly ||= !isAskedFor;
      names.add(hold.name);
      batch.push(next);
    }
  }

  async #extend(batch: readonly Watched[]): Promise<void> {
    this.#batchesInFlight += 1;
    const startedMs = this.#clock.nowMs();
    this.#startedMs = startedMs;
    const names = [...new Set(batch.map(({ hold }) => hold.name))];
    for (const name of names) this.#inFlight.set(name, []);
    const pendingAnswers = batch.map(({ pendingAnswer }) => pendingAnswer);
    for (const watched of batch) {
      watched.pendingAnswer = undefined;
      watched.isAskedFor = false;
    }
    const holds = batch.map(({ hold }) => hold);
    const shortestLeaseMs = Math.min(...holds.map(({ grant }) => grant.terms.leaseMs));
    const boundMs = Math.min(this.#settings.storeTimeoutMs, shortestLeaseMs / 3);
    const answers = await this.#extender.extend(names, holds, boundMs, ({ id }) => this.get(id));
    const tookMs = this.#clock.nowMs() - startedMs;
    this.#isServerQuick = tookMs < QUICK_BATCH_MS;
    this.#batchesInFlight -= 1;
    const { confirmations } = answers;
    for (const [index, watched] of batch.entries()) {
      this.#reschedule(watched, answers, confirmations[index], batch.length, tookMs >= boundMs);
    }
    for (const name of names) {
      for (const watched of this.#inFlight.get(name) ?? []) this.#requeue(watched, watched.dueMs);
      this.#inFlight.delete(name);
    }
    for (const [index, pendingAnswer] of pendingAnswers.entries())
      pendingAnswer?.answer(confirmations[index] ?? { type: 'lost' });
    this.#tick();
  }

  /** @param isSlow - Whether the batch used up its time bound. */
  #reschedule(
    watched: Watched,
    { isRefused }: Answers,
    confirmation: Confirmation | undefined,
    size: number,
    isSlow: boolean,
  ): void {
    const { hold } = watched;
    const nowMs = this.#clock.nowMs();
    if (confirmation?.type === 'unknown') {
      // A batch that fails at once, for example without a primary, fails in any size. So its size stays.
      if (isRefused || isSlow) watched.batchSize = Math.ceil(size / 2);
      this.#requeue(watched, nowMs + retryPauseMs(hold));
    } else {
      watched.batchSize = MAX_BATCH;
      // Never at once, because the deadline of a revoked lease does not move.
      const notBeforeMs = nowMs + hold.grant.terms.extendEveryMs / 2;
      this.#requeue(watched, Math.max(nextDueMs(hold, this.#clock), notBeforeMs));
    }
  }

  /** Puts a seat back into the queue after a batch, unless its hold is over. */
  #requeue(watched: Watched, dueMs: number): void {
    if (this.#watched.get(watched.hold.id) !== watched) return;
    this.#due.set(watched, watched.isAskedFor ? Math.min(dueMs, this.#clock.nowMs()) : dueMs);
  }
}

/** When the hold is due: a third of a lease after its last confirmation, which follows from the deadline. */
function nextDueMs({ deadlineMs, grant }: HeldLease, clock: Clock): number {
  const { leaseMs, clockAllowanceMs, extendEveryMs } = grant.terms;
  const confirmedMs = deadlineMs + clockAllowanceMs - leaseMs;
  return Math.max(confirmedMs + extendEveryMs, clock.nowMs());
}

const retryPauseMs = ({ grant }: HeldLease): number =>
  Math.max(MIN_RETRY_MS, Math.min(grant.terms.extendEveryMs / 8, 500)) * (0.5 + Math.random() / 2);

function newPendingAnswer(): PendingAnswer {
  let answer!: PendingAnswer['answer'];
  const answered = new Promise<Confirmation>((resolve) => {
    answer = resolve;
  });
  return { answered, answer };
}
