import type { Clock, Moment, Timer } from '../../clock.js';
import type { LossCause } from '../../errors.js';
import type { Lease } from '../../protocol/lock-document.js';
import type { Revocation } from '../../protocol/operation.js';
import type { Grant, HoldObserver, KeptSeat } from './grant.js';
import type { Standing } from './loss.js';

/** Clocks that are slewed, and read one after the other, drift apart by less without any suspension. */
const MIN_SUSPENSION_MS = 100;

/** Who sees to how a hold ends. */
export interface HoldOwner {
  /** @param mayBeStored - It was lost by its own deadline, and the server may still have the lease. */
  lost(hold: HeldLease, why: LossCause, mayBeStored: boolean): void;
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
  #revocation: Revocation | undefined;
  #ended: LossCause | undefined;
  #foundGone: LossCause | undefined;
  // Weak, so that a handle that everybody has forgotten can be collected and given back.
  #observer: WeakRef<HoldObserver> | undefined;
  #kept: HoldObserver | undefined;
  readonly #onEnded = new Set<() => void>();
  readonly #onCalled = new Set<() => void>();
  #called = '';

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

  /** What its lease was granted with. */
  get firstToken(): number {
    return this.grant.token - (this.grant.kept?.passes ?? 0);
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
    const { remainingMs, why } = this.standing();
    if (why === 'suspended' && !this.#isDoubted) {
      this.#isDoubted = true;
      this.#owner.doubtful(this);
    }
    return remainingMs;
  }

  /** As it can be relied on, without asking the server about a hold in doubt. */
  standing(): Standing {
    // Past the deadline the loss is told now, though the timer that would tell it is late.
    const why = this.ended ?? (this.#isDoubtful ? 'suspended' : undefined);
    const remainingMs = why === undefined ? Math.max(0, this.#deadline.ms - this.#clock.nowMs()) : 0;
    return { remainingMs, why };
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

  /** Who revoked it, and why; `undefined`: nobody, as far as is known. */
  get revocation(): Revocation | undefined {
    return this.#revocation;
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

  /** Calls back whenever somebody asks the leader who holds this for a run of a job. Returns what ends that. */
  onCalled(callback: () => void): () => void {
    this.#onCalled.add(callback);
    return () => this.#onCalled.delete(callback);
  }

  /** The mark of the last call, as the stored lease has it. */
  noteCall(called: string): void {
    if (called !== this.#called) for (const callback of this.#onCalled) callback();
    this.#called = called;
  }

  observe(observer: HoldObserver): void {
    this.#observer = new WeakRef(observer);
  }

  /** Keeps the observer from being forgotten, until it is let go or the hold ends. */
  keep(observer: HoldObserver): void {
    if (this.#state === 'held') this.#kept = observer;
  }

  letGo(observer: HoldObserver): void {
    if (this.#kept === observer) this.#kept = undefined;
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

  /**
   * Ends the hold against its owner's will. A lease that was revoked ends by its expiry or by force: either way that is
   * what ended the hold.
   */
  lose(cause: Exclude<LossCause, 'released' | 'revoked'>, revocation?: Revocation): void {
    if (this.#state !== 'held') return;
    this.#revocation = revocation ?? this.#revocation;
    const isRevoked = this.#revocation !== undefined && (cause === 'expired' || cause === 'evicted');
    const why = isRevoked ? 'revoked' : cause;
    const observer = this.#kept ?? this.#observer?.deref();
    this.#end('lost', why);
    // Whoever works under the lock first.
    observer?.lost(why);
    this.#tellEnded();
    this.#owner.lost(this, why, cause === 'expired');
  }

  /** Ends the hold by its owner's will. False: it was over before. */
  release(): boolean {
    if (this.ended !== undefined) return false;
    this.#end('released', 'released');
    this.#tellEnded();
    return true;
  }

  /** The release came too late: the server had no lease any more, and this is why. */
  wasGone(why: LossCause): void {
    this.#foundGone = why;
  }

  /** Why the release of this hold found no lease; `undefined`: it found one, or has not been answered. */
  get foundGone(): LossCause | undefined {
    return this.#foundGone;
  }

  /**
   * Asks for the lock politely. True: its holder is told so now.
   *
   * @param revocation - `undefined`: the provider closes.
   */
  requestRelease(revocation?: Revocation): boolean {
    if (this.#state !== 'held') return false;
    this.#revocation ??= revocation;
    if (this.#releaseRequested) return false;
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
  get #isDoubtful(): boolean {
    const wallAheadMs = this.#clock.wallMs() - this.#clock.nowMs();
    const sleptMs = wallAheadMs - this.#deadline.wallAheadMs;
    const { clockAllowanceMs } = this.grant.terms;
    return this.#isDoubted || sleptMs > Math.max(clockAllowanceMs, MIN_SUSPENSION_MS);
  }
}
