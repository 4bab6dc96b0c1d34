import { after } from '../clock.js';
import type { Moment, Timer } from '../clock.js';
import {
  AcquireTimeoutError,
  CorruptLockDocumentError,
  LeaseholdError,
  LockKindMismatchError,
  ProviderClosedError,
  QueueFullError,
  StoreUnavailableError,
} from '../errors.js';
import type { LeaseTerms, ParsedAcquireOptions } from '../options.js';
import { legalProjection } from '../protocol/extension.js';
import { leftMs } from '../protocol/lock-document.js';
import type { Lease, LockKind } from '../protocol/lock-document.js';
import { fateOf, refusalOf } from '../protocol/reply.js';
import type { Refusal, Reply } from '../protocol/reply.js';
import type { Seats } from '../protocol/seats.js';
import { describeLease } from '../protocol/snapshot.js';
import type { LeaseInfo } from '../protocol/snapshot.js';
import type { Answer } from '../store/combiner.js';
import type { Outcome, Refused, Unknown } from '../store/outcome.js';
import { Attempt } from './attempt.js';
import type { AcquisitionContext } from './attempt.js';
import type { Wait } from './bench.js';
import type { Grant } from './held-lease.js';

/** How long the answer to a cancel is awaited once the time to wait is up. */
const CANCEL_GRACE_MS = 1_000;
const FIRST_REPEAT_MS = 10;
const MAX_REPEAT_MS = 500;

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

export class Acquisition implements Wait {
  readonly name: string;
  readonly seats: Seats;
  readonly terms: LeaseTerms;
  readonly #context: AcquisitionContext;
  readonly #options: ParsedAcquireOptions;
  readonly #startedMs: number;
  readonly #settled: Promise<Grant>;
  #resolve!: (grant: Grant) => void;
  #reject!: (error: unknown) => void;
  #state: State = 'requesting';
  #attempt: Attempt;
  #adopting = false;
  #repeats = 0;
  #place: number | null = null;
  #holders: readonly LeaseInfo[] = [];
  #hasAnswer = false;
  #storeError: unknown;
  #timeout: Timer | undefined;
  #pause: Timer | undefined;

  constructor(context: AcquisitionContext, name: string, seats: Seats, options: ParsedAcquireOptions) {
    this.#context = context;
    this.name = name;
    this.seats = seats;
    this.terms = options.terms;
    this.#options = options;
    this.#startedMs = context.clock.nowMs();
    this.#attempt = this.#newAttempt();
    this.#settled = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  get id(): string {
    return this.#attempt.id;
  }

  get waitedMs(): number {
    return this.#context.clock.nowMs() - this.#startedMs;
  }

  /** Resolves with the grant; rejects with what kept it away. Either way nothing stays behind. */
  async run(): Promise<Grant> {
    const { signal, timeoutMs } = this.#options;
    const { closing, clock } = this.#context;
    signal?.throwIfAborted();
    if (closing.aborted) throw new ProviderClosedError(this.name);
    const onAbort = (): void => {
      this.#end(signal?.reason);
    };
    const onClosing = (): void => {
      this.#end(new ProviderClosedError(this.name));
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    closing.addEventListener('abort', onClosing, { once: true });
    if (timeoutMs > 0 && timeoutMs < Infinity) {
      this.#timeout = clock.at(this.#startedMs + timeoutMs, () => void this.#timeUp());
    }
    if (this.#isTry) {
      this.#timeout = clock.at(this.#startedMs + this.#context.settings.storeTimeoutMs, () => {
        this.#endUnanswered(new Error('no answer in time'));
      });
    }
    void this.#ask();
    try {
      return await this.#settled;
    } finally {
      signal?.removeEventListener('abort', onAbort);
      closing.removeEventListener('abort', onClosing);
      this.#timeout?.cancel();
      this.#pause?.cancel();
    }
  }

  /** The grant is not wanted after all. */
  giveBack(): void {
    this.#attempt.giveBack();
  }

  // ---- the request

  get #isTry(): boolean {
    return this.#options.timeoutMs === 0;
  }

  #newAttempt(): Attempt {
    const { name, seats, terms } = this;
    const type = this.#isTry ? 'try' : 'enqueue';
    return new Attempt(this.#context, { name, seats, terms, type, why: this.#options.why });
  }

  async #ask(): Promise<void> {
    const { collection, room } = this.#context;
    if (!collection.serverClock.isKnown) {
      const met = await collection.meet();
      if (this.#state !== 'requesting') return;
      if (met.type !== 'done') {
        this.#failed(met);
        return;
      }
    }
    room.enter(this);
    const attempt = this.#attempt;
    const outcome = await attempt.ask(this.#adopting);
    if (this.#state === 'requesting' && this.#attempt === attempt) this.#answered(outcome);
  }

  #answered(outcome: Outcome<Answer>): void {
    if (outcome.type !== 'done') {
      this.#failed(outcome);
      return;
    }
    this.#repeats = 0;
    const { reply } = outcome.value;
    // An enqueue creates what is missing, so there always is a document.
    if (reply === null) {
      this.#failed({ type: 'unknown', error: new Error('no document'), maybeApplied: true });
      return;
    }
    this.#note(reply);
    const fate = fateOf(reply, this.id);
    switch (fate.type) {
      case 'granted':
        this.#seated(fate.lease, reply, outcome.sentAt);
        break;
      case 'queued':
        this.#state = 'queued';
        this.#context.room.queued(this, fate.place, reply, outcome.sentAt);
        // Last, because a listener may abort, or close the provider.
        this.#context.report('waiting', { ...this.#event(), place: fate.place.place });
        break;
      case 'absent': {
        const type = this.#isTry ? 'try' : 'enqueue';
        void this.#refused(refusalOf(reply, this.seats, type, this.#attempt.request), reply.kind);
      }
    }
  }

  #deadline({ expiresAt, leaseMs }: Lease, reply: Reply, sentAt: Moment): Moment {
    return after(sentAt, leftMs(expiresAt, reply.nowMs, leaseMs) - this.terms.clockAllowanceMs);
  }

  /** A repeat may find a seat that has been ours for long. Too little left to hand out: extend first (E7). */
  #seated(lease: Lease, reply: Reply, sentAt: Moment): void {
    const deadline = this.#deadline(lease, reply, sentAt);
    if (deadline.ms - this.#context.clock.nowMs() < this.terms.leaseMs / 3) void this.#claim();
    else this.granted(lease.token, deadline);
  }

  async #claim(): Promise<void> {
    const attempt = this.#attempt;
    const outcome = await attempt.extend();
    if (this.#state !== 'requesting' || this.#attempt !== attempt) return;
    if (outcome.type !== 'done') {
      this.#failed(outcome);
      return;
    }
    const { reply } = outcome.value;
    const fate = reply === null ? undefined : fateOf(reply, attempt.id);
    if (reply !== null && fate?.type === 'granted') {
      this.granted(fate.lease.token, this.#deadline(fate.lease, reply, outcome.sentAt));
    } else {
      this.#again();
    }
  }

  async #refused(refusal: Refusal, kind: LockKind): Promise<void> {
    switch (refusal) {
      case 'busy':
        this.#endAsTimeout();
        break;
      case 'late':
        this.#again();
        break;
      case 'full':
        this.#end(new QueueFullError(this.name, this.#context.settings.maxMembers));
        break;
      case 'other-kind':
        if (this.#adopting) {
          this.#end(new LockKindMismatchError(this.name, this.seats.kind, kind));
        } else {
          this.#adopting = true;
          void this.#ask();
        }
        break;
      case 'corrupt':
        this.#end(new CorruptLockDocumentError(this.name));
        break;
      case 'unexplained':
        await this.#explain();
    }
  }

  /** Asks whether the document is legal. If it is, another operation of the same update was in the way, and is gone. */
  async #explain(): Promise<void> {
    const outcome = await this.#context.collection.read([this.name], legalProjection(this.seats), 'local');
    if (this.#state !== 'requesting') return;
    if (outcome.type !== 'done') this.#failed(outcome);
    else if (outcome.value.some((document) => document['legal'] !== true)) {
      this.#end(new CorruptLockDocumentError(this.name));
    } else if (this.#isTry) this.#endAsTimeout();
    else this.#again();
  }

  /** A new attempt within the same call: what is known of the old id must not be taken for the new one. */
  #again(): void {
    this.#context.room.leave(this, true);
    this.#attempt = this.#newAttempt();
    this.#state = 'requesting';
    void this.#ask();
  }

  #failed(failure: Refused | Unknown): void {
    this.#storeError = failure.error;
    if (failure.type === 'refused') {
      this.#endUnanswered(failure.error);
      return;
    }
    const { clock } = this.#context;
    const pauseMs = Math.min(FIRST_REPEAT_MS * 2 ** this.#repeats, MAX_REPEAT_MS);
    this.#repeats = Math.min(this.#repeats + 1, 10);
    this.#pause = clock.at(clock.nowMs() + pauseMs * (0.5 + Math.random() / 2), () => {
      if (this.#state === 'requesting') void this.#ask();
    });
  }

  // ---- what the waiting room tells

  granted(token: number, deadline: Moment): void {
    if (this.#state === 'over') return;
    const { clock, room } = this.#context;
    const { name, seats, terms, id } = this;
    // The answer came when the hold was over already: it is given back, and asked for again.
    if (deadline.ms <= clock.nowMs()) {
      this.#attempt.giveBack();
      if (this.#state === 'cancelling' || this.#isTry) this.#endAsTimeout();
      else this.#again();
      return;
    }
    room.leave(this, false);
    this.#state = 'over';
    this.#resolve({ name, seats, id, token, terms, deadline });
  }

  lapsed(): void {
    this.#attempt.forget();
    // Whoever cancels learns of it by the answer to that.
    if (this.#state === 'queued') this.#again();
  }

  failed(error: unknown): void {
    this.#endUnanswered(error);
  }

  placed(place: number, reply: Reply): void {
    this.#place = place;
    this.#note(reply);
  }

  #note({ leases }: Reply): void {
    this.#hasAnswer = true;
    this.#holders = leases.map(describeLease);
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
    const { clock } = this.#context;
    this.#pause?.cancel();
    this.#pause = clock.at(clock.nowMs() + CANCEL_GRACE_MS, () => {
      this.#endAsTimeout();
    });
    const outcome = await this.#attempt.cancel();
    if (this.#isOver()) return;
    const reply = outcome.type === 'done' ? outcome.value.reply : null;
    const fate = reply === null ? undefined : fateOf(reply, this.id);
    if (outcome.type === 'done' && reply !== null && fate?.type === 'granted') {
      this.granted(fate.lease.token, this.#deadline(fate.lease, reply, outcome.sentAt));
      return;
    }
    if (reply !== null) this.#note(reply);
    if (outcome.type !== 'done') this.#storeError = outcome.error;
    this.#endAsTimeout();
  }

  #isOver(): boolean {
    return this.#state === 'over';
  }

  #endAsTimeout(): void {
    if (this.#state === 'over') return;
    const { waitedMs } = this;
    if (!this.#isTry) this.#context.report('timeout', { ...this.#event(), waitedMs });
    const details = { holders: this.#holders, place: this.#place, waitedMs };
    const cause = this.#hasAnswer ? undefined : this.#storeError;
    this.#end(new AcquireTimeoutError(this.name, { ...details, cause }));
  }

  #endUnanswered(error: unknown): void {
    this.#attempt.withdraw();
    const outcomeKnown = !this.#attempt.mayRemain;
    this.#end(
      error instanceof LeaseholdError ? error : new StoreUnavailableError(this.name, outcomeKnown, error),
    );
  }

  /** Ends without a lock. What may be in the document is taken out in the background. */
  #end(error: unknown): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.#attempt.withdraw();
    this.#context.room.leave(this, true);
    this.#attempt.giveBack();
    this.#reject(error);
  }

  #event(): { lockName: string; kind: LockKind; id: string } {
    return { lockName: this.name, kind: this.seats.kind, id: this.id };
  }
}
