import type { Timer } from '../clock.js';
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
import type { LockKind } from '../protocol/lock-document.js';
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

  // ---- the request

  get #isTry(): boolean {
    return this.#options.timeoutMs === 0;
  }

  /** A single try has had its time; a longer wait rides out trouble of the store until its timeout. */
  get #isSpent(): boolean {
    return this.#isTry && this.waitedMs >= this.#context.settings.storeTimeoutMs;
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
        this.granted(fate.lease.token, this.#deadlineMs(fate.lease.expiresAt, reply, outcome.sentAtMs));
        break;
      case 'queued':
        this.#state = 'queued';
        this.#context.report('waiting', { ...this.#event(), place: fate.place.place });
        this.#context.room.queued(this, fate.place, reply, outcome.sentAtMs);
        break;
      case 'absent': {
        const type = this.#isTry ? 'try' : 'enqueue';
        this.#refused(refusalOf(reply, this.seats, type, this.#attempt.request), reply.kind);
      }
    }
  }

  #deadlineMs(expiresAt: Date, reply: Reply, sentAtMs: number): number {
    return sentAtMs + (expiresAt.getTime() - reply.nowMs) - this.terms.clockAllowanceMs;
  }

  #refused(refusal: Refusal, kind: LockKind): void {
    switch (refusal) {
      case 'busy':
        this.#endAsTimeout();
        break;
      case 'late':
        if (this.#isSpent)
          this.#end(new StoreUnavailableError(this.name, true, new Error('answered too late')));
        else this.#again();
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
    }
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
    if (failure.type === 'refused' || this.#isSpent) {
      const outcomeKnown = failure.type === 'refused' || !this.#attempt.mayRemain;
      this.#end(asLeaseholdError(this.name, outcomeKnown, failure.error));
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

  granted(token: number, deadlineMs: number): void {
    if (this.#state === 'over') return;
    const { clock, room } = this.#context;
    const { name, seats, terms, id } = this;
    // The answer came when the hold was over already: it is given back, and asked for again.
    if (deadlineMs <= clock.nowMs()) {
      this.#attempt.giveBack();
      if (this.#state === 'cancelling' || this.#isTry) this.#endAsTimeout();
      else this.#again();
      return;
    }
    room.leave(this, false);
    this.#state = 'over';
    this.#resolve({ name, seats, id, token, terms, deadlineMs });
  }

  lapsed(): void {
    this.#attempt.forget();
    // Whoever cancels learns of it by the answer to that.
    if (this.#state === 'queued') this.#again();
  }

  failed(error: unknown): void {
    this.#end(asLeaseholdError(this.name, true, error));
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
      this.granted(fate.lease.token, this.#deadlineMs(fate.lease.expiresAt, reply, outcome.sentAtMs));
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

const asLeaseholdError = (name: string, outcomeKnown: boolean, error: unknown): LeaseholdError =>
  error instanceof LeaseholdError ? error : new StoreUnavailableError(name, outcomeKnown, error);
