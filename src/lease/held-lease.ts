import type { Clock, Moment, Timer } from '../clock.js';
import type { LossCause } from '../errors.js';
import type { LeaseTerms } from '../options/provider-options.js';
import type { Lease } from '../protocol/lock-document.js';
import type { Demand } from '../protocol/operation.js';
import type { Seats } from '../protocol/seats.js';

/** What a grant tells its process. */
export interface Grant {
  readonly name: string;
  readonly seats: Seats;
  readonly id: string;
  readonly token: number;
  readonly terms: LeaseTerms;
  /** How much of the lock was asked for. */
  readonly demand: Demand;
  /** When the hold counts as lost here: what was left of the lease when the request was sent, less the allowance. */
  readonly deadline: Moment;
  /** Of a seat that is passed on within this process; `undefined`: every release gives it back. */
  readonly kept?: KeptSeat | undefined;
  /** Until then a copy of the request, which nobody has answered, may still arrive; `undefined`: there is none. */
  readonly copyUntilMs?: number | undefined;
}

/** A seat that a process keeps between its callers. */
export interface KeptSeat {
  readonly keeper: SeatKeeper;
  /** How many holds of it came before this one: the stored token is that of the first. */
  readonly passes: number;
  /** How many more tokens are reserved for it. */
  readonly tokensLeft: number;
}

/** Whoever holds the object in memory; told at most once of each. */
export interface HoldObserver {
  lost(why: LossCause): void;
  releaseRequestedNow(): void;
}

/** Who keeps seats between the callers of a process. */
export interface SeatKeeper {
  /** How many tokens beyond its own a grant of it reserves. */
  readonly keeps: number;
  /** The server has granted a seat. */
  taken(): void;
  /** Whether the seat of this hold, which is about to end, may be passed on. */
  mayFollow(hold: HeldLease): boolean;
  /** This hold, which nobody has yet, follows one that was released. */
  follows(idle: HeldLease): void;
  /** The seat of this hold is given back, or lost. */
  gone(hold: HeldLease): void;
  /** Somebody waits for it. */
  othersWait(): void;
}

/** Clocks that are slewed, and read one after the other, drift apart by less without any suspension. */
const MIN_SUSPENSION_MS = 100;

/** Who sees to how a hold ends. */
export interface HoldOwner {
  lost(hold: HeldLease, why: LossCause): void;
  /** The hold has to be confirmed before it can be relied on again. */
  doubtful(hold: HeldLease): void;
}

/**
 * One hold, as this process believes it.
 *
 * - `held` until its deadline, which only an extension moves, and only forwards.
 * - `lost`: the deadline passed, or the server said so. Final: an extension that succeeds later does not revive it.
 * - `released`: by its owner. Final.
 *
 * The deadline is asked at every look, so a blocked event loop cannot make a dead hold look alive; the timer at the
 * deadline is only the early notice (L4), and needs no reply from anybody.
 */
export class HeldLease {
  readonly grant: Grant;
  #heldSinceMs: number;
  #isIdle: boolean;
  readonly #clock: Clock;
  readonly #owner: HoldOwner;
  #state: 'held' | 'lost' | 'released' = 'held';
  #token: number;
  #isChanging = false;
  #deadline: Moment;
  #timer: Timer | undefined;
  #isDoubted = false;
  #releaseRequested = false;
  #ended: LossCause | undefined;
  // Weak, so that a handle that everybody has forgotten can be collected and given back.
  #observer: WeakRef<HoldObserver> | undefined;
  #kept: HoldObserver | undefined;
  readonly #onEnded = new Set<() => void>();

  constructor(grant: Grant, clock: Clock, owner: HoldOwner) {
    this.grant = grant;
    this.#clock = clock;
    this.#owner = owner;
    this.#heldSinceMs = clock.nowMs();
    this.#isIdle = grant.kept !== undefined && grant.kept.passes > 0;
    this.#token = grant.token;
    this.#deadline = grant.deadline;
    this.#arm();
  }

  get id(): string {
    return this.grant.id;
  }

  get name(): string {
    return this.grant.name;
  }

  /** The fencing token: another one after each change of mode. */
  get token(): number {
    return this.#token;
  }

  /** What its lease is stored with. */
  get storedToken(): number {
    return this.#token - (this.grant.kept?.passes ?? 0);
  }

  /** Whether it is kept for whoever comes next, and nobody has it yet. */
  get isIdle(): boolean {
    return this.#isIdle;
  }

  /** Somebody has it from now on. */
  begin(): void {
    this.#isIdle = false;
    this.#kept = undefined;
    this.#heldSinceMs = this.#clock.nowMs();
  }

  /** The same seat, with the next of its tokens, for whoever follows. */
  follower({ keeper, passes, tokensLeft }: KeptSeat): HeldLease {
    const kept = { keeper, passes: passes + 1, tokensLeft: tokensLeft - 1 };
    const grant = { ...this.grant, token: this.#token + 1, deadline: this.#deadline, kept };
    return new HeldLease(grant, this.#clock, this.#owner);
  }

  /** Whether the hold can be relied on at this instant. */
  get isHeld(): boolean {
    return this.remainingMs > 0;
  }

  /** How long it can be relied on without an extension, in ms. */
  get remainingMs(): number {
    // Past the deadline the loss is told now, though the timer that would tell it is late.
    if (this.ended !== undefined || this.#isDoubtful()) return 0;
    return Math.max(0, this.#deadline.ms - this.#clock.nowMs());
  }

  /** Neither released nor lost: worth extending. Past the deadline it is not, though the timer may be late. */
  get isOpen(): boolean {
    return this.#state === 'held' && this.#clock.nowMs() < this.#deadline.ms;
  }

  get deadlineMs(): number {
    return this.#deadline.ms;
  }

  get heldMs(): number {
    return this.#clock.nowMs() - this.#heldSinceMs;
  }

  get wasAskedToRelease(): boolean {
    return this.#releaseRequested;
  }

  /** Why the hold is over; `undefined` while it is not. */
  get ended(): LossCause | undefined {
    if (this.#state === 'held' && this.#clock.nowMs() >= this.#deadline.ms) this.lose('expired');
    return this.#ended;
  }

  /**
   * Whether this is the lease of the hold, by an answer that was asked for when its token was `tokenThen`. Under one id
   * the token only rises, by changes of mode: one between then and now was read on the way, and one above what is known
   * is that of a change whose answer is still to come. A seat that is passed on keeps the token of its grant.
   */
  recognises({ id, token }: Lease, tokenThen: number): boolean {
    return id === this.id && token >= tokenThen && (this.#isChanging || token <= this.storedToken);
  }

  /** A change of mode is on its way: the stored token may be a higher one than is known here. */
  changing(): void {
    this.#isChanging = true;
  }

  /** The last change of mode is settled, with this token. */
  changed(token: number): void {
    this.#isChanging = false;
    this.#token = Math.max(this.#token, token);
  }

  /** Calls back when the hold is over, whichever way; at once if it is. Returns what ends that. */
  onEnded(callback: () => void): () => void {
    if (this.ended !== undefined) callback();
    else this.#onEnded.add(callback);
    return () => this.#onEnded.delete(callback);
  }

  observe(observer: HoldObserver): void {
    this.#observer = new WeakRef(observer);
  }

  /** Keeps the observer from being forgotten for as long as the hold lasts. */
  keep(observer: HoldObserver): void {
    if (this.#state === 'held') this.#kept = observer;
  }

  /**
   * An extension was confirmed. Without effect on a hold that is over, or past its deadline (final). The doubt of a
   * suspension goes only if the extension was sent after it: the deadline brings the clocks of its sending along.
   */
  extendTo(deadline: Moment): void {
    if (!this.isOpen) return;
    this.#isDoubted = false;
    this.#deadline = { ms: Math.max(deadline.ms, this.#deadline.ms), wallAheadMs: deadline.wallAheadMs };
    this.#arm();
  }

  /** Ends the hold against its owner's will. */
  lose(why: Exclude<LossCause, 'released'>): void {
    if (this.#state !== 'held') return;
    const observer = this.#kept ?? this.#observer?.deref();
    this.#end('lost', why);
    // Whoever works under the lock first.
    observer?.lost(why);
    this.#tellEnded();
    this.#owner.lost(this, why);
  }

  /** Ends the hold by its owner's will. False: it was over before. */
  release(): boolean {
    if (this.ended !== undefined) return false;
    this.#end('released', 'released');
    this.#tellEnded();
    return true;
  }

  /** True: whoever has it is told so now. */
  requestRelease(): boolean {
    if (this.#state !== 'held' || this.#releaseRequested) return false;
    this.#releaseRequested = true;
    (this.#kept ?? this.#observer?.deref())?.releaseRequestedNow();
    return !this.#isIdle;
  }

  #end(state: 'lost' | 'released', why: LossCause): void {
    this.#state = state;
    this.#kept = undefined;
    this.#ended = why;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #tellEnded(): void {
    for (const callback of this.#onEnded) callback();
    this.#onEnded.clear();
  }

  #arm(): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.at(this.#deadline.ms, () => {
      this.lose('expired');
    });
  }

  /**
   * The wall clock ran ahead of the monotonic one: the process was suspended, and the monotonic clock may have stood
   * still meanwhile (E19). The hold cannot be relied on until it is confirmed. A wall clock set back means nothing.
   */
  #isDoubtful(): boolean {
    const wallAheadMs = this.#clock.wallMs() - this.#clock.nowMs();
    const sleptMs = wallAheadMs - this.#deadline.wallAheadMs;
    const { clockAllowanceMs, transitionMs = 0 } = this.grant.terms;
    if (!this.#isDoubted && sleptMs > Math.max(clockAllowanceMs - transitionMs, MIN_SUSPENSION_MS)) {
      this.#isDoubted = true;
      this.#owner.doubtful(this);
    }
    return this.#isDoubted;
  }
}
