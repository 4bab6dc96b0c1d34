import type { Timer } from '../clock.js';
import { AcquireTimeoutError } from '../errors.js';
import type { LeaseInfo } from '../protocol/replies/snapshot.js';
import { QuorumHold } from './quorum-hold.js';
import type { Elected } from './quorum-hold.js';
import { highestToken, majorityRemainingMs } from './quorum.js';
import type { Quorum } from './quorum.js';
import type { StoreFailure } from './store-failure.js';
import type { Seat, Store, SeatRequest } from './store.js';
import type { Answer, Granted, StoreVote } from './store-vote.js';

/** What keeps a majority away, from the last round. */
export interface Obstacles {
  /** Who has the lock, by the stores that refused it. */
  readonly refusals: ReadonlyMap<Store, readonly LeaseInfo[]>;
  /** Who has the lock, by the last answers, be they of rounds before. */
  readonly holders: readonly LeaseInfo[];
  /** The stores that owe an answer: they have failed, or were asked and have not said anything yet. */
  readonly failures: readonly StoreFailure[];
  /** The gate has refused, so nobody else was asked. */
  readonly isAtGate: boolean;
}

/**
 * The rounds of one request: each asks all stores at once and ends as soon as a majority has granted a seat, or cannot.
 * A round that fails gives back everything, answers that come later included. A store that still owes an answer from
 * before is not asked twice.
 *
 * A round may have a gate: the first store that answers is asked alone, and the others only if it grants. Of those who
 * begin together one passes, where otherwise each would take a few seats from the others; and the others have cost one
 * write each. It is one more round trip, and whoever lost a seat at the gate keeps everybody away until its lease ends;
 * so a first round has none, nor has one that follows a refusal at the gate.
 *
 * In a round in which others have been refused a seat, whoever holds some and waits for a store that does not answer
 * keeps everybody away; so a store that was silent the last time is waited for only where nobody else is in the way, or
 * for as long again as the others have taken, for it may be back.
 *
 * As soon as a majority has granted a seat, the fence of each is lifted to the highest of their tokens, and so is that of
 * whoever grants later: a store that falls silent just then is made up for by another one. The hold has the token T if a
 * majority has its fence at T or above, and none of them a token above T. A seat whose fence cannot be lifted is no grant.
 */
export class QuorumRounds {
  readonly #quorum: Quorum;
  readonly #wish: SeatRequest;
  readonly #votes: readonly StoreVote[];
  readonly #over = new AbortController();
  #state: 'open' | 'closed' | 'won' = 'closed';
  #onNews: () => void = () => undefined;
  #slowness: Error | undefined;
  #isAtGate = false;
  #beganMs = 0;
  #grace: Timer | undefined;
  #isGraceOver = false;

  constructor(quorum: Quorum, wish: SeatRequest) {
    this.#quorum = quorum;
    this.#wish = wish;
    this.#votes = quorum.stores.map((store) => ({
      store,
      answer: undefined,
      lastAnswer: undefined,
      asked: undefined,
      isAwaited: false,
    }));
  }

  /** Nobody wants it any more: the round ends, and what is granted from now on is given back. */
  end(): void {
    this.#over.abort();
    this.#onNews();
  }

  /** One round. `undefined`: it has failed, and everything is given back. */
  async hold(hasGate: boolean): Promise<QuorumHold | undefined> {
    this.#state = 'open';
    this.#slowness = undefined;
    this.#beganMs = this.#quorum.clock.nowMs();
    for (const vote of this.#votes) vote.answer = undefined;
    const gate = hasGate ? this.#votes.find(({ store }) => !this.#quorum.health.isSilent(store)) : undefined;
    if (gate !== undefined) {
      this.#ask(gate);
      await this.#until(() => gate.answer !== undefined);
    }
    this.#isAtGate = gate?.answer?.type === 'refused';
    if (!this.#isAtGate) {
      for (const vote of this.#votes) if (vote !== gate) this.#ask(vote);
      await this.#until(() => this.#isDecided());
    }
    this.#endGrace();
    const hold = this.#elect();
    if (hold === undefined) this.#close();
    return hold;
  }

  /**
   * A round ends as soon as nobody can win it, perhaps before a majority has said whether the lock is taken or stores are
   * away. Resolves when a majority has, or cannot; each store settles within its own bound.
   */
  async answeredByMajority(): Promise<void> {
    await this.#until(() => {
      const answers = this.#votes.filter(
        ({ lastAnswer: last }) => last !== undefined && last.type !== 'failed',
      );
      const isAwaiting = this.#votes.some(({ asked, isAwaited }) => isAwaited && asked !== undefined);
      return answers.length >= this.#quorum.majority || !isAwaiting;
    });
  }

  #isOver(): boolean {
    return this.#over.signal.aborted;
  }

  /** Until that is so, or nobody wants it any more. */
  async #until(isSo: () => boolean): Promise<void> {
    while (!this.#isOver() && !isSo()) {
      await new Promise<void>((resolve) => {
        this.#onNews = resolve;
      });
    }
  }

  get obstacles(): Obstacles {
    const refusals = new Map<Store, readonly LeaseInfo[]>();
    const failures: StoreFailure[] = [];
    const holders: LeaseInfo[] = [];
    for (const { store, answer, lastAnswer, asked } of this.#votes) {
      if (answer?.type === 'refused') refusals.set(store, answer.holders);
      if (lastAnswer?.type === 'refused') holders.push(...lastAnswer.holders);
      const hasFailed = lastAnswer?.type === 'failed';
      if (!hasFailed && (lastAnswer !== undefined || asked === undefined)) continue;
      const error = hasFailed ? lastAnswer.error : store.unanswered();
      failures.push({ store: store.index, hasAnswered: this.#quorum.health.hasAnswered(store), error });
    }
    return { refusals, holders, failures, isAtGate: this.#isAtGate };
  }

  /** Set if the last round had a majority, but too late. */
  get slowness(): Error | undefined {
    return this.#slowness;
  }

  // ---- asking

  #ask(vote: StoreVote): void {
    const { health } = this.#quorum;
    vote.isAwaited = vote.asked === undefined && !health.isSilent(vote.store);
    if (vote.asked !== undefined) return;
    const asked = health.try(vote.store, this.#wish, this.#over.signal);
    vote.asked = asked;
    asked.then(
      (seat) => {
        const { fencingToken } = seat;
        const fence = { wanted: fencingToken, lifted: fencingToken };
        this.#answered(vote, { type: 'granted', seat, fence });
      },
      (error: unknown) => {
        const isRefusal = error instanceof AcquireTimeoutError;
        this.#answered(
          vote,
          isRefusal ? { type: 'refused', holders: error.holders } : { type: 'failed', error },
        );
      },
    );
  }

  #answered(vote: StoreVote, answer: Answer): void {
    vote.asked = undefined;
    vote.lastAnswer = answer;
    // Whoever has won sees to what arrives now.
    // A refusal that comes late tells who is in the way all the same.
    if (this.#state === 'open' || (this.#state === 'closed' && answer.type === 'refused'))
      vote.answer = answer;
    else if (this.#state === 'closed' && answer.type === 'granted') void answer.seat.release();
    this.#liftFences();
    this.#onNews();
  }

  #liftFences(): void {
    const granted = this.#granted;
    if (this.#state !== 'open' || granted.size < this.#quorum.majority) return;
    const token = highestToken([...granted.values()]);
    for (const vote of this.#votes) {
      if (vote.answer?.type === 'granted' && vote.answer.fence.wanted < token) {
        void this.#lift(vote, vote.answer, token);
      }
    }
  }

  async #lift(vote: StoreVote, granted: Granted, token: number): Promise<void> {
    const { seat, fence } = granted;
    fence.wanted = token;
    try {
      await seat.raiseFence(token);
      fence.lifted = Math.max(fence.lifted, token);
    } catch (error) {
      if (this.#state !== 'open' || vote.answer !== granted) return;
      vote.answer = { type: 'failed', error };
      vote.lastAnswer = vote.answer;
      void seat.release();
    }
    this.#onNews();
  }

  // ---- deciding

  get #granted(): ReadonlyMap<Store, Seat> {
    const granted = new Map<Store, Seat>();
    for (const { store, answer } of this.#votes) {
      if (answer?.type === 'granted') granted.set(store, answer.seat);
    }
    return granted;
  }

  #isDecided(): boolean {
    const { majority } = this.#quorum;
    const granted = this.#granted.size;
    const pending = this.#votes.filter(({ answer }) => answer === undefined);
    if (this.#elected() !== undefined) return true;
    if (granted + pending.length < majority) return true;
    // Their fences are being lifted.
    if (granted >= majority) return false;
    const isContended = this.#votes.some(({ answer }) => answer?.type === 'refused');
    return isContended && !pending.some(({ isAwaited }) => isAwaited) && this.#hasGivenGrace();
  }

  /** Whether whoever was silent the last time has had its time; it begins when the others have answered. */
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

  /** Whose hold it would be, and by which seats; `undefined`: nobody's yet. */
  #elected(): { readonly id: string; readonly token: number; readonly seats: readonly Seat[] } | undefined {
    const granted = this.#votes.flatMap(({ answer }) => (answer?.type === 'granted' ? [answer] : []));
    for (const { seat } of granted) {
      const { id, fencingToken: token } = seat;
      const fenced = granted.filter((each) => each.seat.fencingToken <= token && each.fence.lifted >= token);
      if (fenced.length >= this.#quorum.majority) {
        return { id, token, seats: fenced.map((each) => each.seat) };
      }
    }
    return undefined;
  }

  /** A hold by the majority that granted it and whose fence is lifted, if there is time enough left. */
  #elect(): QuorumHold | undefined {
    const elected = this.#elected();
    if (elected === undefined || this.#isOver()) return undefined;
    const remainingMs = majorityRemainingMs(elected.seats, this.#quorum.majority);
    const leastMs = this.#quorum.minValidityMs(this.#wish.terms);
    if (remainingMs <= 0 || remainingMs < leastMs) {
      const left = `${String(Math.round(remainingMs))} ms`;
      this.#slowness = new Error(
        `a majority granted it, but too slowly: ${left} are left of it, and minValidityMs is ${String(leastMs)}`,
      );
      return undefined;
    }
    return this.#win(elected, new Set(elected.seats));
  }

  /** Whoever has not been counted may join as soon as it has granted a seat, and its fence is lifted. */
  #win(elected: Elected, fenced: ReadonlySet<Seat>): QuorumHold {
    this.#state = 'won';
    const members = new Map([...this.#granted].filter(([, seat]) => fenced.has(seat)));
    const hold = new QuorumHold(this.#quorum, this.#wish, elected, members);
    for (const { store, answer, asked } of this.#votes) {
      if (asked !== undefined) hold.expect(store, asked);
      else if (answer?.type === 'granted' && !members.has(store)) {
        hold.expect(store, Promise.resolve(answer.seat));
      }
    }
    hold.onEnded(() => {
      this.#over.abort();
    });
    return hold;
  }

  #close(): void {
    this.#state = 'closed';
    for (const seat of this.#granted.values()) void seat.release();
    for (const vote of this.#votes) if (vote.answer?.type === 'granted') vote.answer = undefined;
  }
}
