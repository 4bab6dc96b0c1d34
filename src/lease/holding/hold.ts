import type { LossCause } from '../../errors.js';
import type { AttemptEvent } from '../../events.js';
import type { Revocation } from '../../protocol/operation.js';
import { assertMove } from '../../state-machine.js';
import type { Moves } from '../../state-machine.js';
import type { Grant } from './grant.js';
import type { SeatHold } from './holds-of-seat.js';
import type { Standing } from './loss.js';
import type { Seat } from './seat.js';

/** The handle of a hold, as the hold sees it. The hold calls each method at most once. */
export interface HoldObserver {
  lost(why: LossCause): void;
  releaseRequestedNow(): void;
}

type State = 'held' | 'lost' | 'released';

const MOVES: Moves<State> = {
  held: ['lost', 'released'],
  lost: [],
  released: [],
};

/**
 * One caller's use of a seat. This class is internal: a caller sees its hold through the interface `Hold` of
 * lock-handle.ts.
 *
 * - `held`: while its seat is live. → `lost`, together with the seat; → `released`, by the caller, or by the library on
 *   behalf of the caller.
 * - `lost` and `released`: final.
 */
export class Hold implements SeatHold {
  readonly seat: Seat;
  // A field instead of a `StateMachine` object, to save memory: a process has thousands of holds.
  #state: State = 'held';
  #token: number;
  readonly #heldSinceMs: number;
  #wasAskedToRelease = false;
  #ended: LossCause | undefined;
  #foundGone: LossCause | undefined;
  // Weak, so that a handle to which no code refers can be collected. The library then releases the lock.
  #observer: WeakRef<HoldObserver> | undefined;
  #strongObserver: HoldObserver | undefined;
  // Made at the first use: a hold takes about 2 KB, and two empty sets would add 0.3 KB.
  #onEnded: Set<() => void> | undefined;
  #onCalled: Set<() => void> | undefined;
  /** The nonce of the last known call of `runNow`; empty before the first call. */
  #lastCall = '';

  constructor(seat: Seat) {
    this.seat = seat;
    this.#token = seat.begin(this);
    this.#heldSinceMs = seat.clock.nowMs();
  }

  get grant(): Grant {
    return this.seat.grant;
  }

  get id(): string {
    return this.seat.id;
  }

  get name(): string {
    return this.seat.name;
  }

  /** Each change of mode brings a new token. */
  get token(): number {
    return this.#token;
  }

  get heldMs(): number {
    return this.seat.clock.nowMs() - this.#heldSinceMs;
  }

  get event(): AttemptEvent & { readonly fencingToken: number } {
    const { id, name, rules } = this.grant;
    return { lockName: name, kind: rules.kind, id, fencingToken: this.#token };
  }

  /** Called when no change of mode is in flight any more; `token` is the token after the last change. */
  changed(token: number): void {
    this.#token = Math.max(this.#token, token);
    this.seat.changed(token);
  }

  /**
   * Why the hold is over; `undefined` while it is not. If the deadline has passed, this call loses the seat and the
   * hold.
   */
  checkEnd(): LossCause | undefined {
    if (this.#state === 'held') this.seat.checkOpen();
    return this.#ended;
  }

  /**
   * How long the process can rely on the hold without an extension, in ms. If the deadline has passed, this call loses
   * the hold. If the seat is doubtful, this call asks the server to confirm the seat, unless an earlier call has asked
   * since the last confirmed extension.
   */
  checkRemainingMs(): number {
    return this.#state === 'held' ? this.seat.checkRemainingMs() : 0;
  }

  /** Whether and how long the process can rely on the hold. This call ends no hold and sends nothing. */
  standing(): Standing {
    return this.#state === 'held' ? this.seat.standing() : { remainingMs: 0, why: this.#ended };
  }

  observe(observer: HoldObserver): void {
    this.#observer = new WeakRef(observer);
  }

  /** Keeps a strong reference to the observer until `letGo` or the end of the hold. */
  retain(observer: HoldObserver): void {
    if (this.#state === 'held') this.#strongObserver = observer;
  }

  letGo(observer: HoldObserver): void {
    if (this.#strongObserver === observer) this.#strongObserver = undefined;
  }

  /** Calls back once: when the hold is over, or at once if it is over already. Returns a function that unsubscribes. */
  onEnded(callback: () => void): () => void {
    if (this.checkEnd() !== undefined) callback();
    else (this.#onEnded ??= new Set()).add(callback);
    return () => this.#onEnded?.delete(callback);
  }

  /** Calls back when an extension shows a new call of `runNow`. Returns a function that unsubscribes. */
  onCalled(callback: () => void): () => void {
    (this.#onCalled ??= new Set()).add(callback);
    return () => this.#onCalled?.delete(callback);
  }

  noteCall(nonce: string): void {
    if (nonce !== this.#lastCall) for (const callback of this.#onCalled ?? []) callback();
    this.#lastCall = nonce;
  }

  get wasAskedToRelease(): boolean {
    return this.#wasAskedToRelease;
  }

  get revocation(): Revocation | undefined {
    return this.seat.revocation;
  }

  requestRelease(): void {
    this.#wasAskedToRelease = true;
    (this.#strongObserver ?? this.#observer?.deref())?.releaseRequestedNow();
  }

  lose(why: LossCause): void {
    this.#end('lost', why);
  }

  /** Ends the hold as `released`. Returns false if the hold was over already. */
  release(): boolean {
    if (this.checkEnd() !== undefined) return false;
    this.#end('released', 'released');
    this.seat.leave(this);
    this.tellEnd();
    return true;
  }

  /** Called when the hold is over. If the hold is lost, tells the handle. Then calls the callbacks of `onEnded`. */
  tellEnd(): void {
    const observer = this.#strongObserver ?? this.#observer?.deref();
    this.#strongObserver = undefined;
    if (this.#state === 'lost' && this.#ended !== undefined) observer?.lost(this.#ended);
    for (const callback of this.#onEnded ?? []) callback();
    this.#onEnded = undefined;
  }

  setFoundGone(why: LossCause): void {
    this.#foundGone = why;
  }

  /**
   * Why the release of this hold found no lease; `undefined` if the release found the lease, or if no answer shows
   * whether it did.
   */
  get foundGone(): LossCause | undefined {
    return this.#foundGone;
  }

  #end(state: 'lost' | 'released', why: LossCause): void {
    assertMove(MOVES, this.#state, state);
    this.#state = state;
    this.#ended = why;
  }
}
