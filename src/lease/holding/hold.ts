import type { LossCause } from '../../errors.js';
import type { AttemptEvent } from '../../events.js';
import type { Revocation } from '../../protocol/operation.js';
import { assertMove } from '../../state-machine.js';
import type { Moves } from '../../state-machine.js';
import type { Grant } from './grant.js';
import type { Standing } from './loss.js';
import type { Seat, SeatHold } from './seat.js';

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
 * One caller's use of a seat, inside the library. The caller sees it through a handle, and the public interface `Hold`
 * (lock-handle.ts) is what every handle offers.
 *
 * - `held`: only while its seat is live. → `lost`, with its seat; → `released`, by its caller or, on the
 *   caller's behalf, by the library.
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
  // Weak, so that a handle which no code refers to can be collected. Its lock is then released.
  #observer: WeakRef<HoldObserver> | undefined;
  #strongObserver: HoldObserver | undefined;
  // Made when first used: a hold takes about 2 KB, and two empty sets would be 0.15 KB of that.
  #onEnded: Set<() => void> | undefined;
  #onCalled: Set<() => void> | undefined;
  /** The nonce of the last call for a run of a job; empty before the first call. */
  #lastCall = '';

  /** A caller uses the seat from now on. */
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

  /** The fencing token. Each change of mode brings a new one. */
  get token(): number {
    return this.#token;
  }

  get heldMs(): number {
    return this.seat.clock.nowMs() - this.#heldSinceMs;
  }

  /** The fields that every event about the hold has. */
  get event(): AttemptEvent & { readonly fencingToken: number } {
    const { id, name, seats } = this.grant;
    return { lockName: name, kind: seats.kind, id, fencingToken: this.#token };
  }

  /** The last change of mode is settled; `token` is the token after it. */
  changed(token: number): void {
    this.#token = Math.max(this.#token, token);
    this.seat.changed(token);
  }

  // ---- whether the hold is over

  /** Why the hold is over; `undefined` while it is not. Past the deadline this loses the seat, and so the hold. */
  checkEnd(): LossCause | undefined {
    if (this.#state === 'held') this.seat.checkOpen();
    return this.#ended;
  }

  /**
   * How long the process can rely on the hold without an extension, in ms. Past the deadline this loses the hold. If
   * the seat is doubtful, this asks the server to confirm it; further calls do not ask again until an extension is
   * confirmed.
   */
  checkRemainingMs(): number {
    return this.#state === 'held' ? this.seat.checkRemainingMs() : 0;
  }

  /** Whether and how long the process can rely on the hold. This call ends no hold and sends nothing. */
  standing(): Standing {
    return this.#state === 'held' ? this.seat.standing() : { remainingMs: 0, why: this.#ended };
  }

  // ---- what the handle hears

  observe(observer: HoldObserver): void {
    this.#observer = new WeakRef(observer);
  }

  /** Keeps a strong reference to the observer, until `letGo` or the end of the hold. */
  retain(observer: HoldObserver): void {
    if (this.#state === 'held') this.#strongObserver = observer;
  }

  letGo(observer: HoldObserver): void {
    if (this.#strongObserver === observer) this.#strongObserver = undefined;
  }

  /** Calls back once: when the hold is over, or now if it is over already. Returns a function to unsubscribe. */
  onEnded(callback: () => void): () => void {
    if (this.checkEnd() !== undefined) callback();
    else (this.#onEnded ??= new Set()).add(callback);
    return () => this.#onEnded?.delete(callback);
  }

  /** Calls back when an extension shows a new call for a run of a job (`runNow`). Returns a function to unsubscribe. */
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

  /** The revocation of the seat; `undefined` while none is known. */
  get revocation(): Revocation | undefined {
    return this.seat.revocation;
  }

  requestRelease(): void {
    this.#wasAskedToRelease = true;
    (this.#strongObserver ?? this.#observer?.deref())?.releaseRequestedNow();
  }

  // ---- the end

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

  /** The hold is over. Tells the handle of a loss, and then calls the code that waits for the end. */
  tellEnd(): void {
    const observer = this.#strongObserver ?? this.#observer?.deref();
    this.#strongObserver = undefined;
    if (this.#state === 'lost' && this.#ended !== undefined) observer?.lost(this.#ended);
    for (const callback of this.#onEnded ?? []) callback();
    this.#onEnded = undefined;
  }

  /** The release came too late: the server had no lease any more, for this reason. */
  setFoundGone(why: LossCause): void {
    this.#foundGone = why;
  }

  /** Why the release of this hold found no lease; `undefined`: it found one, or that is not known. */
  get foundGone(): LossCause | undefined {
    return this.#foundGone;
  }

  #end(state: 'lost' | 'released', why: LossCause): void {
    assertMove(MOVES, this.#state, state);
    this.#state = state;
    this.#ended = why;
  }
}
