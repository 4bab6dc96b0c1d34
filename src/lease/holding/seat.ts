import type { Clock, Moment, Timer } from '../../clock.js';
import type { LossCause } from '../../errors.js';
import type { Lease } from '../../protocol/lock-document.js';
import type { Revocation } from '../../protocol/operation.js';
import { assertMove } from '../../state-machine.js';
import type { Moves } from '../../state-machine.js';
import { wasSuspended } from '../deadline.js';
import type { Grant } from './grant.js';
import { countOf, listed, withHold, withoutHold } from './holds-of-seat.js';
import type { HoldsOfSeat, SeatHold } from './holds-of-seat.js';
import type { Standing } from './loss.js';

export interface SeatListener {
  /**
   * @param holds - The holds that the loss has ended.
   * @param mayBeStored - Whether only the deadline has passed, so that the server may still have the lease.
   */
  lost(seat: Seat, holds: readonly SeatHold[], why: LossCause, mayBeStored: boolean): void;
  /** The process cannot rely on the seat until the server has confirmed it. */
  doubtful(seat: Seat): void;
}

/** Keeps the seats of one lock from one caller of this process to the next. */
export interface SeatKeeper {
  /**
   * How many tokens a request asks to reserve beyond its own. If all holds share one token, any number above 0 tells
   * the server that the process may keep the seat.
   */
  readonly keeps: number;
  /**
   * Whether all holds of a seat have the same token. Holds that do not exclude each other need no tokens of their own.
   */
  readonly sharesToken: boolean;
  seatGranted(seat: Seat): void;
  /** Whether this seat may stay in the process after the release of its hold. */
  mayKeep(seat: Seat): boolean;
  keepIdle(seat: Seat): void;
  /** Called when the release of the idle seat was requested: gives the seat back. */
  returnIdle(seat: Seat): void;
  /** Called when the seat was given up or lost. */
  seatEnded(seat: Seat): void;
  /**
   * Called when a request or an upgrade waits behind the seats of this lock, when a try of another process has failed,
   * or when the holders exceed a new limit. The keeper gives back the idle seats at once. No further caller uses a seat
   * of the keeper, except by bounded passes.
   */
  othersWait(): void;
}

const NO_HOLDS = [] as const;

type State = 'live' | 'lost' | 'given up';

const MOVES: Moves<State> = {
  live: ['lost', 'given up'],
  lost: [],
  'given up': [],
};

/**
 * One stored lease, as far as this process knows. Callers use the seat through holds; a kept seat without a hold is
 * idle.
 *
 * - `live`: until its deadline. Only an answer of the server moves the deadline. The deadline moves backwards only
 *   while the seat is doubtful. → `lost`, with each of its holds, when the deadline has passed, the server says that
 *   the lease is gone, or the provider closes; → `given up`, when the process needs the idle seat no longer.
 * - `lost`: final. A later extension does not revive the seat.
 * - `given up`: final. The move to this state sends nothing. The process then gives the lease back by a command, or
 *   lets the lease expire.
 *
 * Each check compares the clock with the deadline, so a check after a blocked event loop never takes an expired seat
 * for live (E18). The timer at the deadline reports the loss without waiting for a reply (L4). Unless the event loop is
 * blocked, the server cannot have given the seat to another process before this report.
 */
export class Seat {
  readonly grant: Grant;
  readonly clock: Clock;
  /** Set if the process may keep the seat between its callers. If `undefined`, every release gives the seat back. */
  readonly keeper: SeatKeeper | undefined;
  readonly #listener: SeatListener;
  // A field instead of a `StateMachine` object, to save memory: a process has thousands of seats.
  #state: State = 'live';
  #holds: HoldsOfSeat<SeatHold> = NO_HOLDS;
  #uses = 0;
  #storedToken: number;
  #isChanging = false;
  #deadline: Moment;
  #timer: Timer | undefined;
  #isDoubted = false;
  #wasAskedToRelease = false;
  #revocation: Revocation | undefined;

  constructor(grant: Grant, clock: Clock, listener: SeatListener, keeper?: SeatKeeper) {
    this.grant = grant;
    this.clock = clock;
    this.keeper = keeper;
    this.#listener = listener;
    this.#storedToken = grant.token;
    this.#deadline = grant.deadline;
    this.#arm();
  }

  get id(): string {
    return this.grant.id;
  }

  get name(): string {
    return this.grant.name;
  }

  get holds(): readonly SeatHold[] {
    return listed(this.#holds);
  }

  get isIdle(): boolean {
    return countOf(this.#holds) === 0;
  }

  get uses(): number {
    return this.#uses;
  }

  /**
   * Called when a hold begins to use the seat. Returns the token of the hold. If the holds share a token, each has
   * the token of the grant. Otherwise the first hold has the token of the grant, and each later hold the next token of
   * the block.
   */
  begin(hold: SeatHold): number {
    const token = this.grant.token + (this.keeper?.sharesToken === true ? 0 : this.#uses);
    this.#uses += 1;
    this.#holds = withHold(this.#holds, hold);
    return token;
  }

  leave(hold: SeatHold): void {
    this.#holds = withoutHold(this.#holds, hold);
  }

  get deadlineMs(): number {
    return this.#deadline.ms;
  }

  /** False after the deadline, even if the timer is late. */
  get isOpen(): boolean {
    return this.#state === 'live' && this.clock.nowMs() < this.#deadline.ms;
  }

  /** Whether the seat is open. If the deadline has passed, this call loses the seat. */
  checkOpen(): boolean {
    if (this.#state === 'live' && this.clock.nowMs() >= this.#deadline.ms) this.lose('expired');
    return this.#state === 'live';
  }

  /**
   * How long the process can rely on the seat without an extension, in ms. If the deadline has passed, this call loses
   * the seat. If the seat is doubtful, this call asks the server to confirm the seat. Further calls do not ask again
   * until an extension is confirmed.
   */
  checkRemainingMs(): number {
    this.checkOpen();
    const { remainingMs, why } = this.standing();
    if (why === 'suspended' && !this.#isDoubted) {
      this.#isDoubted = true;
      this.#listener.doubtful(this);
    }
    return remainingMs;
  }

  /** Whether and how long the process can rely on the seat. This call ends no hold and sends nothing. */
  standing(): Standing {
    if (!this.isOpen) return { remainingMs: 0, why: this.#causeOf('expired') };
    if (this.#isDoubtful) return { remainingMs: 0, why: 'suspended' };
    return { remainingMs: Math.max(0, this.#deadline.ms - this.clock.nowMs()), why: undefined };
  }

  /**
   * Called when the server has confirmed the lease, or granted an upgrade of it; `deadline` follows from an answer. No
   * effect if the seat is over or its old deadline has passed. If the process was suspended after it sent the request
   * for that answer, the seat stays doubtful, because `deadline.wallAheadMs` was measured at the sending.
   */
  extendTo(deadline: Moment): void {
    if (!this.isOpen) return;
    // A doubtful seat takes the new deadline: if the monotonic clock stood still during a suspension, the old deadline
    // is too late. Any other seat takes the later one of the two deadlines: an ending lease is confirmed without an
    // extension, so its new deadline may be earlier.
    const ms = this.#isDoubtful ? deadline.ms : Math.max(deadline.ms, this.#deadline.ms);
    this.#isDoubted = false;
    this.#deadline = { ms, wallAheadMs: deadline.wallAheadMs };
    this.#arm();
  }

  /** The token of the stored lease. The hold after a pass has a higher token, which the server does not store. */
  get storedToken(): number {
    return this.#storedToken;
  }

  /**
   * Whether `lease` is the lease of this seat. A late copy of the request may have got another lease under the same id,
   * with a higher token. So the token must lie between `tokenThen` and the stored token that is known now. While a
   * change of mode is in flight, the token may be higher, because that change may have raised it.
   *
   * @param tokenThen - The stored token that was known when the read of `lease` was requested.
   */
  recognises({ id, token }: Lease, tokenThen: number): boolean {
    return id === this.id && token >= tokenThen && (this.#isChanging || token <= this.#storedToken);
  }

  /** Called when a change of mode is sent. The stored token may then be higher than the token known here. */
  changing(): void {
    this.#isChanging = true;
  }

  /** Called when no change of mode is in flight any more; `token` is the token after the last change. */
  changed(token: number): void {
    this.#isChanging = false;
    this.#storedToken = Math.max(this.#storedToken, token);
  }

  get revocation(): Revocation | undefined {
    return this.#revocation;
  }

  get wasAskedToRelease(): boolean {
    return this.#wasAskedToRelease;
  }

  /**
   * Tells each hold that its release is requested, and gives back an idle seat. Returns the holds that this call has
   * told. A second call tells no hold. Without a `revocation`, the provider is closing.
   */
  requestRelease(revocation?: Revocation): readonly SeatHold[] {
    if (this.#state !== 'live') return NO_HOLDS;
    this.#revocation ??= revocation;
    if (this.#wasAskedToRelease) return NO_HOLDS;
    this.#wasAskedToRelease = true;
    const { holds } = this;
    if (this.isIdle) this.keeper?.returnIdle(this);
    for (const hold of holds) hold.requestRelease();
    return holds;
  }

  /**
   * Ends the seat and its holds without a release. For a revoked lease, the holds report `revoked` instead of `expired`
   * or `evicted`.
   */
  lose(cause: Exclude<LossCause, 'released' | 'revoked'>, revocation?: Revocation): void {
    if (this.#state !== 'live') return;
    this.#revocation = revocation ?? this.#revocation;
    const why = this.#causeOf(cause);
    this.#end('lost');
    const { holds } = this;
    this.#holds = NO_HOLDS;
    // Every hold is marked as lost before the first one is told: code that is told of one loss must see the other holds
    // of the seat as lost, too.
    for (const hold of holds) hold.lose(why);
    // The code under the lock is told before the listeners of events.
    for (const hold of holds) hold.tellEnd();
    this.#listener.lost(this, holds, why, cause === 'expired');
  }

  /** Ends an idle seat. Returns false if the seat is over or in use. */
  giveUp(): boolean {
    if (!this.isIdle || !this.checkOpen()) return false;
    this.#end('given up');
    return true;
  }

  get isGivenUp(): boolean {
    return this.#state === 'given up';
  }

  #causeOf(cause: Exclude<LossCause, 'released' | 'revoked'>): LossCause {
    const isRevoked = this.#revocation !== undefined && (cause === 'expired' || cause === 'evicted');
    return isRevoked ? 'revoked' : cause;
  }

  #end(state: 'lost' | 'given up'): void {
    assertMove(MOVES, this.#state, state);
    this.#state = state;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(): void {
    this.#timer?.cancel();
    // A bound method, because a closure would take more memory for each seat.
    this.#timer = this.clock.at(this.#deadline.ms, this.lose.bind(this, 'expired'));
  }

  /** Whether the server must confirm the seat, because the process may have been suspended (E19). */
  get #isDoubtful(): boolean {
    return this.#isDoubted || wasSuspended(this.#deadline, this.clock, this.grant.durations);
  }
}
