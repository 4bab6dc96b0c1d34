import type { Clock, Timer } from '../../clock.js';
import type { Settings } from '../../options/provider-options.js';
import { DueQueue } from './due-queue.js';
import type { Due } from './due-queue.js';
import type { HeldLease } from './held-lease.js';
import type { Answers, Confirmation, LeaseExtender } from './lease-extender.js';

/** What the monitor keeps of one hold. */
interface Watched extends Due {
  /** The hold that has the seat now: a seat may be passed on. */
  hold: HeldLease;
  /** Asked for since the last batch with this hold was sent. */
  isAskedFor: boolean;
  /** Whoever asked, and is answered by the next batch. */
  asker: Asker | undefined;
  /** In how large a batch it goes; halved when a batch fails, so that one bad document costs the others little. */
  batchSize: number;
}

interface Asker {
  readonly answered: Promise<Confirmation>;
  answer(confirmation: Confirmation): void;
}

/** In leases: a process may have thousands of one semaphore. */
const MAX_BATCH = 2_048;

const MAX_DOCUMENTS = 256;

/**
 * Fewer documents a batch, where they are few enough all the same and the server is quick: somebody else's write waits
 * for one batch at most. A slow server gets fewer and larger ones, or the last would come too late.
 */
const MIN_DOCUMENTS = 128;
const FEW_BATCHES = 40;
const QUICK_BATCH_MS = 50;

const MAX_BATCHES_IN_FLIGHT = 4;

/**
 * One batch follows the other, so that thousands of leases take one of the server's processors at a time and not all
 * (the p99 of somebody else's writes); only behind one that takes as long as this, the next does not queue (E17).
 */
const SLOW_BATCH_MS = 200;

const MIN_RETRY_MS = 20;

/**
 * Extends every lease of one provider, in batches of documents: one update, then one read of the same documents that
 * tells which leases are still this process's and live. A hold goes into a batch when it is due, or when somebody asks
 * about it: to confirm it, because the process was suspended, or because its document may have changed.
 *
 * A hold that is not shown is lost. A batch without an answer says nothing: it is tried again, and its holds stay until
 * their own deadlines. Each try is bounded by a third of its shortest lease and the next one does not queue behind it, so
 * that at least two fit into a lease though a primary is stuck (E17). No document is in two batches at once: updates of
 * one document that run side by side conflict.
 */
export class LeaseMonitor {
  readonly #extender: Pick<LeaseExtender, 'extend'>;
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #watched = new Map<string, Watched>();
  /** All of them but those that are in a batch, or wait for its end. */
  readonly #due = new DueQueue<Watched>();
  /** The documents that are in a batch, each with the holds that came due meanwhile. */
  readonly #inFlight = new Map<string, Watched[]>();
  #timer: Timer | undefined;
  #timerAtMs = Infinity;
  #isWoken = false;
  #batchesInFlight = 0;
  #startedMs = -Infinity;
  /** Whether the last batch was answered soon. */
  #isQuick = false;

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
    const idle = { isAskedFor: false, asker: undefined, batchSize: MAX_BATCH, place: -1 };
    const watched: Watched = { hold, dueMs, ...idle };
    this.#watched.set(hold.id, watched);
    this.#due.set(watched, dueMs);
    this.#scheduleAt(dueMs);
  }

  /** The seat of one hold has passed to another, lease and all. */
  replace(hold: HeldLease, next: HeldLease): void {
    const watched = this.#watched.get(hold.id);
    if (watched?.hold === hold) watched.hold = next;
  }

  remove(hold: HeldLease): void {
    const watched = this.#watched.get(hold.id);
    if (watched?.hold !== hold) return;
    this.#watched.delete(hold.id);
    this.#due.delete(watched);
    watched.asker?.answer({ type: 'lost' });
    if (this.#watched.size === 0) this.#stopTimer();
  }

  /**
   * Asks the server about one hold now, and extends it. The answer is that of a batch which is sent after this call: one
   * that is on its way may have passed the document before what called for this. All that is asked in one turn of the
   * event loop goes together.
   */
  ask(hold: HeldLease): Promise<Confirmation> {
    const watched = this.#watched.get(hold.id);
    if (watched === undefined) return Promise.resolve({ type: 'lost' });
    watched.asker ??= newAsker();
    this.#dueNow(watched);
    return watched.asker.answered;
  }

  /** Asks the server about all holds now: something happened to the whole collection. */
  askAboutAll(): void {
    for (const watched of this.#watched.values()) this.#dueNow(watched);
  }

  close(): void {
    this.#stopTimer();
    for (const { asker } of this.#watched.values()) asker?.answer({ type: 'lost' });
    this.#watched.clear();
    this.#due.clear();
  }

  #dueNow(watched: Watched): void {
    watched.isAskedFor = true;
    // One that is in a batch, or waits for its end, is due when that ends.
    if (watched.place >= 0) this.#due.set(watched, Math.min(watched.dueMs, this.#clock.nowMs()));
    if (this.#isWoken) return;
    this.#isWoken = true;
    queueMicrotask(() => {
      this.#isWoken = false;
      this.#tick();
    });
  }

  get #documentsPerBatch(): number {
    return !this.#isQuick
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
   * When a batch that begins with this one may be sent. With every slot taken, the end of a batch calls for the next
   * tick; a bound on each makes sure that there is one.
   */
  #nextStartMs({ hold }: Watched): number {
    if (this.#batchesInFlight === 0) return -Infinity;
    if (this.#batchesInFlight >= MAX_BATCHES_IN_FLIGHT) return Infinity;
    return this.#startedMs + Math.min(SLOW_BATCH_MS, hold.grant.terms.extendEveryMs / 2);
  }

  /**
   * What is due, in the order in which it came due. A batch that extends anything by its time takes along what will be due
   * before half of its period has passed, so that holds which began at different times come to share their batches; one
   * that answers questions alone stays as small as they are.
   */
  #takeBatch(nowMs: number): readonly Watched[] {
    const batch: Watched[] = [];
    const names = new Set<string>();
    let [size, documents, takesAlong] = [MAX_BATCH, this.#documentsPerBatch, false];
    for (;;) {
      const { first: next } = this.#due;
      if (next === undefined || batch.length >= size) return batch;
      const { hold, isAskedFor } = next;
      const aheadMs = takesAlong ? hold.grant.terms.extendEveryMs / 2 : 0;
      if (next.dueMs > nowMs + aheadMs) return batch;
      const waiting = this.#inFlight.get(hold.name);
      if (waiting !== undefined) {
        waiting.push(next);
        this.#due.delete(next);
        continue;
      }
      if (!names.has(hold.name) && names.size >= documents) return batch;
      this.#due.delete(next);
      // Asked first: past its deadline this tells the loss, though the timer that would tell it is late.
      if (hold.ended !== undefined) continue;
      if (batch.length === 0) {
        size = next.batchSize;
        documents = Math.min(documents, size);
      }
      takesAlong ||= !isAskedFor;
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
    const askers = batch.map(({ asker }) => asker);
    for (const watched of batch) {
      watched.asker = undefined;
      watched.isAskedFor = false;
    }
    const holds = batch.map(({ hold }) => hold);
    const shortestLeaseMs = Math.min(...holds.map(({ grant }) => grant.terms.leaseMs));
    const boundMs = Math.min(this.#settings.storeTimeoutMs, shortestLeaseMs / 3);
    const answers = await this.#extender.extend(names, holds, boundMs, ({ id }) => this.get(id));
    const tookMs = this.#clock.nowMs() - startedMs;
    this.#isQuick = tookMs < QUICK_BATCH_MS;
    this.#batchesInFlight -= 1;
    const { confirmations } = answers;
    for (const [index, watched] of batch.entries()) {
      this.#learn(watched, answers, confirmations[index], batch.length, tookMs >= boundMs);
    }
    for (const name of names) {
      for (const watched of this.#inFlight.get(name) ?? []) this.#queue(watched, watched.dueMs);
      this.#inFlight.delete(name);
    }
    for (const [index, asker] of askers.entries()) asker?.answer(confirmations[index] ?? { type: 'lost' });
    this.#tick();
  }

  /** @param isSlow - Whether the batch took all the time that it had. */
  #learn(
    watched: Watched,
    { isRefused }: Answers,
    confirmation: Confirmation | undefined,
    size: number,
    isSlow: boolean,
  ): void {
    const { hold } = watched;
    const nowMs = this.#clock.nowMs();
    if (confirmation?.type === 'unknown') {
      // What fails at once, as while there is no primary, fails in any size.
      if (isRefused || isSlow) watched.batchSize = Math.ceil(size / 2);
      this.#queue(watched, nowMs + retryPauseMs(hold));
    } else {
      watched.batchSize = MAX_BATCH;
      // Never at once: the deadline of a lease that somebody has asked for does not move.
      const notBeforeMs = nowMs + hold.grant.terms.extendEveryMs / 2;
      this.#queue(watched, Math.max(nextDueMs(hold, this.#clock), notBeforeMs));
    }
  }

  /** Puts one back that was in a batch, or waited for its end; unless its hold is over. */
  #queue(watched: Watched, dueMs: number): void {
    if (this.#watched.get(watched.hold.id) !== watched) return;
    this.#due.set(watched, watched.isAskedFor ? Math.min(dueMs, this.#clock.nowMs()) : dueMs);
  }
}

/** A third of a lease after the last confirmation, which the deadline tells. */
function nextDueMs({ deadlineMs, grant }: HeldLease, clock: Clock): number {
  const { leaseMs, clockAllowanceMs, extendEveryMs } = grant.terms;
  const confirmedMs = deadlineMs + clockAllowanceMs - leaseMs;
  return Math.max(confirmedMs + extendEveryMs, clock.nowMs());
}

const retryPauseMs = ({ grant }: HeldLease): number =>
  Math.max(MIN_RETRY_MS, Math.min(grant.terms.extendEveryMs / 8, 500)) * (0.5 + Math.random() / 2);

function newAsker(): Asker {
  let answer!: Asker['answer'];
  const answered = new Promise<Confirmation>((resolve) => {
    answer = resolve;
  });
  return { answered, answer };
}
