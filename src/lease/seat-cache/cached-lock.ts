import { withCallerFrames } from '../../caller-frames.js';
import type { AcquireTimeoutError } from '../../errors.js';
import type { Reply } from '../../protocol/replies/reply.js';
import type { KindRules } from '../../protocol/kind-rules.js';
import { describeLease } from '../../protocol/replies/snapshot.js';
import type { LeaseInfo } from '../../protocol/replies/snapshot.js';
import { NOT_KEPT } from '../../options/request-options.js';
import type { ParsedKeeping } from '../../options/request-options.js';
import { throwIfOver } from '../../scope.js';
import { Hold } from '../holding/hold.js';
import type { Seat } from '../holding/seat.js';
import { BoundedPasses } from './bounded-passes.js';
import { localTimeout, mayServeAnother } from './cached-request.js';
import type { Cached, CachedRequest, SeatCacheContext } from './cached-request.js';
import { IdleSeats } from './idle-seats.js';
import { LocalQueue } from './local-queue.js';
import { OtherWaiters } from './other-waiters.js';

/**
 * How many tokens a grant reserves for passes. After this many passes the process gives the seat back.
 *
 * If the document is lost, its tokens begin again at the server's clock in ms × 1,000. Tokens must not run ahead of
 * that clock, or the new tokens would be lower than earlier ones (E10). A grant of one seat takes 256 tokens, which is
 * about a quarter of a millisecond. A lock with several seats reserves fewer, because many attempts may enter at once.
 */
const TOKENS_OF_ONE_SEAT = 255;
const TOKENS_OF_MANY_SEATS = 15;

/**
 * The seats of one mutex or semaphore that this process keeps between its callers.
 *
 * Without the option `passes`, the process passes a seat on only while it knows that no other process waits. Each pass
 * takes the next token of the block. If the lock has one seat, a caller that finds the seat in use, or already
 * requested, joins a queue in this process, so that the server need not pass the seat between these callers
 * (`#mustQueueHere` has the conditions). If the lock has several seats, another seat may be free, so a caller that
 * finds no idle seat asks the server.
 *
 * When an attempt of another process has to wait behind a seat, its update names this process in the field `wake`. The
 * process then gives back idle seats at once, and seats in use at their release, and sends its callers to the server,
 * so that no caller overtakes that attempt (L3). The process keeps a seat again only after an answer has shown that no
 * other process waits.
 *
 * With the option `passes`, a bounded number of passes may follow although another process waits. If the lock has one
 * seat, the callers still queue here, behind one request of this process on the server. So callers of this process are
 * served in their order, and each grant to the process serves as many of them as the bound allows. However many seats
 * the lock has, a seat passes only while no request of this process is on the server.
 */
export class CachedLock implements Cached {
  readonly name: string;
  readonly rules: KindRules;
  readonly sharesToken = false;
  readonly #context: SeatCacheContext;
  readonly #queue: LocalQueue;
  readonly #idle: IdleSeats;
  readonly #others: OtherWaiters;
  readonly #boundedPasses: BoundedPasses;
  /** The requests of this process that are in flight or in the queue on the server. */
  #requestCount = 0;
  /** The seats that this process has, idle or in use. */
  readonly #seats = new Set<Seat>();
  #keeping: ParsedKeeping = NOT_KEPT;
  #holders: readonly LeaseInfo[] = [];

  constructor(name: string, rules: KindRules, context: SeatCacheContext) {
    this.name = name;
    this.rules = rules;
    this.#context = context;
    this.#others = new OtherWaiters(context);
    this.#boundedPasses = new BoundedPasses(context.clock);
    this.#queue = new LocalQueue(name, context.clock, context.closing);
    this.#idle = new IdleSeats(context.clock, {
      hasOneSeat: this.#hasOneSeat,
      mayPass: (seat) => this.#mayPass(seat),
      returnIdle: (idle) => {
        this.returnIdle(idle);
      },
    });
  }

  get keeps(): number {
    return this.#hasOneSeat ? TOKENS_OF_ONE_SEAT : TOKENS_OF_MANY_SEATS;
  }

  get keepMs(): number {
    return this.#keeping.keepMs;
  }

  get isInUse(): boolean {
    return this.#requestCount > 0 || this.#seats.size > 0 || this.#queue.length > 0;
  }

  get hasSeats(): boolean {
    return this.#seats.size > 0;
  }

  get ownSeats(): readonly Seat[] {
    return [...this.#seats];
  }

  /** Returns a hold of an idle seat, of a seat that another caller passes on, or of a seat from the server. */
  async acquire(request: CachedRequest, ask: () => Promise<Hold>): Promise<Hold> {
    const { signal, keepMs, passes } = request;
    throwIfOver(this.name, this.#context.closing, signal);
    if (keepMs > 0) this.#keeping = { keepMs, passes };
    const idle = this.#takeIdle(request);
    if (idle !== undefined) return new Hold(idle);
    if (!this.#mustQueueHere(request)) {
      this.#requestBegins();
      return await this.#sendRequest(ask);
    }
    if (request.timeoutMs === 0) throw withCallerFrames(() => this.#reportTimeout(0, this.#queue.length));
    const hold = await this.#queue.wait(request, (place) => this.#reportTimeout(request.timeoutMs, place));
    // If the local queue gave no hold, this request must ask the server. `#requestCount` has included the request since
    // it left the local queue.
    return hold ?? (await this.#sendRequest(ask));
  }

  note(reply: Reply, sinceMs: number): void {
    if (!reply.isWellFormed) return;
    const { process } = this.#context;
    this.#holders = reply.leases.map(describeLease);
    const { waiters, ownWaiters = 0 } = reply;
    // A request of this process is in the queue on the server. An idle seat that is given back may serve that request.
    if (ownWaiters > 0) this.#idle.returnAll();
    const isOfOthers = (lease: { readonly process: string }): boolean => lease.process !== process;
    for (const lease of reply.leases) if (isOfOthers(lease)) this.#boundedPasses.othersSeen(lease.token);
    // While another process has the only seat, a new waiter behind that seat does not notify this process.
    const isBehindOthers = this.#hasOneSeat && reply.leases.some(isOfOthers);
    if (waiters > ownWaiters || isBehindOthers) this.othersWait();
    else if (reply.leases.some((lease) => !isOfOthers(lease) && (lease.keeps ?? 0) > 0)) {
      // No other process waits, and an attempt that has to wait behind this lease will notify this process.
      this.#others.noneSeen(sinceMs);
      if (this.#others.state === 'none') this.#boundedPasses.noneWaits();
    }
  }

  noneWaits(sinceMs: number, reliedUntilMs: number): void {
    this.#others.noneRead(sinceMs, reliedUntilMs);
  }

  /**
   * Called when another process waits, has failed with a try or has the only seat, or when a new limit is exceeded.
   * Gives back all idle seats. Sends the callers in the local queue to the server, each for a place of its own, unless
   * all callers of this process share one place.
   */
  othersWait(): void {
    this.#others.oneWaits();
    this.#idle.returnAll();
    this.#othersMayWait();
  }

  seatGranted(seat: Seat): void {
    this.#seats.add(seat);
    this.#boundedPasses.granted(seat.storedToken);
    this.#context.changed(this);
    this.#context.used();
    if (!this.#others.isNone) this.#othersMayWait();
  }

  mayKeep(seat: Seat): boolean {
    const isTokenLeft = seat.uses <= this.keeps;
    return isTokenLeft && this.#mayPass(seat);
  }

  keepIdle(idle: Seat): void {
    this.#context.used();
    if (this.#queue.handTo(idle)) this.#passed();
    else if (this.#queue.length > 0) this.returnIdle(idle);
    else this.#idle.add(idle, this.#others.isNone ? this.#keeping.keepMs : undefined);
  }

  returnIdle(idle: Seat): void {
    this.#idle.delete(idle);
    this.#context.returnIdle(idle);
  }

  seatEnded(seat: Seat): void {
    this.#idle.delete(seat);
    this.#seats.delete(seat);
    if (!this.hasSeats) this.#lastSeatEnded();
    this.#context.changed(this);
  }

  get #hasOneSeat(): boolean {
    return this.rules.kind === 'mutex';
  }

  /** Whether this seat may pass to the next caller in this process. Has the side effects of `mayServeAnother`. */
  #mayPass(seat: Seat): boolean {
    const isAllowed = this.#others.isNone || this.#mayOvertake;
    return isAllowed && this.#requestCount === 0 && mayServeAnother(seat);
  }

  /** Whether one more pass may begin although another process waits. */
  get #mayOvertake(): boolean {
    const { state, isStreamOpen } = this.#others;
    return state === 'waiting' && isStreamOpen && this.#boundedPasses.isLeft(this.#keeping);
  }

  /** Called when one caller of this process has released a seat and the next caller of this process has got it. */
  #passed(): void {
    if (this.#others.state === 'waiting') this.#boundedPasses.passed();
  }

  /** Whether all callers of this process have to share one place on the server whenever another process may wait. */
  get #sharesPlace(): boolean {
    return this.#hasOneSeat && this.#keeping.passes > 0 && this.#others.isStreamOpen;
  }

  /**
   * Whether this request queues in this process. Only for a lock with one seat, in one of these cases:
   *
   * - Other callers queue in this process already.
   * - This process has no seat and has another request on the server, and this request is no try. In addition, the
   *   callers of this process share one place, or this process does not know whether another process waits.
   * - No other process waits, and this process has the seat or has asked the server for it.
   * - This process has the seat, and its callers share one place on the server.
   */
  #mustQueueHere({ timeoutMs }: CachedRequest): boolean {
    if (!this.#hasOneSeat) return false;
    const { state } = this.#others;
    const isAsked = this.#requestCount > 0 && !this.hasSeats;
    const isBehindRequest = isAsked && (state === 'unknown' || this.#sharesPlace);
    return (
      this.#queue.length > 0 ||
      (isBehindRequest && timeoutMs > 0) ||
      (this.#others.isNone && this.#requestCount + this.#seats.size > 0) ||
      (this.#sharesPlace && this.hasSeats)
    );
  }

  /** Called when `isNone` of `#others` is false: another process may wait. */
  #othersMayWait(): void {
    if (this.hasSeats && this.#others.state === 'waiting') this.#boundedPasses.oneWaits();
    // Callers without a shared place get their seats from the server, so the local queue moves there.
    if (!this.#sharesPlace) this.#sendQueueToServer();
  }

  #takeIdle(request: CachedRequest): Seat | undefined {
    const idle = this.#idle.take(request);
    if (idle === undefined) return undefined;
    this.#passed();
    this.#context.used();
    return idle;
  }

  #requestBegins(): void {
    this.#requestCount += 1;
    this.#context.changed(this);
  }

  async #sendRequest(ask: () => Promise<Hold>): Promise<Hold> {
    try {
      return await ask();
    } finally {
      this.#requestCount -= 1;
      if (!this.hasSeats) this.#lastSeatEnded();
      this.#context.changed(this);
    }
  }

  /**
   * Called when this process has no seat. New waiters then do not notify this process, so this process no longer
   * assumes that no other process waits. There is one exception: the lock has one seat, and a request of this process
   * is on the server. If no other process waits, this request gets the free seat, and then new waiters notify this
   * process again.
   */
  #lastSeatEnded(): void {
    if (!this.#hasOneSeat && this.#others.state === 'none') this.#others.forget();
    if (this.#requestCount > 0) return;
    this.#others.forget();
    // The first caller in the local queue asks the server, and the other callers wait for the answer.
    if (this.#queue.sendFirst()) this.#requestBegins();
  }

  #sendQueueToServer(): void {
    while (this.#queue.sendFirst()) this.#requestBegins();
  }

  #reportTimeout(waitedMs: number, place: number): AcquireTimeoutError {
    return localTimeout(this, this.#context, { holders: this.#holders, place, waitedMs });
  }
}
