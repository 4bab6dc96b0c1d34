import { inspect } from 'node:util';
import { LockLostError } from '../../errors.js';
import type { LossCause } from '../../errors.js';
import { keepAlive } from '../../keep-alive.js';
import { portrait } from '../../portrait.js';
import type { Revocation } from '../../protocol/operation.js';
import { unavailable } from '../../store/unavailable.js';
import { sharedMode } from './fencing-eligibility.js';
import type { FencingEligibility } from './fencing-eligibility.js';
import type { Grant } from './grant.js';
import { heardController } from './heard-signal.js';
import type { Hold, HoldObserver } from './hold.js';
import type { Confirmation } from './lease-extender.js';
import type { LockHandle } from './lock-handle.js';
import { lossError, releaseRequestReason } from './loss.js';
import type { Standing } from './loss.js';

/** A hold, as its handle sees it. The hold relies on one lease or, in a quorum, on a majority of several leases. */
export interface Held {
  readonly name: string;
  readonly id: string;
  readonly token: number;
  readonly wasAskedToRelease: boolean;
  readonly revocation?: Revocation | undefined;
  readonly grant: Pick<Grant, 'demand'> & { readonly rules: Pick<Grant['rules'], 'kind'> };
  /** Why the hold is over; `undefined` while it is not. If the deadline has passed, this call loses the hold. */
  checkEnd(): LossCause | undefined;
  /**
   * How long the process can rely on the hold, in ms. If the deadline has passed, this call loses the hold. If the hold
   * is doubtful, this call asks the server to confirm the hold, unless an earlier call has asked since the last
   * confirmed extension.
   */
  checkRemainingMs(): number;
  /** The state of the hold. This call ends no hold and sends nothing. */
  standing(): Standing;
  observe(observer: HoldObserver): void;
  /** Keeps a strong reference to the observer until `letGo` or the end of the hold. */
  retain(observer: HoldObserver): void;
  letGo(observer: HoldObserver): void;
  onEnded(callback: () => void): () => void;
}

export interface HandleHolds<H = Hold> {
  /** The database of the lock; `undefined` for a hold in several databases. */
  readonly databaseName: string | undefined;
  confirm(hold: H): Promise<Confirmation>;
  release(hold: H): Promise<boolean>;
  /** Releases the hold when the handle is garbage-collected. */
  track(handle: object, hold: H): void;
  untrack(handle: object): void;
}

/** The state of a hold, for logs. `remainingMs` is in whole ms. */
export const standingForLog = ({ remainingMs, why }: Standing): object => ({
  isHeld: remainingMs > 0,
  ...(why !== undefined && { why }),
  remainingMs: Math.floor(remainingMs),
});

/**
 * The handle that a caller gets. The hold keeps a strong reference to its handle only while code may listen to one of
 * the handle's signals.
 */
export class LeaseHandle<H extends Held = Hold> implements LockHandle, FencingEligibility, HoldObserver {
  readonly #hold: H;
  readonly #holds: HandleHolds<H>;
  // Made at the first use: a process has thousands of holds, and most of them need no signal.
  #lossSignal: AbortController | undefined;
  #releaseRequestSignal: AbortController | undefined;
  /** How many of the two signals may have a listener. */
  #heardSignals = 0;
  #released: Promise<boolean> | undefined;

  constructor(hold: H, holds: HandleHolds<H>) {
    this.#hold = hold;
    this.#holds = holds;
    hold.observe(this);
    holds.track(this, hold);
  }

  get name(): string {
    return this.#hold.name;
  }

  get id(): string {
    return this.#hold.id;
  }

  get fencingToken(): number {
    return this.#hold.token;
  }

  get isHeld(): boolean {
    return this.remainingMs > 0;
  }

  get remainingMs(): number {
    return this.#hold.checkRemainingMs();
  }

  get signal(): AbortSignal {
    // Past the deadline, `checkEnd` aborts an existing signal, and the code below aborts a new one.
    const ended = this.#hold.checkEnd();
    if (this.#lossSignal === undefined) {
      this.#lossSignal = this.#newSignal();
      if (ended !== undefined && ended !== 'released') this.lost(ended);
    }
    return this.#lossSignal.signal;
  }

  get releaseRequested(): AbortSignal {
    if (this.#releaseRequestSignal === undefined) {
      this.#releaseRequestSignal = this.#newSignal();
      if (this.#hold.wasAskedToRelease) this.releaseRequestedNow();
    }
    return this.#releaseRequestSignal.signal;
  }

  assertHeld(): void {
    if (this.isHeld) return;
    throw this.#lossError();
  }

  async confirm(): Promise<void> {
    this.#throwIfOver();
    const confirmation = await keepAlive(this.#holds.confirm(this.#hold));
    this.#throwIfOver();
    if (confirmation.type === 'unknown') {
      throw unavailable(this.name, false, confirmation.error);
    }
  }

  release(): Promise<boolean> {
    this.#holds.untrack(this);
    this.#released ??= keepAlive(this.#holds.release(this.#hold));
    return this.#released;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  /** @internal */
  get databaseName(): string | undefined {
    return this.#holds.databaseName;
  }

  /** @internal */
  whyShared(): string | undefined {
    return sharedMode(this.#hold.grant.demand.mode ?? 'write');
  }

  /**
   * @internal Calls back when the hold is over. Unlike a listener of `signal`, the callback does not keep the handle
   *   alive, unless the callback refers to the handle. Returns a function to unsubscribe.
   */
  onEnded(callback: () => void): () => void {
    return this.#hold.onEnded(callback);
  }

  /** @internal The state of the hold. Reading it ends no hold and sends nothing. */
  standing(): Standing {
    return this.#hold.standing();
  }

  /** @internal The state of the hold at this instant, for logs. Sends nothing. */
  toJSON(): object {
    const { name, grant } = this.#hold;
    const { kind } = grant.rules;
    const mode = kind === 'reader-writer' ? { mode: grant.demand.mode } : {};
    return { name, kind, ...mode, fencingToken: this.fencingToken, ...standingForLog(this.standing()) };
  }

  /** @internal The name of the handle's public interface, for logs. */
  protected shownAs(): string {
    return 'LockHandle';
  }

  /** @internal */
  [inspect.custom](): object {
    return portrait(this.shownAs(), this.toJSON());
  }

  lost(why: LossCause): void {
    this.#lossSignal?.abort(lossError(this.#hold, why));
  }

  releaseRequestedNow(): void {
    this.#releaseRequestSignal?.abort(releaseRequestReason(this.#hold));
  }

  /**
   * Makes a signal that keeps the handle alive while code can hear of its abort. Such code relies on the lock, even if
   * the code does not refer to the handle. If the handle were collected, the library would release the lock, and
   * another process could get the lock while that code goes on (S2).
   *
   * A reachable signal refers to the handle. A listener alone keeps neither the signal nor the handle alive, so the
   * hold retains the handle while the signal has a listener or a derived signal.
   */
  #newSignal(): AbortController {
    let wasHeard = false;
    return heardController((isHeard) => {
      if (isHeard === wasHeard) return;
      wasHeard = isHeard;
      this.#heardSignals += isHeard ? 1 : -1;
      if (this.#heardSignals > 0) this.#hold.retain(this);
      else this.#hold.letGo(this);
    });
  }

  #throwIfOver(): void {
    if (this.#hold.checkEnd() !== undefined) throw this.#lossError();
  }

  /** A new error each time, so that its stack shows the caller. */
  #lossError(): LockLostError {
    const why = this.#hold.checkEnd();
    if (why !== undefined) return lossError(this.#hold, why);
    return new LockLostError(
      this.name,
      'expired',
      'cannot be relied on: the process was suspended, and its lease is being confirmed',
    );
  }
}
