import type { Timer } from '../clock.js';
import { AcquireTimeoutError } from '../errors.js';
import { StateMachine } from '../state-machine.js';
import type { Moves } from '../state-machine.js';
import { highestToken } from './hold-token.js';
import type { HoldIdentity } from './hold-token.js';
import { QuorumHold } from './quorum-hold.js';
import { majorityRemainingMs } from './quorum.js';
import type { Quorum } from './quorum.js';
import type { StoreAnswer, AskedStore, Granted } from './store-answer.js';
import { grantedSeats, obstaclesOf, winOf } from './round-tally.js';
import type { Obstacles } from './round-tally.js';
import type { StoreSeat, SeatRequest } from './store.js';

type State = 'closed' | 'open' | 'won';

const MOVES: Moves<State> = {
  closed: ['open'],
  open: ['closed', 'won'],
  won: [],
};

/**
 * The rounds of one request. A round without a gate asks all stores at once. The round is won as soon as a majority has
 * granted a seat and raised its fence, if at least `minValidityMs` of the leases is left then. The round has failed
 * when less is left, when a majority is impossible, or when the extra time for silent stores is over. A failed round
 * releases every seat that it has. If a try of a failed round is still in flight, its store is not asked again. The
 * seat of such a try is released if it is granted before the next round begins. Otherwise the try counts in the next
 * round.
 *
 * **Gate.** A round may have a gate: the first store that may grant is asked first and alone. The other stores are
 * asked only if the lock is not busy at the gate; otherwise the round has failed. If several contenders begin together,
 * one passes, and each of the others costs only one write. Without a gate, the contenders would take seats from each
 * other. A gate has two costs. It takes one more round trip. And if the process of a seat at the gate has died, or does
 * not know of the seat, this seat can block every round with this gate until its lease expires. So three kinds of
 * rounds have no gate:
 *
 * - the first round, unless the request waits for a contended lock (`ContendedLocks`);
 * - the round after a pause that followed a busy gate, if the reported releases did not free the gate during the pause;
 * - a round in which no store may grant (`StoreHealth.mayGrant`).
 *
 * **Silent stores.** While a request waits for a silent store, it keeps the seats that other stores have granted. If
 * the lock is busy in some store, these seats may keep everyone out. So the round waits for the end of a silent store's
 * try only while no store has answered that the lock is busy. Otherwise the silent store gets some extra time, because
 * it may answer again. The extra time begins when the other stores have answered, and lasts as long as they took, at
 * least `pollMs.min`. A store whose try of an earlier round is still in flight is treated like a silent one.
 *
 * **Token.** As soon as a majority has granted a seat, the fence of each of these seats is raised to the highest of
 * their tokens. The fence of a seat that is granted later is raised, too, so that this seat can replace the seat of a
 * store that falls silent. The hold has the token T if a majority of the stores has its fence at T or above and none of
 * these stores granted a token above T. A seat whose fence cannot be raised does not count as granted.
 *
 * **States.**
 *
 * - `closed`: no round is going on. A seat that is granted now is released. → `open`.
 * - `open`: each answer counts for the round. → `won`; → `closed`, when the round has failed.
 * - `won`: the round has made a hold. A seat that is granted now joins the hold, or the hold releases it. Final.
 */
export class QuorumRounds {
  readonly #quorum: Quorum;
  readonly #request: SeatRequest;
  readonly #stores: readonly AskedStore[];
  readonly #ending = new AbortController();
  readonly #state = new StateMachine<State>('closed', MOVES);
  /** `undefined` until a round is won. */
  #hold: QuorumHold | undefined;
  #onNews: () => void = () => undefined;
  #slowness: Error | undefined;
  #isGateBusy = false;
  #beganMs = 0;
  #grace: Timer | undefined;
  #isGraceOver = false;

  constructor(quorum: Quorum, request: SeatRequest) {
    this.#quorum = quorum;
    this.#request = request;
    this.#stores = quorum.stores.map((store) => ({
      store,
      answer: undefined,
      lastAnswer: undefined,
      inFlight: undefined,
      isAwaited: false,
    }));
  }

  /** Ends the present round, because the request is over. A seat that is granted from now on is released. */
  end(): void {
    this.#ending.abort();
    this.#onNews();
  }

  /** Runs one round. If the round has failed, resolves with `undefined`, and releases every seat in the background. */
  async run(hasGate: boolean): Promise<QuorumHold | undefined> {
    this.#state.to('open');
    this.#slowness = undefined;
    this.#beganMs = this.#quorum.clock.nowMs();
    for (const each of this.#stores) each.answer = undefined;
    const gate = hasGate ? this.#stores.find(({ store }) => this.#quorum.health.mayGrant(store)) : undefined;
    if (gate !== undefined) {
      this.#ask(gate);
      await this.#until(() => gate.answer !== undefined);
    }
    this.#isGateBusy = gate?.answer?.type === 'busy';
    if (!this.#isGateBusy) {
      for (const each of this.#stores) if (each !== gate) this.#ask(each);
      await this.#until(() => this.#isDecided());
    }
    this.#endGrace();
    const hold = this.#makeHold();
    if (hold === undefined) this.#close();
    return hold;
  }

  /**
   * Called after a round. Resolves when a majority of the stores has said whether the lock is taken, when no awaited
   * try is in flight, or when the request is over. Each try settles within `storeTimeoutMs`.
   */
  async answeredByMajority(): Promise<void> {
    await this.#until(() => {
      const answers = this.#stores.filter(
        ({ lastAnswer: last }) => last !== undefined && last.type !== 'failed',
      );
      const isAwaiting = this.#stores.some(({ inFlight, isAwaited }) => isAwaited && inFlight !== undefined);
      return answers.length >= this.#quorum.majority || !isAwaiting;
    });
  }

  #isOver(): boolean {
    return this.#ending.signal.aborted;
  }

  /** Resolves when `isSo` returns true, or when the request is over. */
  async #until(isSo: () => boolean): Promise<void> {
    while (!this.#isOver() && !isSo()) {
      await new Promise<void>((resolve) => {
        this.#onNews = resolve;
      });
    }
  }

  get obstacles(): Obstacles {
    return obstaclesOf(this.#stores, this.#quorum.health, this.#isGateBusy);
  }

  /** The error of the last round if a majority granted a seat, but too late. */
  get slowness(): Error | undefined {
    return this.#slowness;
  }

  // ---- asking

  #ask(asked: AskedStore): void {
    // A try of an earlier round may have been granted a seat while this round waited for its gate. A second try would
    // find the lock busy because of that seat. The answer `busy` would replace the answer with the seat, and nobody
    // would release the seat.
    if (asked.answer !== undefined) return;
    const { health } = this.#quorum;
    asked.isAwaited = asked.inFlight === undefined && !health.isSilent(asked.store);
    if (asked.inFlight !== undefined) return;
    const inFlight = health.try(asked.store, this.#request, () => {
      this.#throwIfOver();
    });
    asked.inFlight = inFlight;
    inFlight.then(
      (seat) => {
        const { fencingToken } = seat;
        const fence = { requested: fencingToken, confirmed: fencingToken };
        this.#answered(asked, { type: 'granted', seat, fence });
      },
      (error: unknown) => {
        const isBusy = error instanceof AcquireTimeoutError;
        this.#answered(asked, isBusy ? { type: 'busy', holders: error.holders } : { type: 'failed', error });
      },
    );
  }

  #throwIfOver(): void {
    // If the deadline of the hold has passed unnoticed, the check ends the hold, which aborts `#ending`.
    this.#hold?.checkEnd();
    this.#ending.signal.throwIfAborted();
  }

  #answered(asked: AskedStore, answer: StoreAnswer): void {
    asked.inFlight = undefined;
    asked.lastAnswer = answer;
    // After a win, the hold adds or releases a late seat. After a failed round, a late `busy` still names the holders.
    if (this.#state.is('open') || (this.#state.is('closed') && answer.type === 'busy')) asked.answer = answer;
    else if (this.#state.is('closed') && answer.type === 'granted') void answer.seat.release();
    this.#raiseFences();
    this.#onNews();
  }

  #raiseFences(): void {
    const granted = grantedSeats(this.#stores);
    if (!this.#state.is('open') || granted.size < this.#quorum.majority) return;
    const token = highestToken([...granted.values()]);
    for (const asked of this.#stores) {
      if (asked.answer?.type === 'granted' && asked.answer.fence.requested < token) {
        void this.#raiseFence(asked, asked.answer, token);
      }
    }
  }

  async #raiseFence(asked: AskedStore, granted: Granted, token: number): Promise<void> {
    const { seat, fence } = granted;
    fence.requested = token;
    try {
      await seat.raiseFence(token);
      fence.confirmed = Math.max(fence.confirmed, token);
    } catch (error) {
      if (!this.#state.is('open') || asked.answer !== granted) return;
      asked.answer = { type: 'failed', error };
      asked.lastAnswer = asked.answer;
      void seat.release();
    }
    this.#onNews();
  }

  // ---- deciding

  #isDecided(): boolean {
    const { majority } = this.#quorum;
    const granted = grantedSeats(this.#stores).size;
    const pending = this.#stores.filter(({ answer }) => answer === undefined);
    if (winOf(this.#stores, majority) !== undefined) return true;
    if (granted + pending.length < majority) return true;
    // A majority has granted a seat, but has not raised all fences yet.
    if (granted >= majority) return false;
    const isContended = this.#stores.some(({ answer }) => answer?.type === 'busy');
    return isContended && !pending.some(({ isAwaited }) => isAwaited) && this.#hasGivenGrace();
  }

  /** Whether the extra time of the silent stores is over. The first call in a round starts that time. */
  #hasGivenGrace(): boolean {
    const { clock, settings } = this.#quorum;
    const nowMs = clock.nowMs();
    const graceMs = Math.max(settings.pollMs.min, nowMs - this.#beganMs);
    this.#grace ??= clock.at(nowMs + graceMs, () => {
      this.#isGraceOver = true;
      this.#onNews();
    });
    return this.#isGraceOver;
  }

  #endGrace(): void {
    this.#grace?.cancel();
    this.#grace = undefined;
    this.#isGraceOver = false;
  }

  /**
   * Returns `undefined` if the round is not won, if the request is over, or if nothing or less than `minValidityMs` of
   * the leases is left.
   */
  #makeHold(): QuorumHold | undefined {
    const win = winOf(this.#stores, this.#quorum.majority);
    if (win === undefined || this.#isOver()) return undefined;
    const remainingMs = majorityRemainingMs(win.seats, this.#quorum.majority);
    const leastMs = this.#quorum.minValidityMs(this.#request.durations);
    if (remainingMs <= 0 || remainingMs < leastMs) {
      const left = `${String(Math.round(remainingMs))} ms`;
      this.#slowness = new Error(
        `a majority granted it too slowly: ${left} of the lease are left, and minValidityMs is ${String(leastMs)}`,
      );
      return undefined;
    }
    this.#state.to('won');
    return this.#holdOf(win, new Set(win.seats));
  }

  /**
   * The hold begins with the seats in `counted`. Each other seat joins the hold when its fence has been raised, or is
   * released.
   */
  #holdOf(identity: HoldIdentity, counted: ReadonlySet<StoreSeat>): QuorumHold {
    const members = new Map([...grantedSeats(this.#stores)].filter(([, seat]) => counted.has(seat)));
    const hold = new QuorumHold(this.#quorum, this.#request, identity, members);
    for (const { store, answer, inFlight } of this.#stores) {
      if (inFlight !== undefined) hold.expect(store, inFlight);
      else if (answer?.type === 'granted' && !members.has(store)) {
        hold.expect(store, Promise.resolve(answer.seat));
      }
    }
    hold.onEnded(() => {
      this.#ending.abort();
    });
    this.#hold = hold;
    return hold;
  }

  #close(): void {
    this.#state.to('closed');
    for (const seat of grantedSeats(this.#stores).values()) void seat.release();
    for (const asked of this.#stores) if (asked.answer?.type === 'granted') asked.answer = undefined;
  }
}
