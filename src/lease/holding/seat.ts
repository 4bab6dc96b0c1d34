import type { Clock, Moment, Timer } from '../../clock.js';
import type { LossCause } from '../../errors.js';
import type { AttemptEvent } from '../../events.js';
import type { Lease } from '../../protocol/lock-document.js';
import type { Revocation } from '../../protocol/operation.js';
import { assertMove } from '../../state-machine.js';
import type { Moves } from '../../state-machine.js';
import { wasSuspended } from '../deadline.js';
import type { Grant } from './grant.js';
import { countOf, listed, withHold, withoutHold } from './holds-of-seat.js';
import type { HoldsOfSeat } from './holds-of-seat.js';
import type { Standing } from './loss.js';

/** A hold, as its seat sees it: always a `Hold`. This file cannot import hold.ts, which imports this file. */
export interface SeatHold {
  readonly event: AttemptEvent & { readonly fencingToken: number };
  readonly heldMs: number;
  /** The seat is lost, and so is the hold. No other code hears of the loss before `tellEnd`. */
  lose(why: LossCause): void;
  tellEnd(): void;
  requestRelease(): void;
  /** @param nonce - The nonce of the last call for a run of a job, as the stored lease shows it. */
  noteCall(nonce: string): void;
}

/** Hears that a seat is lost or doubtful. */
export interface SeatListener {
  /**
   * @param holds - The holds that the loss has ended.
   * @param mayBeStored - Whether only the deadline has passed, so that the server may still have the lease.
   */
  lost(seat: Seat, holds: readonly SeatHold[], why: LossCause, mayBeStored: boolean): void;
  /** The process cannot rely on the seat until the server has confirmed it. */
  doubtful(seat: Seat): void;
}

/** Keeps the seats of one lock between the callers of this process. */
export interface SeatKeeper {
  /**
   * The number of tokens that a request asks to reserve beyond its own. If all holds share one token, any number above
   * 0 tells the server that the process may keep the seat.
   */
  readonly keeps: number;
  /** Whether all holds of a seat have its token: holds that do not exclude each other need no tokens of their own. */
  readonly sharesToken: boolean;
  /** The server has granted this seat. */
  seatGranted(seat: Seat): void;
  /** Whether this seat, whose hold was released, may stay in the process. */
  mayKeep(seat: Seat): boolean;
  /** Takes the idle seat. */
  keepIdle(seat: Seat): void;
  /** Gives the idle seat back, because its release was requested. */
  returnIdle(seat: Seat): void;
  /** The seat is given back or lost. */
  seatEnded(seat: Seat): void;
  /**
   * Another process, a writer or an upgrade waits behind the seats of this lock, or a new limit is exceeded. The keeper
   * must give back idle seats, and lets no new hold begin, except by bounded passes.
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
 * One stored lease, as far as this process knows. Callers use it by holds; a kept seat without a hold is idle.
 *
 * - `live`: until its deadline. Only an answer of the server moves the deadline, and backwards only after a suspension.
 *   → `lost`, with each of its holds, when the deadline has passed, the server says that the lease is gone, or the
 *   provider closes; → `given up`, while it is idle.
 * - `lost`: final. A later extension does not revive the seat.
 * - `given up`: final. Giving up sends nothing: the process then gives the lease back by a command, or lets it expire.
 *
 * Each check compares the clock with the deadline, so after a blocked event loop no check takes an expired seat for
 * live (E18). The timer at the deadline reports the loss without waiting for a reply, before the server can give
 * the lease away (L4).
 */
export class Seat {
  readonly grant: Grant;
  readonly clock: Clock;
  /** Set if the process may keep the seat between its callers; `undefined`: every release gives the seat back. */
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

  // ---- its holds

  get holds(): readonly SeatHold[] {
    return listed(this.#holds);
  }

  get isIdle(): boolean {
    return countOf(this.#holds) === 0;
  }

  /** The number of holds that have begun to use the seat. */
  get uses(): number {
    return this.#uses;
  }

  /** A hold begins to use the seat. Returns its token: the next one of the block, or the one that all holds share. */
  begin(hold: SeatHold): number {
    const token = this.grant.token + (this.keeper?.sharesToken === true ? 0 : this.#uses);
    this.#uses += 1;
    this.#holds = withHold(this.#holds, hold);
    return token;
  }

  /** The hold was released. */
  leave(hold: SeatHold): void {
    this.#holds = withoutHold(this.#holds, hold);
  }

  // ---- until when the process can rely on the seat

  get deadlineMs(): number {
    return this.#deadline.ms;
  }

  /** Past the deadline the seat is not open, even if the timer is late. */
  get isOpen(): boolean {
    return this.#state === 'live' && this.clock.nowMs() < this.#deadline.ms;
  }

  /** Whether the seat is open. Past the deadline this loses the seat. */
  checkOpen(): boolean {
    if (this.#state === 'live' && this.clock.nowMs() >= this.#deadline.ms) this.lose('expired');
    return this.#state === 'live';
  }

  /**
   * How long the process can rely on the seat without an extension, in ms. Past the deadline this loses the seat. If
   * the seat is doubtful, this asks the server to confirm it, but only once until an extension is confirmed.
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

  /** Whether and how long the process can rely on a live seat. This call ends no hold and sends nothing. */
  standing(): Standing {
    if (!this.isOpen) return { remainingMs: 0, why: this.#causeOf('expired') };
    if (this.#isDoubtful) return { remainingMs: 0, why: 'suspended' };
    return { remainingMs: Math.max(0, this.#deadline.ms - this.clock.nowMs()), why: undefined };
  }

  /**
   * The server has confirmed the lease; `deadline` follows from its answer. No effect on a seat that is over or whose
   * deadline has passed. If the process was suspended after the extension was sent, the seat stays doubtful:
   * `deadline.wallAheadMs` was measured at the sending.
   */
  extendTo(deadline: Moment): void {
    if (!this.isOpen) return;
    // A doubtful seat gets the new deadline: if the clock stood still, the old one is too late. Any other seat keeps
    // the later one. The new one may be earlier, because an ending lease is confirmed without being extended.
    const ms = this.#isDoubtful ? deadline.ms : Math.max(deadline.ms, this.#deadline.ms);
    this.#isDoubted = false;
    this.#deadline = { ms, wallAheadMs: deadline.wallAheadMs };
    this.#arm();
  }

  // ---- the stored lease

  /** The token that the lease is stored with. */
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

  /** A change of mode is in flight: the stored token may be higher than the one known here. */
  changing(): void {
    this.#isChanging = true;
  }

  /** The last change of mode is settled; `token` is the token after it. */
  changed(token: number): void {
    this.#isChanging = false;
    this.#storedToken = Math.max(this.#storedToken, token);
  }

  // ---- the revocation and the end of the seat

  /** The revocation of the lease; `undefined` while none is known. */
  get revocation(): Revocation | undefined {
    return this.#revocation;
  }

  get wasAskedToRelease(): boolean {
    return this.#wasAskedToRelease;
  }

  /**
   * Tells each hold that its release is requested, and gives back an idle seat. Returns the holds that this call has
   * told: none if an earlier call told them. Without a `revocation`, the provider is closing.
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
   * Ends the seat and its holds against the will of their callers. For a revoked lease, `revoked` replaces the causes
   * `expired` and `evicted`.
   */
  lose(cause: Exclude<LossCause, 'released' | 'revoked'>, revocation?: Revocation): void {
    if (this.#state !== 'live') return;
    this.#revocation = revocation ?? this.#revocation;
    const why = this.#causeOf(cause);
    this.#end('lost');
    const { holds } = this;
    this.#holds = NO_HOLDS;
    // Mark all holds as lost before telling any: code that hears of one loss must find no other hold of the seat held.
    for (const hold of holds) hold.lose(why);
    // The code that works under the lock hears of the loss before any listener of an event.
    for (const hold of holds) hold.tellEnd();
    this.#listener.lost(this, holds, why, cause === 'expired');
  }

  /** Ends an idle seat. Returns false if the seat is over already, or if a hold still uses it. */
  giveUp(): boolean {
    if (!this.isIdle || !this.checkOpen()) return false;
    this.#end('given up');
    return true;
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

  /** Whether the server must confirm the seat, because the process was suspended (E19). */
  get #isDoubtful(): boolean {
    return this.#isDoubted || wasSuspended(this.#deadline, this.clock, this.grant.terms);
  }
}
