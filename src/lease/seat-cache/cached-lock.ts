import type { Clock, Timer } from '../../clock.js';
import { AcquireTimeoutError, ProviderClosedError } from '../../errors.js';
import type { Report } from '../../events.js';
import type { BegunRequest } from '../../options/request-options.js';
import type { Demand } from '../../protocol/operation.js';
import type { Reply } from '../../protocol/replies/reply.js';
import type { Seats } from '../../protocol/seats.js';
import { describeLease } from '../../protocol/replies/snapshot.js';
import type { LeaseInfo } from '../../protocol/replies/snapshot.js';
import { newAttemptId } from '../ids.js';
import type { SeatKeeper } from '../holding/grant.js';
import type { HeldLease } from '../holding/held-lease.js';
import { LocalQueue } from './local-queue.js';

/** What is asked for of a lock whose seats are kept. */
export interface CachedRequest extends BegunRequest {
  readonly demand: Demand;
  readonly keepMs: number;
}

/** What a kept lock needs of its process. */
export interface SeatCacheContext {
  readonly process: string;
  readonly clock: Clock;
  readonly report: Report;
  readonly closing: AbortSignal;
  /** Since when wake-ups arrive without a gap; infinitely late if they do not. */
  hearingSinceMs(): number;
  /** Gives a seat back that nobody here has. */
  discard(idle: HeldLease): void;
  /** Whether anything is kept, or may be, has changed. */
  changed(lock: CachedLock): void;
}

/**
 * Whether others wait for the lock. `none`: since an answer showed so, one of this process's leases has named it to
 * whoever came. `unknown`: nobody here knows, so nothing is kept.
 */
type Others = 'none' | 'unknown' | 'waiting';

/**
 * Tokens that are reserved with a grant: after so many passes the seat goes back once. A thousand tokens are a millisecond
 * of the clock that they are floored by, which must not fall behind them (E10); where many enter at once, fewer.
 */
const KEEPS_OF_ONE = 255;
const KEEPS_OF_MANY = 15;

/** Of a lease that is nearly over nobody is handed the rest. */
const LEAST_SHARE_LEFT = 1 / 3;

/**
 * The seats of one lock that this process keeps between its callers.
 *
 * A seat is passed on, with the next of its tokens, only while nobody else waits: the first who has to wait behind it
 * names this process in the same update, which gives up what is idle at once, and what is in use at its release (L3).
 * From then on every caller queues on the server like anybody, until an answer shows that nobody else is there.
 *
 * Where there is one seat, callers line up here while it is in use, instead of making the server pass it from one to the
 * next of them; where there are several, another may be free.
 */
export class CachedLock implements SeatKeeper {
  readonly name: string;
  readonly seats: Seats;
  readonly #context: SeatCacheContext;
  readonly #queue: LocalQueue;
  readonly #idle = new Map<HeldLease, Timer>();
  #others: Others = 'unknown';
  /** When that was asked which showed that nobody waits. */
  #noneSinceMs = -Infinity;
  #waitingSinceMs = -Infinity;
  /** Requests of this process on their way to the server, or in its queue. */
  #asking = 0;
  /** Seats that it has, idle or in use. */
  #seated = 0;
  #keepMs = 0;
  #holders: readonly LeaseInfo[] = [];

  constructor(name: string, seats: Seats, context: SeatCacheContext) {
    this.name = name;
    this.seats = seats;
    this.#context = context;
    this.#queue = new LocalQueue(name, context.clock, context.closing);
  }

  get keeps(): number {
    return this.#isSingle ? KEEPS_OF_ONE : KEEPS_OF_MANY;
  }

  get keepMs(): number {
    return this.#keepMs;
  }

  /** Whether there is anything to remember. */
  get isInUse(): boolean {
    return this.#asking > 0 || this.#seated > 0 || this.#queue.length > 0;
  }

  /** Whether whoever has to wait may name this process. */
  get hasSeats(): boolean {
    return this.#seated > 0;
  }

  /**
   * A seat of this process, at once or when its turn in the line has come.
   *
   * @param ask - Asks the server; called at most once.
   */
  async acquire(request: CachedRequest, ask: () => Promise<HeldLease>): Promise<HeldLease> {
    const { signal, keepMs } = request;
    signal?.throwIfAborted();
    if (this.#context.closing.aborted) throw new ProviderClosedError(this.name);
    if (keepMs > 0) this.#keepMs = keepMs;
    const idle = this.#takeIdle(request);
    if (idle !== undefined) return idle;
    if (!this.#mustLineUp(request)) {
      this.#beginToAsk();
      return await this.#ask(ask);
    }
    if (request.timeoutMs === 0) throw this.#timeout(0, this.#queue.length);
    const seat = await this.#queue.wait(request, (place) => this.#timeout(request.timeoutMs, place));
    // Whoever was sent to the server has been counted since.
    return seat ?? (await this.#ask(ask));
  }

  /** What any answer to a request of `sinceMs` shows of the lock. */
  note(reply: Reply, sinceMs: number): void {
    if (!reply.sound) return;
    const { process } = this.#context;
    this.#holders = reply.leases.map(describeLease);
    const { waiters, ownWaiters = 0 } = reply;
    // A caller of this process waits, though a seat is idle here: that seat does not suit it.
    if (ownWaiters > 0) this.#giveUpIdle();
    const isOfOthers = (lease: { readonly process: string }): boolean => lease.process !== process;
    // Behind the only seat of somebody else, nobody would name us to those who come after us.
    const isBehindOthers = this.#isSingle && reply.leases.some(isOfOthers);
    if (waiters > ownWaiters || isBehindOthers) this.othersWait();
    else if (reply.leases.some((lease) => !isOfOthers(lease) && (lease.keeps ?? 0) > 0)) {
      // Of an answer to something asked before, nobody knows which of the two came first.
      if (this.#others === 'waiting' && sinceMs < this.#waitingSinceMs) return;
      this.#others = 'none';
      this.#noneSinceMs = sinceMs;
    }
  }

  /** Somebody else waits: whatever nobody here uses is theirs, and all here queue like them. */
  othersWait(): void {
    this.#others = 'waiting';
    this.#waitingSinceMs = this.#context.clock.nowMs();
    this.#giveUpIdle();
    this.#dissolveLine();
  }

  // ---- what the holds tell

  taken(): void {
    this.#seated += 1;
    this.#context.changed(this);
    // It will not be passed on, so they queue like everybody.
    if (!this.#isOnlyOurs) this.#dissolveLine();
  }

  mayFollow(hold: HeldLease): boolean {
    return (hold.grant.kept?.tokensLeft ?? 0) > 0 && this.#mayPass(hold);
  }

  follows(idle: HeldLease): void {
    if (this.#queue.handTo(idle)) return;
    if (this.#queue.length > 0) {
      this.#giveUp(idle);
      return;
    }
    const giveUp = (): void => {
      this.#giveUp(idle);
    };
    idle.keep({ lost: () => undefined, releaseRequestedNow: giveUp });
    const { clock } = this.#context;
    this.#idle.set(idle, clock.at(clock.nowMs() + this.#keepMs, giveUp));
  }

  gone(hold: HeldLease): void {
    this.#forget(hold);
    this.#seated -= 1;
    if (this.#seated === 0) this.#unseated();
    this.#context.changed(this);
  }

  // ----

  get #isSingle(): boolean {
    return this.seats.kind === 'mutex';
  }

  /** Nobody else waits; whoever came while nobody listened is not known of. */
  get #isOnlyOurs(): boolean {
    return this.#others === 'none' && this.#context.hearingSinceMs() <= this.#noneSinceMs;
  }

  /** Whether whoever holds or keeps this seat may leave it to the next caller here. */
  #mayPass(seat: HeldLease): boolean {
    return (
      this.#isOnlyOurs &&
      this.#asking === 0 &&
      !seat.wasAskedToRelease &&
      seat.remainingMs >= seat.grant.terms.leaseMs * LEAST_SHARE_LEFT
    );
  }

  /** The only seat is this process's, or about to be, as far as it knows; or others are in line before this one. */
  #mustLineUp({ timeoutMs }: CachedRequest): boolean {
    if (!this.#isSingle) return false;
    const isAnswerToCome = this.#others === 'unknown' && this.#asking > 0 && this.#seated === 0;
    return (
      this.#queue.length > 0 ||
      (isAnswerToCome && timeoutMs > 0) ||
      (this.#isOnlyOurs && this.#asking + this.#seated > 0)
    );
  }

  /** What is idle and does not suit is in the way of a try, and of whoever wants the only seat. */
  #takeIdle({ terms, demand, timeoutMs }: CachedRequest): HeldLease | undefined {
    for (const idle of this.#idle.keys()) {
      const { grant } = idle;
      const isAlike = grant.terms.leaseMs === terms.leaseMs && grant.demand.permits === demand.permits;
      // A semaphore that has not met its stored limit yet has to ask.
      const mustAsk = demand.mustMatch === true || demand.setsLimit === true;
      if (isAlike && !mustAsk && this.#mayPass(idle)) {
        this.#forget(idle);
        idle.begin();
        return idle;
      }
      if (this.#isSingle || timeoutMs === 0) this.#giveUp(idle);
    }
    return undefined;
  }

  #beginToAsk(): void {
    this.#asking += 1;
    this.#context.changed(this);
  }

  async #ask(ask: () => Promise<HeldLease>): Promise<HeldLease> {
    try {
      return await ask();
    } finally {
      this.#asking -= 1;
      if (this.#seated === 0) this.#unseated();
      this.#context.changed(this);
    }
  }

  /**
   * Nobody names this process any more to those who come. Who of it is queued for the only seat has it by the very update
   * that ends the last one; where there are several, somebody else may have come in between.
   */
  #unseated(): void {
    if (!this.#isSingle && this.#others === 'none') this.#others = 'unknown';
    if (this.#asking > 0) return;
    this.#others = 'unknown';
    // The first in the line asks, and the others wait for the answer.
    if (this.#queue.sendFirst()) this.#beginToAsk();
  }

  #dissolveLine(): void {
    while (this.#queue.sendFirst()) this.#beginToAsk();
  }

  #giveUpIdle(): void {
    for (const idle of [...this.#idle.keys()]) this.#giveUp(idle);
  }

  #giveUp(idle: HeldLease): void {
    this.#forget(idle);
    this.#context.discard(idle);
  }

  #forget(idle: HeldLease): void {
    this.#idle.get(idle)?.cancel();
    this.#idle.delete(idle);
  }

  #timeout(waitedMs: number, place: number): AcquireTimeoutError {
    if (waitedMs > 0) {
      const { kind } = this.seats;
      this.#context.report('timeout', { lockName: this.name, kind, id: newAttemptId(), waitedMs });
    }
    return new AcquireTimeoutError(this.name, { holders: this.#holders, place, waitedMs });
  }
}
