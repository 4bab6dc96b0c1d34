import { endOfTurn } from '../../clock.js';
import type { Timer } from '../../clock.js';
import type { Reply } from '../../protocol/replies/reply.js';
import { describeLease } from '../../protocol/replies/snapshot.js';
import type { LeaseInfo } from '../../protocol/replies/snapshot.js';
import type { KindRules } from '../../protocol/kind-rules.js';
import { throwIfOver } from '../../scope.js';
import { Hold } from '../holding/hold.js';
import type { Seat } from '../holding/seat.js';
import { localTimeout, mayServeAnother } from './cached-request.js';
import type { Cached, CachedRequest, SeatCacheContext } from './cached-request.js';
import { LocalQueue } from './local-queue.js';
import { OtherWaiters } from './other-waiters.js';

/**
 * The read seat of one reader-writer lock that this process keeps for its readers.
 *
 * While nobody waits for the lock, readers of the process share the seat, each with its own hold. A reader that asks
 * for another lease time than that of the seat does not share the seat. The deadline of the seat is checked before a
 * reader begins and at each use of its hold, because the lease of a kept seat may have expired.
 *
 * When a writer has to wait behind the seat, its update names this process in the field `wake`. From then on every new
 * reader queues on the server behind that writer (L3). When the last reader of the seat has ended, one update gives the
 * seat back. A writer of this process has the same effect, without `wake`. Readers share a seat again once an answer
 * shows that nobody waits.
 *
 * Only plain reads share the seat. A hold whose mode can change has its own lease.
 */
export class CachedReads implements Cached {
  readonly name: string;
  readonly rules: KindRules;
  readonly keeps = 1;
  readonly sharesToken = true;
  readonly #context: SeatCacheContext;
  readonly #others: OtherWaiters;
  /** The readers that wait here for the answer to the request of another reader. */
  readonly #queue: LocalQueue;
  /** The seat that new readers join. Any other read seat of this process ends with its last hold. */
  #shared: Seat | undefined;
  #idleTimer: Timer | undefined;
  /** The plain reads of this process that are in flight or in the queue on the server. */
  #askedReads = 0;
  /** The writes of this process that are in flight or in the queue on the server. */
  #askedWrites = 0;
  readonly #seats = new Set<Seat>();
  #keepMs = 0;
  #holders: readonly LeaseInfo[] = [];

  constructor(name: string, rules: KindRules, context: SeatCacheContext) {
    this.name = name;
    this.rules = rules;
    this.#context = context;
    this.#others = new OtherWaiters(context);
    this.#queue = new LocalQueue(name, context.clock, context.closing);
  }

  get keepMs(): number {
    return this.#keepMs;
  }

  get isInUse(): boolean {
    return this.#askedReads + this.#askedWrites + this.#seats.size + this.#queue.length > 0;
  }

  get hasSeats(): boolean {
    return this.#seats.size > 0;
  }

  get ownSeats(): readonly Seat[] {
    return [...this.#seats];
  }

  /**
   * Returns a hold of the kept seat, or of a seat from the server. If `#mustQueueHere` is true, a read first waits for
   * the server's answer to another reader of this process.
   */
  async acquire(request: CachedRequest, ask: () => Promise<Hold>): Promise<Hold> {
    throwIfOver(this.name, this.#context.closing, request.signal);
    const { mode } = request.demand;
    if (mode === 'write') return await this.#write(ask);
    if (mode === 'upgradeable') return await ask();
    if (request.keepMs > 0) this.#keepMs = request.keepMs;
    const seat = this.#seatFor(request);
    if (seat !== undefined) return this.#share(seat);
    if (!this.#mustQueueHere(request)) return await this.#read(ask, true);
    const hold = await this.#queue.wait(request, (place) =>
      localTimeout(this, this.#context, { holders: this.#holders, place, waitedMs: request.timeoutMs }),
    );
    // If there is no hold, this request must ask the server. `#sendFirst` has already counted the request in
    // `#askedReads`.
    return hold ?? (await this.#read(ask, false));
  }

  note(reply: Reply, sinceMs: number): void {
    if (!reply.isWellFormed) return;
    const { process } = this.#context;
    this.#holders = reply.leases.map(describeLease);
    // A waiter of this process counts, too: it may be a writer, and new readers must queue behind a writer.
    if (reply.waiters > 0 || reply.isWriterWaiting) this.othersWait();
    else if (reply.leases.some((lease) => lease.process === process && (lease.keeps ?? 0) > 0)) {
      this.#others.noneSeen(sinceMs);
      this.#serveQueue();
    }
  }

  noneWaits(sinceMs: number, reliedUntilMs: number): void {
    this.#others.noneRead(sinceMs, reliedUntilMs);
    this.#serveQueue();
  }

  /**
   * Called when a request or an upgrade waits for the lock, when a try of another process has failed, and when an
   * upgrade of this process begins. Gives back the seat if it is idle, and sends the readers in the local queue to the
   * server.
   */
  othersWait(): void {
    this.#others.oneWaits();
    this.#makeWay();
  }

  seatGranted(seat: Seat): void {
    this.#seats.add(seat);
    const before = this.#shared;
    if (before === undefined || !this.#mayShare(before)) {
      if (before?.isIdle === true) this.returnIdle(before);
      this.#shared = seat;
    }
    this.#context.changed(this);
    this.#context.used();
    this.#serveQueue();
    // If this seat may not be shared, the readers in the local queue must ask the server themselves.
    if (!this.#mayShare(seat)) this.#sendQueueToServer();
  }

  mayKeep(seat: Seat): boolean {
    return seat === this.#shared && this.#mayShare(seat);
  }

  keepIdle(idle: Seat): void {
    this.#context.used();
    const { clock } = this.#context;
    this.#idleTimer = clock.at(clock.nowMs() + this.#keepMs, () => {
      this.returnIdle(idle);
    });
  }

  returnIdle(idle: Seat): void {
    this.#forget(idle);
    this.#context.returnIdle(idle);
  }

  seatEnded(seat: Seat): void {
    this.#forget(seat);
    this.#seats.delete(seat);
    this.#settled();
  }

  /** Whether another reader may share this seat now. Has the side effects of `mayServeAnother`. */
  #mayShare(seat: Seat): boolean {
    return this.#others.isNone && this.#askedWrites === 0 && mayServeAnother(seat);
  }

  #seatFor({ durations }: CachedRequest): Seat | undefined {
    const seat = this.#shared;
    const isAlike = seat?.grant.durations.leaseMs === durations.leaseMs;
    return seat !== undefined && isAlike && this.#mayShare(seat) ? seat : undefined;
  }

  #share(seat: Seat): Hold {
    this.#context.used();
    this.#idleTimer?.cancel();
    return new Hold(seat);
  }

  /** Whether this reader waits here for the answer to another reader, which probably brings a seat to share. */
  #mustQueueHere({ timeoutMs }: CachedRequest): boolean {
    const mayBeShared = this.#context.gaplessSinceMs() < Infinity && this.#others.state !== 'waiting';
    return this.#askedReads > 0 && this.#askedWrites === 0 && mayBeShared && timeoutMs > 0;
  }

  async #read(ask: () => Promise<Hold>, isNew: boolean): Promise<Hold> {
    if (isNew) this.#readBegins();
    try {
      return await ask();
    } finally {
      this.#askedReads -= 1;
      this.#settled();
    }
  }

  #readBegins(): void {
    this.#askedReads += 1;
    this.#context.changed(this);
  }

  /**
   * Asks the server for a write. Until this request has ended, no new reader shares the seat. So the write does not
   * wait for later readers of this process.
   */
  async #write(ask: () => Promise<Hold>): Promise<Hold> {
    this.#askedWrites += 1;
    this.#context.changed(this);
    const isBehindReaders = this.#queue.length > 0;
    this.#makeWay();
    try {
      // The readers that waited here ask the server first, because they came first (L3).
      if (isBehindReaders) await endOfTurn(this.#context.clock);
      return await ask();
    } finally {
      this.#askedWrites -= 1;
      this.#settled();
    }
  }

  #makeWay(): void {
    if (this.#shared?.isIdle === true) this.returnIdle(this.#shared);
    this.#sendQueueToServer();
  }

  /** Called when a request or a seat has ended. */
  #settled(): void {
    // Without a seat, new waiters do not notify this process, so it cannot assume any more that nobody waits.
    if (!this.hasSeats) this.#others.forget();
    this.#serveQueue();
    this.#context.changed(this);
  }

  /**
   * Lets the waiting readers share the seat. If no read of this process is in flight or in the queue on the server, the
   * first waiting reader asks the server.
   */
  #serveQueue(): void {
    const seat = this.#shared;
    while (seat !== undefined && this.#queue.length > 0 && this.#mayShare(seat)) {
      if (this.#queue.handTo(seat)) this.#idleTimer?.cancel();
      // The first reader wants another lease time, so it must ask the server.
      else this.#sendFirst();
    }
    if (this.#askedReads === 0) this.#sendFirst();
  }

  #sendQueueToServer(): void {
    while (this.#sendFirst());
  }

  #sendFirst(): boolean {
    const isSent = this.#queue.sendFirst();
    if (isSent) this.#readBegins();
    return isSent;
  }

  #forget(seat: Seat): void {
    if (this.#shared !== seat) return;
    this.#idleTimer?.cancel();
    this.#shared = undefined;
  }
}
