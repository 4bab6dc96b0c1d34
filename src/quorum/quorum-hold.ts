import type { Chance } from '../chance.js';
import type { LossCause } from '../errors.js';
import type { AttemptEvent } from '../events.js';
import type { HoldObserver } from '../lease/holding/hold.js';
import type { Confirmation } from '../lease/holding/lease-extender.js';
import type { Held } from '../lease/holding/lease-handle.js';
import type { Standing } from '../lease/holding/loss.js';
import type { Revocation } from '../protocol/operation.js';
import type { Mode } from '../protocol/lock-document.js';
import type { HoldIdentity } from './hold-token.js';
import { MissingStores } from './missing-stores.js';
import { QuorumError } from './quorum-error.js';
import { QuorumMembers } from './quorum-members.js';
import { awaitQuorum, callSeats, majorityRemainingMs, standingOfMajority } from './quorum.js';
import type { Quorum } from './quorum.js';
import { releaseByMajority } from './seat-releases.js';
import type { StoreSeat, Store, SeatRequest } from './store.js';

/**
 * One hold of a quorum: a seat in each of more than half of all stores. The members of the hold are the stores in which
 * the hold has a seat.
 *
 * - `held`: a majority of all stores are members. After a suspension, the seats may be doubtful: the hold goes on, but
 *   cannot be relied on until a majority of the stores has confirmed its seats. A store whose seat is lost is no member
 *   any more. {@link MissingStores} asks that store for another seat.
 * - `lost`: fewer than a majority of the stores are members. The deadlines of the seats show this without any reply.
 *   Final.
 * - `released`: the owner has released the hold, or its handle was garbage-collected. Final.
 *
 * A seat that is granted after the end of the hold is released. `HoldIdentity` says which token the hold has.
 */
export class QuorumHold implements Held {
  readonly name: string;
  readonly id: string;
  readonly #quorum: Quorum;
  readonly #request: SeatRequest;
  readonly #heldSinceMs: number;
  readonly #members: QuorumMembers;
  readonly #missing: MissingStores;
  readonly #onEnded = new Set<() => void>();
  #token: number;
  #mode: Mode;
  /** The mode that `modeChanged` reported last. During a downgrade, `#mode` is already the weaker one. */
  #reportedMode: Mode;
  #isChanging = false;
  #ended: LossCause | undefined;
  #revocation: Revocation | undefined;
  #wasAskedToRelease = false;
  // The observer is the handle. The reference is weak, so that a handle to which no code refers can be
  // garbage-collected. `quorumOwner` then releases the hold.
  #observer: WeakRef<HoldObserver> | undefined;
  #strongObserver: HoldObserver | undefined;

  constructor(
    quorum: Quorum,
    request: SeatRequest,
    { id, token }: HoldIdentity,
    seats: ReadonlyMap<Store, StoreSeat>,
  ) {
    this.#quorum = quorum;
    this.#request = request;
    this.name = request.name;
    this.id = id;
    this.#token = token;
    this.#mode = request.mode;
    this.#reportedMode = request.mode;
    this.#heldSinceMs = quorum.clock.nowMs();
    this.#missing = new MissingStores(quorum, this, request.durations.leaseMs);
    this.#members = new QuorumMembers({
      seatLost: (seat) => {
        this.#seatLost(seat);
      },
      releaseRequested: (revocation) => {
        this.#requestRelease(revocation);
      },
    });
    this.#members.add(seats);
    this.#missing.arm();
  }

  get token(): number {
    return this.#token;
  }

  get mode(): Mode {
    return this.#mode;
  }

  get grant(): Held['grant'] {
    return { demand: { mode: this.#mode }, rules: { kind: this.#request.kind } };
  }

  checkRemainingMs(): number {
    // `#ended` is read last: reading `remainingMs` ends each seat that is past its deadline, which may end the hold.
    const remainingMs = majorityRemainingMs(this.seats, this.#quorum.majority);
    return this.#ended === undefined ? remainingMs : 0;
  }

  standing(): Standing {
    if (this.#ended !== undefined) return { remainingMs: 0, why: this.#ended };
    return standingOfMajority(this.seats, this.#quorum.majority);
  }

  get revocation(): Revocation | undefined {
    return this.#revocation;
  }

  checkEnd(): LossCause | undefined {
    return this.checkRemainingMs() > 0 ? undefined : this.#ended;
  }

  get wasAskedToRelease(): boolean {
    return this.#wasAskedToRelease;
  }

  get heldMs(): number {
    return this.#quorum.clock.nowMs() - this.#heldSinceMs;
  }

  get chance(): Chance {
    return this.#quorum.clock.chance;
  }

  get seats(): readonly StoreSeat[] {
    return this.#members.seats;
  }

  get event(): AttemptEvent & { readonly fencingToken: number } {
    const { name, kind } = this.#request;
    return { lockName: name, kind, id: this.id, fencingToken: this.#token };
  }

  observe(observer: HoldObserver): void {
    this.#observer = new WeakRef(observer);
  }

  retain(observer: HoldObserver): void {
    if (this.#ended === undefined) this.#strongObserver = observer;
  }

  letGo(observer: HoldObserver): void {
    if (this.#strongObserver === observer) this.#strongObserver = undefined;
  }

  onEnded(callback: () => void): () => void {
    if (this.checkEnd() !== undefined) callback();
    else this.#onEnded.add(callback);
    return () => this.#onEnded.delete(callback);
  }

  /** Asks for a confirmation of each seat. The hold is confirmed if a majority of all stores confirms. */
  async confirm(): Promise<Confirmation> {
    const { majority, stores } = this.#quorum;
    const calls = callSeats(this.seats, (seat) => seat.confirm());
    const { seats, failures } = await awaitQuorum(calls, majority);
    if (this.checkEnd() !== undefined) return { type: 'lost' };
    if (seats.length >= majority) return { type: 'extended' };
    return { type: 'unknown', error: new QuorumError(this.name, stores.length, failures) };
  }

  /**
   * Resolves when the seats in a majority of the stores are released, when a majority has become impossible, or after
   * `storeTimeoutMs`. The other releases go on in the background.
   *
   * @returns Whether the hold was held until this release; false if it had been lost before.
   */
  async release(): Promise<boolean> {
    if (this.checkEnd() !== undefined) return false;
    const { clock, majority, settings, report } = this.#quorum;
    const { seats, heldMs } = this;
    const endMs = clock.nowMs() + settings.storeTimeoutMs;
    this.#end('released');
    this.#callEndListeners();
    this.#quorum.observation?.holdReleasing(this);
    const why = await releaseByMajority(seats, majority);
    this.#quorum.observation?.holdEnded(this, why ?? 'released');
    if (why !== undefined) report('lost', { ...this.event, heldMs, why });
    else report('released', { ...this.event, heldMs, confirmed: clock.nowMs() < endMs });
    return why === undefined;
  }

  /** Called when the handle was garbage-collected: releases the hold. */
  abandon(): void {
    if (this.checkEnd() !== undefined) return;
    const { heldMs } = this;
    this.#end('released');
    this.#quorum.observation?.holdEnded(this, 'released');
    this.#quorum.report('abandoned', { ...this.event, heldMs });
    this.#members.release();
    this.#callEndListeners();
  }

  // ---- members

  /**
   * The request for a seat that may join the hold; `undefined` while no seat may join. If the hold is past its
   * deadline, this call ends the hold.
   */
  checkJoinRequest(): SeatRequest | undefined {
    // If an operator revokes the hold in a majority of the stores, this process learns of the revocation store by
    // store. If the hold got new seats in the first of these stores meanwhile, the hold would outlast its revocation.
    const isRevoked = this.#wasAskedToRelease || this.#revocation !== undefined;
    const mayJoin = this.checkEnd() === undefined && !this.#isChanging && !isRevoked;
    return mayJoin ? { ...this.#request, mode: this.#mode } : undefined;
  }

  has(store: Store): boolean {
    return this.#members.has(store);
  }

  /** `inFlight` is a try that was sent to the store. If the try is granted, its seat joins the hold or is released. */
  expect(store: Store, inFlight: Promise<StoreSeat>): void {
    this.#missing.expect(store, inFlight);
  }

  /**
   * Adds a seat. The caller has checked that the seat has the mode of the hold, and that the fence of the store is at
   * least the token of the hold.
   */
  add(store: Store, seat: StoreSeat): void {
    this.#members.add([[store, seat]]);
  }

  #seatLost(seat: StoreSeat): void {
    const ended = seat.checkEnd();
    this.#revocation ??= seat.revocation;
    if (this.#members.size < this.#quorum.majority) this.#lose(ended ?? 'expired');
    else this.#missing.arm();
  }

  // ---- changes of mode

  /**
   * During a change of mode no seat joins, because a new seat could have the old mode. After the change, the stores
   * without a seat are asked at once.
   */
  setChanging(isChanging: boolean): void {
    this.#isChanging = isChanging;
    if (!isChanging) this.#missing.ask();
  }

  /** Sets a weaker mode in memory, before any store is asked to downgrade. */
  weaken(mode: Mode): void {
    this.#mode = mode;
  }

  /** Ends a change of mode. Releases every seat of the hold that is not in `seats`. */
  setMode(mode: Mode, token: number, seats: readonly StoreSeat[] = this.seats): void {
    const previousMode = this.#reportedMode;
    this.#mode = mode;
    this.#reportedMode = mode;
    this.#token = token;
    this.#members.keepOnly(seats);
    if (this.#members.size < this.#quorum.majority) this.#lose('expired');
    if (this.#ended !== undefined) return;
    this.#missing.arm();
    if (mode !== previousMode) this.#quorum.report('modeChanged', { ...this.event, mode, previousMode });
  }

  // ---- the end

  #requestRelease(revocation: Revocation | undefined): void {
    if (this.#ended !== undefined || this.#wasAskedToRelease) return;
    this.#revocation ??= revocation;
    this.#wasAskedToRelease = true;
    (this.#strongObserver ?? this.#observer?.deref())?.releaseRequestedNow();
    this.#quorum.report('releaseRequested', { ...this.event, ...this.#revocation });
  }

  #lose(why: LossCause): void {
    if (this.#ended !== undefined) return;
    const observer = this.#strongObserver ?? this.#observer?.deref();
    const { heldMs } = this;
    this.#end(why);
    // The handle is told before all other listeners, so that the code under the lock learns of the loss first.
    observer?.lost(why);
    this.#callEndListeners();
    const told = why === 'released' ? 'evicted' : why;
    this.#quorum.observation?.holdEnded(this, told);
    this.#quorum.report('lost', { ...this.event, heldMs, why: told });
    // If the provider was closed, the owner may still be working, so the remaining seats are left to expire.
    if (why !== 'provider-closed') this.#members.release();
  }

  #end(why: LossCause): void {
    this.#ended = why;
    this.#strongObserver = undefined;
    this.#missing.end();
  }

  #callEndListeners(): void {
    for (const callback of this.#onEnded) callback();
    this.#onEnded.clear();
  }
}
