import { inspect } from 'node:util';
import { LockLostError } from '../../errors.js';
import type { LossCause } from '../../errors.js';
import { keepAlive } from '../../keep-alive.js';
import { portrait } from '../../portrait.js';
import type { Revocation } from '../../protocol/operation.js';
import { unavailable } from '../../store/unavailable.js';
import { sharedMode } from './fencing-eligibility.js';
import type { FencingEligibility } from './fencing-eligibility.js';
import type { Grant, HoldObserver } from './grant.js';
import { heardController } from './heard-signal.js';
import type { HeldLease } from './held-lease.js';
import type { Confirmation } from './lease-extender.js';
import { lossOf, requestOf } from './loss.js';
import type { Standing } from './loss.js';

/** Something held, until it is released or lost. */
export interface Hold extends AsyncDisposable {
  /**
   * Aborts once, with a {@link LockLostError} as its reason, at the moment the hold is lost: when the server says so,
   * or when the local deadline passes, which needs no answer from anybody. Never because of a release, except that
   * the term of a leader aborts before it is given back.
   */
  readonly signal: AbortSignal;

  /**
   * Aborts when somebody asks for the lock politely: by `revoke`, or by closing the provider. After a revocation the
   * reason is an error whose message says who revoked, and why.
   */
  readonly releaseRequested: AbortSignal;

  /** Whether the hold can be relied on at this instant, by the clock; asks nobody. */
  readonly isHeld: boolean;

  /** How long the hold can be relied on without another extension, in ms; 0 when it is over. */
  readonly remainingMs: number;

  /**
   * Throws {@link LockLostError} unless the hold can be relied on at this instant. It says nothing about the next one:
   * what must not be overtaken is written with the fencing token.
   */
  assertHeld(): void;

  /**
   * Asks the server now, and extends the lease.
   *
   * @throws {@link LockLostError} if it is not held any more.
   * @throws {@link StoreUnavailableError} if nobody answered; the hold stays until its deadline.
   */
  confirm(): Promise<void>;

  /**
   * Gives the lock back; the next waiter has it in the same update. Bounded, never rejects. May be called again: every
   * call tells the same.
   *
   * @returns Whether it was still held. If the store did not answer, giving back goes on in the background and the
   *   lease ends by itself.
   */
  release(): Promise<boolean>;
}

/** One lock held. */
export interface LockHandle extends Hold {
  /** The name of the lock. */
  readonly name: string;

  /** The attempt id: what the lease is stored under. */
  readonly id: string;

  /** Higher than every token granted under this name before; below 2^53. A change of mode brings a new one. */
  readonly fencingToken: number;
}

/** What a handle asks of what it stands for: one lease, or a majority of several. */
export interface Held {
  readonly name: string;
  readonly id: string;
  readonly token: number;
  readonly isHeld: boolean;
  readonly remainingMs: number;
  /** Why it is over; `undefined` while it is not. */
  readonly ended: LossCause | undefined;
  readonly wasAskedToRelease: boolean;
  /** Who revoked it, and why, as far as is known. */
  readonly revocation?: Revocation | undefined;
  readonly grant: Pick<Grant, 'demand'> & { readonly seats: Pick<Grant['seats'], 'kind'> };
  /** How it stands; asking starts nothing. */
  standing(): Standing;
  observe(observer: HoldObserver): void;
  keep(observer: HoldObserver): void;
  letGo(observer: HoldObserver): void;
  onEnded(callback: () => void): () => void;
}

/** What a handle needs of its provider. */
export interface HandleOwner<H = HeldLease> {
  /** The database that it holds in; `undefined`: in several. */
  readonly databaseName: string | undefined;
  confirm(hold: H): Promise<Confirmation>;
  release(hold: H): Promise<boolean>;
  /** Watches for the handle to be forgotten. */
  track(handle: object, hold: H): void;
  untrack(handle: object): void;
}

/** What is shown of it: whether it is held, or why not, and for how many whole ms. */
export const inFacts = ({ remainingMs, why }: Standing): object => ({
  isHeld: remainingMs > 0,
  ...(why !== undefined && { why }),
  remainingMs: Math.floor(remainingMs),
});

/** The object that the caller holds. Nothing in the library refers to it strongly. */
export class LeaseHandle<H extends Held = HeldLease> implements LockHandle, FencingEligibility, HoldObserver {
  readonly #hold: H;
  readonly #owner: HandleOwner<H>;
  // Made when first asked for: thousands of holds need none.
  #lossSignal: AbortController | undefined;
  #requestSignal: AbortController | undefined;
  /** How many of the two have a listener. */
  #heardSignals = 0;
  #released: Promise<boolean> | undefined;

  constructor(hold: H, owner: HandleOwner<H>) {
    this.#hold = hold;
    this.#owner = owner;
    hold.observe(this);
    owner.track(this, hold);
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
    return this.#hold.isHeld;
  }

  get remainingMs(): number {
    return this.#hold.remainingMs;
  }

  get signal(): AbortSignal {
    // Asked first: a loss that is due is told to a signal that exists already.
    const { ended } = this.#hold;
    if (this.#lossSignal === undefined) {
      this.#lossSignal = this.#newSignal();
      if (ended !== undefined && ended !== 'released') this.lost(ended);
    }
    return this.#lossSignal.signal;
  }

  get releaseRequested(): AbortSignal {
    if (this.#requestSignal === undefined) {
      this.#requestSignal = this.#newSignal();
      if (this.#hold.wasAskedToRelease) this.releaseRequestedNow();
    }
    return this.#requestSignal.signal;
  }

  assertHeld(): void {
    if (this.#hold.isHeld) return;
    throw this.#lossError();
  }

  async confirm(): Promise<void> {
    this.#throwIfOver();
    const confirmation = await keepAlive(this.#owner.confirm(this.#hold));
    this.#throwIfOver();
    if (confirmation.type === 'unknown') {
      throw unavailable(this.name, false, confirmation.error);
    }
  }

  release(): Promise<boolean> {
    this.#owner.untrack(this);
    this.#released ??= keepAlive(this.#owner.release(this.#hold));
    return this.#released;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  /** @internal */
  get databaseName(): string | undefined {
    return this.#owner.databaseName;
  }

  /** @internal */
  whyShared(): string | undefined {
    return sharedMode(this.#hold.grant.demand.mode ?? 'write');
  }

  /** @internal Like a listener of `signal`, but it does not keep the handle. Returns what ends that. */
  onEnded(callback: () => void): () => void {
    return this.#hold.onEnded(callback);
  }

  /** @internal How it stands; asking starts nothing. */
  standing(): Standing {
    return this.#hold.standing();
  }

  /** @internal For logs: the facts of this instant. It starts nothing, not even a confirmation. */
  toJSON(): object {
    const { name, grant } = this.#hold;
    const { kind } = grant.seats;
    const mode = kind === 'reader-writer' ? { mode: grant.demand.mode } : {};
    return { name, kind, ...mode, fencingToken: this.fencingToken, ...inFacts(this.standing()) };
  }

  /** @internal The interface that users know it by. */
  protected shownAs(): string {
    return 'LockHandle';
  }

  /** @internal */
  [inspect.custom](): object {
    return portrait(this.shownAs(), this.toJSON());
  }

  lost(why: LossCause): void {
    this.#lossSignal?.abort(lossOf(this.#hold, why));
  }

  releaseRequestedNow(): void {
    this.#requestSignal?.abort(requestOf(this.#hold));
  }

  /**
   * The handle, and so the lock, is never given up under work that could still hear of the loss (S2). While the signal is
   * reachable, so is the handle. While it has a listener, or another signal is derived from it, the hold keeps the handle:
   * a listener alone keeps neither. Otherwise no code can hear of the loss once both are forgotten.
   */
  #newSignal(): AbortController {
    let wasHeard = false;
    return heardController((isHeard) => {
      if (isHeard === wasHeard) return;
      wasHeard = isHeard;
      this.#heardSignals += isHeard ? 1 : -1;
      if (this.#heardSignals > 0) this.#hold.keep(this);
      else this.#hold.letGo(this);
    });
  }

  #throwIfOver(): void {
    if (this.#hold.ended !== undefined) throw this.#lossError();
  }

  /** A fresh error, whose stack shows who asked. */
  #lossError(): LockLostError {
    const why = this.#hold.ended;
    if (why !== undefined) return lossOf(this.#hold, why);
    return new LockLostError(
      this.name,
      'expired',
      'the process was suspended, and its lease is being confirmed',
    );
  }
}
