import type { Clock, Moment, Timer } from '../../clock.js';
import type { LossCause } from '../../errors.js';
import type { Lease } from '../../protocol/lock-document.js';
import type { Revocation } from '../../protocol/operation.js';
import type { Grant, HoldObserver, KeptSeat } from './grant.js';
import type { Standing } from './loss.js';

/** Without a suspension, the two clocks differ by less, even if they are slewed and read one after the other. */
const MIN_SUSPENSION_MS = 100;

/** Handles how holds end. */
export interface HoldOwner {
  /** @param mayBeStored - Whether only the deadline has passed, so that the server may still have the lease. */
  lost(hold: HeldLease, why: LossCause, mayBeStored: boolean): void;
  /** The process cannot rely on the hold until the server has confirmed it. */
  doubtful(hold: HeldLease): void;
}

/**
 * One hold, as this process believes it.
 *
 * - `held` until its deadline. Only an extension moves the deadline, and only forwards.
 * - `lost`: the deadline has passed, or the server has said so. Final: a later extension does not revive the hold.
 * - `released`: by its owner. Final.
 *
 * Every question compares the clock with the deadline, so a blocked event loop cannot make a dead hold look alive
 * (E18). The timer at the deadline only reports the loss early (L4), and needs no reply from the server.
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
  // Weak, so that a handle which no code refers to can be collected. Its lock is then released.
  #observer: WeakRef<HoldObserver> | undefined;
  #kept: HoldObserver | undefined;
  // Made when first used: two empty sets cost about 0.15 KB of an idle hold's 2 KB.
  #onEnded: Set<() => void> | undefined;
  #onCalled: Set<() => void> | undefined;
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

  /** The fencing token. Each change of mode brings a new one. */
  get token(): number {
    return this.#token;
  }

  /** The token that its lease is stored with. */
  get storedToken(): number {
    return this.#token - (this.grant.kept?.passes ?? 0);
  }

  /** The token that its lease was granted with. */
  get firstToken(): number {
    return this.grant.token - (this.grant.kept?.passes ?? 0);
  }

  /** Whether the seat is kept for the next caller, and no caller uses it yet. */
  get isIdle(): boolean {
    return this.#isIdle;
  }

  /** A caller uses the seat from now on. */
  beginUse(): void {
    this.#isIdle = false;
    this.#kept = undefined;
    this.#heldSinceMs = this.#clock.nowMs();
  }

  /** A new hold of the same seat, with the next token of its block, for the next caller. */
  nextHold({ keeper, passes, tokensLeft }: KeptSeat): HeldLease {
    const kept = { keeper, passes: passes + 1, tokensLeft: tokensLeft - 1 };
    const grant = { ...this.grant, token: this.#token + 1, deadline: this.#deadline, kept };
    return new HeldLease(grant, this.#clock, this.#owner);
  }

  /** Whether the process can rely on the hold at this instant. */
  get isHeld(): boolean {
    return this.remainingMs > 0;
  }

  /** How long the process can rely on the hold without an extension, in ms. Has a doubtful hold confirmed, once. */
  get remainingMs(): number {
    const { remainingMs, why } = this.standing();
    if (why === 'suspended' && !this.#isDoubted) {
      this.#isDoubted = true;
      this.#owner.doubtful(this);
    }
    return remainingMs;
  }

  /** Whether and how long the process can rely on the hold. Never sends anything, even if the hold is doubtful. */
  standing(): Standing {
    // Past the deadline this reports the loss now, because the timer may be late.
    const why = this.ended ?? (this.#isDoubtful ? 'suspended' : undefined);
    const remainingMs = why === undefined ? Math.max(0, this.#deadline.ms - this.#clock.nowMs()) : 0;
    return { remainingMs, why };
  }

  /** Neither released nor lost. Past the deadline it is not open, even if the timer is late. */
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

  /** The revocation of this hold; `undefined` while none is known. */
  get revocation(): Revocation | undefined {
    return this.#revocation;
  }

  /** Why the hold is over; `undefined` while it is not. Past the deadline, reading this loses the hold. */
  get ended(): LossCause | undefined {
    if (this.#state === 'held' && this.#clock.nowMs() >= this.#deadline.ms) this.lose('expired');
    return this.#ended;
  }

  /**
   * Whether `lease` is the lease of this hold. The answer that shows it was requested when the stored token was
   * `tokenThen`. Under one id the token only rises, by changes of mode. So a token between the two was read in between,
   * and a token above the known one comes from a change whose answer has not arrived. A seat that is passed on keeps
   * the stored token of its grant.
   */
  recognises({ id, token }: Lease, tokenThen: number): boolean {
    return id === this.id && token >= tokenThen && (this.#isChanging || token <= this.storedToken);
  }

  /** A change of mode is in flight: the stored token may be higher than the one known here. */
  changing(): void {
    this.#isChanging = true;
  }

  /** The last change of mode is settled; `token` is the token after it. */
  changed(token: number): void {
    this.#isChanging = false;
    this.#token = Math.max(this.#token, token);
  }

  /** Calls back when the hold is over, or at once if it is over already. Returns a function to unsubscribe. */
  onEnded(callback: () => void): () => void {
    if (this.ended !== undefined) callback();
    else (this.#onEnded ??= new Set()).add(callback);
    return () => this.#onEnded?.delete(callback);
  }

  /** Calls back whenever a process calls for a run of a job (`runNow`). Returns a function to unsubscribe. */
  onCalled(callback: () => void): () => void {
    (this.#onCalled ??= new Set()).add(callback);
    return () => this.#onCalled?.delete(callback);
  }

  /** Takes the mark of the last call from the stored lease. */
  noteCall(called: string): void {
    if (called !== this.#called) for (const callback of this.#onCalled ?? []) callback();
    this.#called = called;
  }

  observe(observer: HoldObserver): void {
    this.#observer = new WeakRef(observer);
  }

  /** Keeps a strong reference to the observer, until `letGo` or the end of the hold. */
  keep(observer: HoldObserver): void {
    if (this.#state === 'held') this.#kept = observer;
  }

  letGo(observer: HoldObserver): void {
    if (this.#kept === observer) this.#kept = undefined;
  }

  /**
   * The server has confirmed an extension. No effect on a hold that is over or past its deadline, because both are
   * final. A suspension stops counting only if the extension was sent after it: `deadline` carries the clock readings
   * of the sending.
   */
  extendTo(deadline: Moment): void {
    if (!this.isOpen) return;
    this.#isDoubted = false;
    this.#deadline = { ms: Math.max(deadline.ms, this.#deadline.ms), wallAheadMs: deadline.wallAheadMs };
    this.#arm();
  }

  /**
   * Ends the hold against its owner's will. A revoked lease ends by its expiry or by force; either way the cause is
   * `revoked`.
   */
  lose(cause: Exclude<LossCause, 'released' | 'revoked'>, revocation?: Revocation): void {
    if (this.#state !== 'held') return;
    this.#revocation = revocation ?? this.#revocation;
    const isRevoked = this.#revocation !== undefined && (cause === 'expired' || cause === 'evicted');
    const why = isRevoked ? 'revoked' : cause;
    const observer = this.#kept ?? this.#observer?.deref();
    this.#end('lost', why);
    // The code that works under the lock hears of the loss first.
    observer?.lost(why);
    this.#tellEnded();
    this.#owner.lost(this, why, cause === 'expired');
  }

  /** Ends the hold by its owner's will. Returns false if it was already over. */
  release(): boolean {
    if (this.ended !== undefined) return false;
    this.#end('released', 'released');
    this.#tellEnded();
    return true;
  }

  /** The release came too late: the server had no lease any more, for this reason. */
  releasedTooLate(why: LossCause): void {
    this.#foundGone = why;
  }

  /** Why the release of this hold found no lease; `undefined`: it found one, or there is no answer yet. */
  get foundGone(): LossCause | undefined {
    return this.#foundGone;
  }

  /**
   * Asks the holder to release the lock. Returns true if this call has told the holder so.
   *
   * @param revocation - `undefined`: the provider is closing.
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
    for (const callback of this.#onEnded ?? []) callback();
    this.#onEnded?.clear();
  }

  #arm(): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.at(this.#deadline.ms, () => {
      this.lose('expired');
    });
  }

  /**
   * Whether the wall clock has run ahead of the monotonic one. Then the process was suspended, the monotonic clock may
   * have stood still meanwhile (E19), and the server must confirm the hold. A wall clock set back means nothing.
   */
  get #isDoubtful(): boolean {
    const wallAheadMs = this.#clock.wallMs() - this.#clock.nowMs();
    const sleptMs = wallAheadMs - this.#deadline.wallAheadMs;
    const { clockAllowanceMs } = this.grant.terms;
    return this.#isDoubted || sleptMs > Math.max(clockAllowanceMs, MIN_SUSPENSION_MS);
  }
}
