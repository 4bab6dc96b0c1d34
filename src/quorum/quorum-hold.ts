import type { LossCause } from '../errors.js';
import type { AttemptEvent } from '../events.js';
import type { HoldObserver } from '../lease/holding/grant.js';
import type { Confirmation } from '../lease/holding/lease-extender.js';
import type { Held } from '../lease/holding/lock-handle.js';
import type { Standing } from '../lease/holding/loss.js';
import type { Revocation } from '../protocol/operation.js';
import type { Mode } from '../protocol/lock-document.js';
import { MissingStores } from './missing-stores.js';
import { QuorumError } from './quorum-error.js';
import { ask, awaitQuorum, majorityRemainingMs } from './quorum.js';
import type { Quorum } from './quorum.js';
import type { Seat, Store, SeatRequest } from './store.js';

/** What a hold begins with. */
export interface Elected {
  /** Under which the lease is stored where the token was granted. */
  readonly id: string;
  /** Higher than every token before: see {@link QuorumHold}. */
  readonly token: number;
}

/**
 * One hold: a seat in more than half of all stores.
 *
 * - `held` while a majority of all stores has a seat that can be relied on. Whose seat is lost leaves; a third of a lease
 *   later, and again and again, that store is asked for another one.
 * - `lost` when fewer than a majority are left, which their own deadlines tell without any reply. Final.
 * - `released` by its owner. Final. Seats that arrive in either end are given back.
 *
 * **The token** is the highest of those granted by the majority that made the hold, and the fence of a majority has been
 * lifted to it, each while its seat was held, before the hold began. So tokens strictly rise from hold to hold (S3): let
 * hold A begin before hold B, and the two exclude each other. Some store is both in the majority whose fence A lifted to
 * its token and in the majority that B could rely on when it began. A had the seat there when it lifted the fence, B when
 * it began, which was later; so B was granted it after that, with a token above the fence, and B's token is no lower.
 * A seat that joins later has its fence lifted first, so that it stays true with the members that are left.
 */
export class QuorumHold implements Held {
  readonly name: string;
  readonly id: string;
  readonly #quorum: Quorum;
  readonly #wish: SeatRequest;
  readonly #heldSinceMs: number;
  readonly #members = new Map<Store, Seat>();
  readonly #missing: MissingStores;
  readonly #onEnded = new Set<() => void>();
  #token: number;
  #mode: Mode;
  /** As it was told last. */
  #toldMode: Mode;
  #isChanging = false;
  #ended: LossCause | undefined;
  #revocation: Revocation | undefined;
  #wasAskedToRelease = false;
  // Weak, so that a handle that everybody has forgotten can be collected and given back.
  #observer: WeakRef<HoldObserver> | undefined;
  #kept: HoldObserver | undefined;

  constructor(quorum: Quorum, wish: SeatRequest, { id, token }: Elected, seats: ReadonlyMap<Store, Seat>) {
    this.#quorum = quorum;
    this.#wish = wish;
    this.name = wish.name;
    this.id = id;
    this.#token = token;
    this.#mode = wish.mode;
    this.#toldMode = wish.mode;
    this.#heldSinceMs = quorum.clock.nowMs();
    this.#missing = new MissingStores(quorum, this, wish.terms.leaseMs);
    for (const [store, seat] of seats) this.#members.set(store, seat);
    for (const [store, seat] of seats) this.#watch(store, seat);
    this.#missing.arm();
  }

  get token(): number {
    return this.#token;
  }

  get mode(): Mode {
    return this.#mode;
  }

  get grant(): Held['grant'] {
    return { demand: { mode: this.#mode }, seats: { kind: this.#wish.kind } };
  }

  get isHeld(): boolean {
    return this.remainingMs > 0;
  }

  get remainingMs(): number {
    // To ask a seat past its deadline is to hear of its loss, and so perhaps of this one's.
    const remainingMs = majorityRemainingMs(this.seats, this.#quorum.majority);
    return this.#ended === undefined ? remainingMs : 0;
  }

  standing(): Standing {
    const each = this.seats.map((seat) => seat.standing());
    const remainingMs = majorityRemainingMs(each, this.#quorum.majority);
    const why = this.#ended ?? (remainingMs > 0 ? undefined : 'suspended');
    return { remainingMs: why === undefined ? remainingMs : 0, why };
  }

  get revocation(): Revocation | undefined {
    return this.#revocation;
  }

  get ended(): LossCause | undefined {
    return this.isHeld ? undefined : this.#ended;
  }

  get wasAskedToRelease(): boolean {
    return this.#wasAskedToRelease;
  }

  get heldMs(): number {
    return this.#quorum.clock.nowMs() - this.#heldSinceMs;
  }

  get seats(): readonly Seat[] {
    return [...this.#members.values()];
  }

  get event(): AttemptEvent & { readonly fencingToken: number } {
    const { name, kind } = this.#wish;
    return { lockName: name, kind, id: this.id, fencingToken: this.#token };
  }

  observe(observer: HoldObserver): void {
    this.#observer = new WeakRef(observer);
  }

  keep(observer: HoldObserver): void {
    if (this.#ended === undefined) this.#kept = observer;
  }

  letGo(observer: HoldObserver): void {
    if (this.#kept === observer) this.#kept = undefined;
  }

  onEnded(callback: () => void): () => void {
    if (this.ended !== undefined) callback();
    else this.#onEnded.add(callback);
    return () => this.#onEnded.delete(callback);
  }

  /** Asks every store; a majority has to confirm. */
  async confirm(): Promise<Confirmation> {
    const { majority, stores } = this.#quorum;
    const asked = ask(this.seats, (seat) => seat.confirm());
    const { seats, failures } = await awaitQuorum(asked, majority);
    if (this.ended !== undefined) return { type: 'lost' };
    if (seats.length >= majority) return { type: 'extended' };
    return { type: 'unknown', error: new QuorumError(this.name, stores.length, failures) };
  }

  /** Resolves when a majority has given it back, which the others do in the background; bounded by each store. */
  async release(): Promise<boolean> {
    if (this.ended !== undefined) return false;
    const { clock, majority, settings, report } = this.#quorum;
    const { seats, heldMs } = this;
    const boundMs = clock.nowMs() + settings.storeTimeoutMs;
    this.#end('released');
    this.#tellEnded();
    const settled = await awaitQuorum(ask(seats, givenBack), majority);
    const wasHeld = settled.seats.length >= majority;
    if (wasHeld) report('released', { ...this.event, heldMs, confirmed: clock.nowMs() < boundMs });
    else report('lost', { ...this.event, heldMs, why: whyGone(seats) });
    return wasHeld;
  }

  /** Nobody has the handle any more. */
  abandon(): void {
    if (this.ended !== undefined) return;
    const { heldMs } = this;
    this.#end('released');
    this.#quorum.report('abandoned', { ...this.event, heldMs });
    this.#giveBack();
    this.#tellEnded();
  }

  // ---- members

  /** What a seat that joins has to be; `undefined`: nobody joins. */
  get wanted(): SeatRequest | undefined {
    const mayJoin = this.ended === undefined && !this.#isChanging;
    return mayJoin ? { ...this.#wish, mode: this.#mode } : undefined;
  }

  has(store: Store): boolean {
    return this.#members.has(store);
  }

  /** This store has been asked for a seat: it joins if it is still wanted when it comes. */
  expect(store: Store, asked: Promise<Seat>): void {
    this.#missing.expect(store, asked);
  }

  /** A seat joins, with its fence lifted, if the hold wants it; otherwise it is given back. */
  async offer(store: Store, seat: Seat): Promise<void> {
    const isWanted = (): boolean => seat.currentMode() === this.wanted?.mode && !this.has(store);
    let fence = seat.fencingToken;
    try {
      // A change of mode may bring another token meanwhile.
      while (isWanted() && fence < this.#token) {
        const token = this.#token;
        await seat.raiseFence(token);
        fence = token;
      }
      if (isWanted()) {
        this.#members.set(store, seat);
        this.#watch(store, seat);
        return;
      }
    } catch {
      // It counts for nothing without its fence.
    }
    void seat.release();
  }

  #watch(store: Store, seat: Seat): void {
    seat.onEnded(() => {
      this.#left(store, seat);
    });
    const asked = (): void => {
      this.#requestRelease(seat.revocation);
    };
    if (seat.releaseRequested.aborted) asked();
    else seat.releaseRequested.addEventListener('abort', asked, { once: true });
  }

  #left(store: Store, seat: Seat): void {
    if (this.#members.get(store) !== seat) return;
    this.#members.delete(store);
    const { ended } = seat;
    this.#revocation ??= seat.revocation;
    if (this.#members.size < this.#quorum.majority) this.#lose(ended ?? 'expired');
    else this.#missing.arm();
  }

  // ---- changes of mode

  /** Until it is settled, nobody joins: a seat would come with another mode. Whoever has left meanwhile is asked then. */
  changing(isChanging: boolean): void {
    this.#isChanging = isChanging;
    if (!isChanging) this.#missing.ask();
  }

  /** It is held as no more than this from now on, though no store has heard of it yet. */
  weaken(mode: Mode): void {
    this.#mode = mode;
  }

  /** It is held as this by these, unless they are too few by now. */
  become(mode: Mode, token: number, seats: readonly Seat[] = this.seats): void {
    const previousMode = this.#toldMode;
    this.#mode = mode;
    this.#toldMode = mode;
    this.#token = token;
    for (const [store, seat] of [...this.#members]) {
      if (seats.includes(seat)) continue;
      this.#members.delete(store);
      void seat.release();
    }
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
    (this.#kept ?? this.#observer?.deref())?.releaseRequestedNow();
    this.#quorum.report('releaseRequested', { ...this.event, ...this.#revocation });
  }

  #lose(why: LossCause): void {
    if (this.#ended !== undefined) return;
    const observer = this.#kept ?? this.#observer?.deref();
    const { heldMs } = this;
    this.#end(why);
    // Whoever works under the lock first.
    observer?.lost(why);
    this.#tellEnded();
    this.#quorum.report('lost', { ...this.event, heldMs, why: why === 'released' ? 'evicted' : why });
    // Where the provider was closed under a running owner, what is left is left to expire.
    if (why !== 'provider-closed') this.#giveBack();
  }

  #end(why: LossCause): void {
    this.#ended = why;
    this.#kept = undefined;
    this.#missing.end();
  }

  #tellEnded(): void {
    for (const callback of this.#onEnded) callback();
    this.#onEnded.clear();
  }

  #giveBack(): void {
    for (const seat of this.#members.values()) void seat.release();
  }
}

/** Rejects where it had been lost before. */
async function givenBack(seat: Seat): Promise<void> {
  if (!(await seat.release())) throw new Error('it had been lost before');
}

/** Why a release found too few of these; who revoked one is told before what else became of others. */
function whyGone(seats: readonly Seat[]): LossCause {
  const causes = seats.flatMap(({ foundGone }) => foundGone ?? []);
  return causes.find((why) => why === 'revoked') ?? causes[0] ?? 'evicted';
}
