import { after } from '../clock.js';
import type { Clock, Moment, Timer } from '../clock.js';
import type { Report } from '../events.js';
import { countedLeaseMs } from '../options/provider-options.js';
import type { Settings } from '../options/provider-options.js';
import { extension, keptLeasesProjection, leasesProjection, readLeases } from '../protocol/extension.js';
import type { LeasesRead } from '../protocol/extension.js';
import { leftMs } from '../protocol/lock-document.js';
import type { Lease } from '../protocol/lock-document.js';
import type { LockCollection } from '../store/lock-collection.js';
import type { HeldLease } from './held-lease.js';

/** What asking the server about one hold told. */
export type Confirmation =
  | { readonly type: 'extended' }
  | { readonly type: 'lost' }
  /** No answer: it may still be ours, and is lost only at its own deadline. */
  | { readonly type: 'unknown'; readonly error: unknown };

/** What the monitor keeps of one hold. */
interface Watched {
  /** The one who has the seat now, if it is passed on. */
  hold: HeldLease;
  dueMs: number;
  isAsking: boolean;
  /** Halved when a batch fails, so that one bad document costs the others little. */
  batchSize: number;
}

const MAX_BATCH = 256;

/**
 * Smaller ones, where they are few enough all the same and the server is quick: somebody else's write waits for one of
 * them at most. A server that is slow gets fewer and larger ones, or the last would come too late.
 */
const MIN_BATCH = 128;
const FEW_BATCHES = 40;
const QUICK_BATCH_MS = 50;

const MAX_BATCHES_IN_FLIGHT = 4;

/**
 * One batch follows the other, so that thousands of leases take one of the server's processors at a time and not all
 * (the p99 of somebody else's writes); only behind one that takes as long as this, the next does not queue (E17).
 */
const SLOW_BATCH_MS = 200;

const MIN_RETRY_MS = 20;

/** However long the update took, its read gets a chance: without it the update was for nothing. */
const MIN_READ_MS = 50;

/**
 * Extends every lease of one provider, in batches of documents: one update, then one read of the same documents that
 * tells which leases are still this process's and live.
 *
 * A hold that is not shown is lost. A batch without an answer says nothing: it is tried again, in halves, and its holds
 * stay until their own deadlines. Each try is bounded by a third of its shortest lease and the next one does not queue
 * behind it, so that at least two fit into a lease though a primary is stuck (E17).
 */
export class LeaseMonitor {
  readonly #collection: LockCollection;
  readonly #process: string;
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #report: Report;
  readonly #watched = new Map<string, Watched>();
  #timer: Timer | undefined;
  #timerAtMs = Infinity;
  #batchesInFlight = 0;
  #startedMs = -Infinity;
  /** Whether the last batch was answered soon. */
  #isQuick = false;

  constructor(collection: LockCollection, process: string, settings: Settings, clock: Clock, report: Report) {
    this.#collection = collection;
    this.#process = process;
    this.#settings = settings;
    this.#clock = clock;
    this.#report = report;
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
    const watched: Watched = {
      hold,
      dueMs: nextDueMs(hold, this.#clock),
      isAsking: false,
      batchSize: MAX_BATCH,
    };
    this.#watched.set(hold.id, watched);
    this.#scheduleAt(watched.dueMs);
  }

  /** The seat of one hold has passed to another, lease and all. */
  replace(hold: HeldLease, next: HeldLease): void {
    const watched = this.#watched.get(hold.id);
    if (watched?.hold === hold) watched.hold = next;
  }

  remove(hold: HeldLease): void {
    if (this.#watched.get(hold.id)?.hold === hold) this.#watched.delete(hold.id);
    if (this.#watched.size === 0) this.#stopTimer();
  }

  /** Asks the server about one hold now, and extends it. */
  async confirm(hold: HeldLease): Promise<Confirmation> {
    const boundMs = this.#settings.storeTimeoutMs;
    const [confirmation = { type: 'lost' } as const] = await this.#ask([hold], boundMs);
    return confirmation;
  }

  /** Extends the holds under this name, or all, at the next opportunity: something happened to their documents. */
  hurry(name: string | null): void {
    const nowMs = this.#clock.nowMs();
    let isAny = false;
    for (const watched of this.#watched.values()) {
      if (name !== null && watched.hold.name !== name) continue;
      watched.dueMs = nowMs;
      isAny = true;
    }
    if (isAny) this.#tick();
  }

  close(): void {
    this.#stopTimer();
    this.#watched.clear();
  }

  get #batchSize(): number {
    return !this.#isQuick
      ? MAX_BATCH
      : Math.min(MAX_BATCH, Math.max(MIN_BATCH, Math.ceil(this.#watched.size / FEW_BATCHES)));
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

  /**
   * Extends what is due, and takes along what will be due before half of its period has passed: so holds that began at
   * different times come to share their batches.
   */
  #tick(): void {
    const nowMs = this.#clock.nowMs();
    const due = [...this.#watched.values()].filter(
      ({ hold, dueMs, isAsking }) =>
        !isAsking && hold.isOpen && dueMs <= nowMs + hold.grant.terms.extendEveryMs / 2,
    );
    const isAnyDue = due.some(({ dueMs }) => dueMs <= nowMs);
    if (isAnyDue) {
      due.sort((a, b) => a.dueMs - b.dueMs);
      const [first] = due;
      if (first !== undefined && nowMs >= this.#nextStartMs(first)) {
        void this.#extend(due.slice(0, Math.min(first.batchSize, this.#batchSize)));
      }
    }
    this.#scheduleNext();
  }

  #scheduleNext(): void {
    let nextMs = Infinity;
    for (const watched of this.#watched.values()) {
      const { dueMs, isAsking, hold } = watched;
      if (!isAsking && hold.isOpen) nextMs = Math.min(nextMs, Math.max(dueMs, this.#nextStartMs(watched)));
    }
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

  async #extend(batch: readonly Watched[]): Promise<void> {
    this.#batchesInFlight += 1;
    this.#startedMs = this.#clock.nowMs();
    for (const watched of batch) watched.isAsking = true;
    const shortestLeaseMs = Math.min(...batch.map(({ hold }) => countedLeaseMs(hold.grant.terms)));
    const boundMs = Math.min(this.#settings.storeTimeoutMs, shortestLeaseMs / 3);
    const holds = batch.map(({ hold }) => hold);
    const startedMs = this.#startedMs;
    const confirmations = await this.#ask(holds, boundMs);
    this.#isQuick = this.#clock.nowMs() - startedMs < QUICK_BATCH_MS;
    this.#batchesInFlight -= 1;
    for (const [index, watched] of batch.entries()) {
      watched.isAsking = false;
      if (confirmations[index]?.type === 'unknown') {
        watched.batchSize = Math.max(1, Math.ceil(batch.length / 2));
        watched.dueMs = this.#clock.nowMs() + retryPauseMs(watched.hold);
      } else {
        watched.batchSize = MAX_BATCH;
        // Never at once: the deadline of a lease that somebody has asked for does not move.
        const notBeforeMs = this.#clock.nowMs() + watched.hold.grant.terms.extendEveryMs / 2;
        watched.dueMs = Math.max(nextDueMs(watched.hold, this.#clock), notBeforeMs);
      }
    }
    this.#tick();
  }

  /** One update and one read, bounded together; applies what they tell to the holds. */
  async #ask(holds: readonly HeldLease[], boundMs: number): Promise<readonly Confirmation[]> {
    const names = [...new Set(holds.map(({ name }) => name))];
    const leaseMs = Math.max(...holds.map(({ grant }) => grant.terms.leaseMs));
    const retentionMs = Math.max(...holds.map(({ grant }) => grant.terms.retentionMs));
    const ids = holds.map(({ id }) => id);
    const kinds = [...new Set(holds.map(({ grant }) => grant.seats))];
    const pipeline = extension(kinds, ids, leaseMs, retentionMs);
    const tokens = holds.map(({ storedToken }) => storedToken);
    const endMs = this.#clock.nowMs() + boundMs;
    const updated = await this.#collection.updateMany(names, pipeline, boundMs);
    if (updated.type !== 'done') return holds.map(() => ({ type: 'unknown', error: updated.error }));
    const mayBeKept = holds.some(({ grant }) => grant.kept !== undefined);
    const projection = (mayBeKept ? keptLeasesProjection : leasesProjection)(kinds, this.#process);
    // A local read: the update was acknowledged by a majority, and a majority's read may be older than it.
    const leftToReadMs = Math.max(endMs - this.#clock.nowMs(), MIN_READ_MS);
    const read = await this.#collection.read(names, projection, 'local', leftToReadMs);
    if (read.type !== 'done') return holds.map(() => ({ type: 'unknown', error: read.error }));
    const documents = new Map(read.value.map(readLeases).map((document) => [document.name, document]));
    return holds.map((hold, index) => {
      const { [index]: tokenThen = hold.storedToken } = tokens;
      // The seat may have been passed on meanwhile, and its lease with it.
      const present = this.#watched.get(hold.id)?.hold ?? hold;
      return this.#apply(present, tokenThen, documents.get(hold.name), read.sentAt);
    });
  }

  #apply(hold: HeldLease, tokenThen: number, document: LeasesRead | undefined, sentAt: Moment): Confirmation {
    const { grant } = hold;
    const lease = document?.leases.find((candidate) => hold.recognises(candidate, tokenThen));
    if (document === undefined || lease === undefined) {
      hold.lose(document === undefined ? 'document-missing' : 'evicted');
      return { type: 'lost' };
    }
    const { leaseMs, clockAllowanceMs } = grant.terms;
    hold.extendTo(after(sentAt, leftMs(lease.expiresAt, document.nowMs, leaseMs) - clockAllowanceMs));
    this.#tell(hold, lease);
    if (document.othersWait) grant.kept?.keeper.othersWait();
    return { type: 'extended' };
  }

  #tell(hold: HeldLease, { ending }: Lease): void {
    const { id, name, grant } = hold;
    const event = { lockName: name, kind: grant.seats.kind, id, fencingToken: hold.token };
    if (ending !== true) {
      // Of a seat that nobody has, nobody wants to hear.
      if (hold.isIdle) return;
      this.#report('extended', { ...event, remainingMs: hold.remainingMs });
    } else if (hold.requestRelease()) {
      this.#report('releaseRequested', event);
    }
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
