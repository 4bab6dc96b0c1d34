import { withCallerFrames } from '../../caller-frames.js';
import type { Moment, Timer } from '../../clock.js';
import { AcquireTimeoutError, DeadlockError } from '../../errors.js';
import type { LeaseTerms } from '../../options/provider-options.js';
import type { BegunRequest } from '../../options/request-options.js';
import type { Lease, LockKind } from '../../protocol/lock-document.js';
import type { Demand } from '../../protocol/operation.js';
import type { Reply } from '../../protocol/replies/reply.js';
import type { Seats } from '../../protocol/seats.js';
import { describeLease } from '../../protocol/replies/snapshot.js';
import { Scope } from '../../scope.js';
import { unavailable } from '../../store/unavailable.js';
import { Asking, seatOf } from './asking.js';
import type { Asked, AskingObserver } from './asking.js';
import { Attempt } from './attempt.js';
import type { AcquisitionContext } from './acquisition-context.js';
import type { AttemptSpec } from './attempt.js';
import type { Wait } from '../waiting/wait.js';
import type { Grant, SeatKeeper } from '../holding/grant.js';
import { StoreAnswers } from './store-answers.js';

/** How long the answer to a cancel is awaited once the time to wait is up. */
const CANCEL_GRACE_MS = 1_000;

/** Which lock is asked for, and how much of it. */
export interface Wanted {
  readonly name: string;
  readonly seats: Seats;
  /** As is known when an attempt begins; the first one may teach the next. */
  demand(): Demand;
  /** Passes the seat on within this process; `undefined`: it goes back at every release. */
  readonly keeper?: SeatKeeper | undefined;
  /** Hears every reply that shows the lock. */
  readonly onReply?: ((reply: Reply) => void) | undefined;
  readonly onQueued?: (() => void) | undefined;
  /** Hears of each time that the store did not answer the request. */
  readonly onTrouble?: ((error: unknown) => void) | undefined;
}

/**
 * One call of acquire, from the request to its end.
 *
 * - `requesting`: an enqueue or a try is on its way, or a pause before its repeat by the same id.
 *   → `queued`; → `over`, by grant or refusal.
 * - `queued`: in the waiting room. → `over`, by a grant; → `requesting`, under a new id, if the place lapsed.
 * - `cancelling`: the time is up and the server is asked what came first. → `over`, by a grant or a timeout.
 * - `over`: settled. A seat or a place that turns up from now on is given back.
 */
type State = 'requesting' | 'queued' | 'cancelling' | 'over';

type Ending = { readonly grant: Grant } | { readonly errorOf: () => unknown };

export class Acquisition implements Wait {
  readonly hasLease = false;
  readonly #context: AcquisitionContext;
  readonly #options: BegunRequest;
  readonly #wanted: Wanted;
  readonly #keeper: SeatKeeper | undefined;
  readonly #spec: AttemptSpec;
  readonly #startedMs: number;
  readonly #settled: Promise<Ending>;
  #settle!: (ending: Ending) => void;
  #state: State = 'requesting';
  #attempt: Attempt;
  #place: number | null = null;
  /** As the last reply showed them. Thousands of waiters share one reply, so only an error describes them. */
  #holders: readonly Lease[] = [];
  readonly #answers: StoreAnswers;
  /** Ends the wait for the answer to a cancel. */
  #grace: Timer | undefined;

  constructor(context: AcquisitionContext, wanted: Wanted, options: BegunRequest) {
    const { terms, timeoutMs, why } = options;
    const { name, seats, keeper } = wanted;
    this.#context = context;
    this.#options = options;
    this.#wanted = wanted;
    const type = timeoutMs === 0 ? 'try' : 'enqueue';
    this.#keeper = keeper;
    const keeps = keeper?.keeps;
    this.#spec = { name, seats, terms, why, type, keeps, demand: () => wanted.demand() };
    this.#startedMs = options.startedMs;
    this.#answers = new StoreAnswers(context.collection);
    this.#attempt = new Attempt(context, this.#spec);
    this.#settled = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  get name(): string {
    return this.#spec.name;
  }

  get seats(): Seats {
    return this.#spec.seats;
  }

  get terms(): LeaseTerms {
    return this.#spec.terms;
  }

  get id(): string {
    return this.#attempt.id;
  }

  get waitedMs(): number {
    return this.#context.clock.nowMs() - this.#startedMs;
  }

  /** Resolves with the grant; rejects with what kept it away. Either way nothing stays behind. */
  async run(): Promise<Grant> {
    const { clock, closing, settings } = this.#context;
    // A single try has its time, too; a longer wait rides out trouble of the store until its timeout.
    const timeoutMs = this.#isTry ? settings.storeTimeoutMs : this.#options.timeoutMs;
    const scope = new Scope(this.name, clock, closing, { ...this.#options, timeoutMs });
    scope.throwIfOver();
    const close = scope.open({
      aborted: (errorOf) => {
        this.#end(errorOf);
      },
      timeUp: () => {
        if (this.#isTry) this.failed(this.#answers.why(timeoutMs));
        else void this.#timeUp();
      },
    });
    void this.#ask();
    try {
      const ending = await this.#settled;
      // Made here, and not where it comes about, so that its stack shows the caller that awaits this.
      if ('errorOf' in ending) throw withCallerFrames(ending.errorOf);
      return ending.grant;
    } finally {
      close();
      this.#grace?.cancel();
    }
  }

  /** The grant is not wanted after all. */
  giveBack(): void {
    this.#attempt.giveBack();
  }

  get #isTry(): boolean {
    return this.#spec.type === 'try';
  }

  async #ask(): Promise<void> {
    const attempt = this.#attempt;
    const observer: AskingObserver = {
      isWanted: () => this.#state === 'requesting' && this.#attempt === attempt,
      note: (reply) => {
        this.#note(reply);
      },
      trouble: (error) => {
        this.#answers.failed(error);
        this.#wanted.onTrouble?.(error);
      },
    };
    this.#context.room.enter(this);
    const asked = await new Asking(this.#context, this.#spec, attempt, observer).run();
    if (asked !== undefined) this.#asked(asked);
  }

  #asked(asked: Asked): void {
    switch (asked.type) {
      case 'granted':
        this.granted(asked.token, asked.deadline);
        break;
      case 'queued':
        this.#state = 'queued';
        if (this.#options.isNested === true && asked.place.place > 0) {
          // Those ahead may wait for what the caller itself holds.
          this.#end(() => new DeadlockError(this.name));
          return;
        }
        this.#context.room.queued(this, asked.place, asked.reply, asked.sentAt);
        this.#wanted.onQueued?.();
        // Last, because a listener may abort, or close the provider.
        this.#context.report('waiting', { ...this.#event(), place: asked.place.place });
        break;
      case 'busy':
        this.#endAsTimeout();
        break;
      case 'lapsed':
        this.#again();
        break;
      case 'failed':
        this.failed(asked.error);
    }
  }

  /** A new attempt within the same call: what is known of the old id must not be taken for the new one. */
  #again(): void {
    this.#context.room.leave(this, true);
    this.#attempt.giveBack();
    this.#attempt = new Attempt(this.#context, this.#spec);
    this.#state = 'requesting';
    void this.#ask();
  }

  // ---- what the waiting room tells

  granted(token: number, deadline: Moment): void {
    if (this.#state === 'over') return;
    const { clock, room } = this.#context;
    const { name, seats, terms, id } = this;
    const { mode, permits } = this.#attempt.request;
    // The answer came when the hold was over already: it is given back, and asked for again.
    if (deadline.ms <= clock.nowMs()) {
      this.#attempt.giveBack();
      if (this.#state === 'cancelling' || this.#isTry) this.#endAsTimeout();
      else this.#again();
      return;
    }
    room.leave(this, false);
    this.#state = 'over';
    const copies = this.#attempt.copies.mayArrive ? this.#attempt.copies : undefined;
    const keeper = this.#keeper;
    const kept = keeper === undefined ? undefined : { keeper, passes: 0, tokensLeft: keeper.keeps };
    const grant = { name, seats, id, token, terms, demand: { mode, permits }, deadline, copies, kept };
    this.#settle({ grant });
  }

  lapsed(): void {
    this.#attempt.forget();
    // Whoever cancels learns of it by the answer to that.
    if (this.#state === 'queued') this.#again();
  }

  failed(error: unknown): void {
    this.#attempt.withdraw();
    const outcomeKnown = !this.#attempt.mayRemain;
    this.#end(() => unavailable(this.name, outcomeKnown, error));
  }

  placed(place: number, reply: Reply): void {
    this.#place = place;
    this.#note(reply);
  }

  #note(reply: Reply): void {
    this.#answers.answered();
    this.#holders = reply.leases;
    this.#wanted.onReply?.(reply);
  }

  // ---- the end

  /**
   * The time is up. A cancel removes the waiter only, and its answer tells whether the grant came first: then the
   * lock is returned, though late, because giving it back would waste it.
   */
  async #timeUp(): Promise<void> {
    if (this.#state === 'over') return;
    this.#attempt.withdraw();
    if (!this.#attempt.mayRemain) {
      this.#endAsTimeout();
      return;
    }
    this.#state = 'cancelling';
    this.#answers.ending();
    const { clock } = this.#context;
    this.#grace = clock.at(clock.nowMs() + CANCEL_GRACE_MS, () => {
      this.#endAsTimeout();
    });
    const outcome = await this.#attempt.cancel();
    if (outcome.type !== 'done') {
      this.#answers.failed(outcome.error);
      this.#endAsTimeout();
      return;
    }
    this.#answers.answered();
    const seat = seatOf(outcome, this.id, this.#spec);
    if (outcome.value.reply !== null) this.#note(outcome.value.reply);
    if (seat === undefined) this.#endAsTimeout();
    else this.granted(seat.token, seat.deadline);
  }

  #endAsTimeout(): void {
    if (this.#state === 'over') return;
    const { waitedMs } = this;
    const store = this.#answers.atTimeout(this.#state === 'cancelling' ? CANCEL_GRACE_MS : undefined);
    const details = { place: this.#place, waitedMs, ...store };
    const leases = this.#holders;
    this.#end(() => new AcquireTimeoutError(this.name, { holders: leases.map(describeLease), ...details }));
    if (!this.#isTry) this.#context.report('timeout', { ...this.#event(), waitedMs });
  }

  /** Ends without a lock. What may be in the document is taken out in the background. */
  #end(errorOf: () => unknown): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.#attempt.withdraw();
    this.#context.room.leave(this, true);
    this.#attempt.giveBack();
    this.#settle({ errorOf });
  }

  #event(): { lockName: string; kind: LockKind; id: string } {
    return { lockName: this.name, kind: this.seats.kind, id: this.id };
  }
}
