import { randomBytes } from 'node:crypto';
import type { Clock, Timer } from '../clock.js';
import {
  AcquireTimeoutError,
  CorruptLockDocumentError,
  LockKindMismatchError,
  ProviderClosedError,
  QueueFullError,
  StoreUnavailableError,
} from '../errors.js';
import type { Report } from '../events.js';
import type { LeaseTerms, ParsedAcquireOptions, Settings } from '../options.js';
import type { LockKind } from '../protocol/lock-document.js';
import { fateOf, refusalOf } from '../protocol/reply.js';
import type { Refusal, Reply } from '../protocol/reply.js';
import type { Seats } from '../protocol/seats.js';
import { describeLease } from '../protocol/snapshot.js';
import type { LeaseInfo } from '../protocol/snapshot.js';
import type { Request } from '../protocol/transition.js';
import type { Answer, Combiner } from '../store/combiner.js';
import type { LockCollection } from '../store/lock-collection.js';
import type { Done, Outcome } from '../store/outcome.js';
import type { Grant } from './held-lease.js';
import type { ReleaseQueue } from './release-queue.js';
import type { Wait, WaitingRoom } from './waiting-room.js';

/** The parts of a provider that an acquisition works with. */
export interface AcquisitionContext {
  readonly settings: Settings;
  readonly process: string;
  readonly clock: Clock;
  readonly report: Report;
  readonly collection: LockCollection;
  readonly combiner: Combiner;
  readonly room: WaitingRoom;
  readonly releases: ReleaseQueue;
  /** Aborts when the provider closes. */
  readonly closing: AbortSignal;
}

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
  #id = newAttemptId();
  #request: Request | undefined;
  #withdraw: () => void = () => undefined;
  #adopting = false;
  /** Whether the document may hold this attempt: from its first sending until the server shows that it does not. */
  #mayRemain = false;
  #repeats = 0;
  #place: number | null = null;
  #holders: readonly LeaseInfo[] = [];
  #storeError: unknown;
  #timers: Timer[] = [];

  constructor(context: AcquisitionContext, name: string, seats: Seats, options: ParsedAcquireOptions) {
    this.#context = context;
    this.name = name;
    this.seats = seats;
    this.terms = options.terms;
    this.#options = options;
    this.#startedMs = context.clock.nowMs();
    this.#settled = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  get id(): string {
    return this.#id;
  }

  get kind(): LockKind {
    return this.seats.kind;
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
      const timer = clock.at(this.#startedMs + timeoutMs, () => void this.#timeUp());
      this.#timers.push(timer);
    }
    void this.#ask();
    try {
      return await this.#settled;
    } finally {
      signal?.removeEventListener('abort', onAbort);
      closing.removeEventListener('abort', onClosing);
      for (const timer of this.#timers) timer.cancel();
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

  async #ask(): Promise<void> {
    const { room, combiner, collection } = this.#context;
    if (!collection.serverClock.isKnown) {
      const met = await collection.meet();
      if (this.#state !== 'requesting') return;
      if (met.type !== 'done') {
        this.#failed(met);
        return;
      }
    }
    this.#request ??= this.#newRequest();
    room.enter(this);
    const type = this.#isTry ? 'try' : 'enqueue';
    const submission = combiner.submit(
      this.name,
      this.seats,
      { type, request: this.#request },
      { adopting: this.#adopting },
    );
    const mayHaveRemained = this.#mayRemain;
    this.#mayRemain = true;
    this.#withdraw = () => {
      if (submission.withdraw()) this.#mayRemain = mayHaveRemained;
    };
    const outcome = await submission.outcome;
    if (this.#state === 'requesting') this.#answered(outcome, this.#request);
  }

  #newRequest(): Request {
    const { settings, process, collection } = this.#context;
    const { leaseMs, retentionMs, clockAllowanceMs } = this.terms;
    return {
      id: this.#id,
      process,
      leaseMs,
      label: settings.label,
      why: this.#options.why,
      notAfter: new Date(collection.serverClock.nowMs() + leaseMs - clockAllowanceMs),
      maxMembers: settings.maxMembers,
      retentionMs,
    };
  }

  #answered(outcome: Outcome<Answer>, request: Request): void {
    if (outcome.type !== 'done') {
      this.#failed(outcome);
      return;
    }
    this.#repeats = 0;
    const { reply } = outcome.value;
    // An enqueue creates what is missing, so there always is a document.
    if (reply === null)
      this.#failed({ type: 'unknown', error: new Error('no document'), maybeApplied: true });
    else this.#read(reply, outcome, request);
  }

  #read(reply: Reply, { sentAtMs }: Done<Answer>, request: Request): void {
    const fate = fateOf(reply, this.#id);
    switch (fate.type) {
      case 'granted': {
        const leftMs = fate.lease.expiresAt.getTime() - reply.nowMs;
        this.granted(fate.lease.token, sentAtMs + leftMs - this.terms.clockAllowanceMs);
        break;
      }
      case 'queued':
        this.#state = 'queued';
        this.#context.room.queued(this, fate.place, reply, sentAtMs);
        this.#context.report('waiting', { ...this.#event(), place: fate.place.place });
        break;
      case 'absent':
        this.#mayRemain = false;
        this.#note(reply);
        this.#refused(refusalOf(reply, this.seats, this.#isTry ? 'try' : 'enqueue', request), reply);
    }
  }

  #refused(refusal: Refusal, reply: Reply): void {
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
          this.#end(new LockKindMismatchError(this.name, this.seats.kind, reply.kind));
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
    this.#id = newAttemptId();
    this.#mayRemain = false;
    this.#request = undefined;
    this.#state = 'requesting';
    void this.#ask();
  }

  #failed(failure: Exclude<Outcome<unknown>, { type: 'done' }>): void {
    const { clock } = this.#context;
    this.#storeError = failure.error;
    if (failure.type === 'refused' || this.#isSpent) {
      const wasApplied = failure.type === 'unknown' && failure.maybeApplied;
      this.#end(asLeaseholdError(this.name, failure.error, !wasApplied));
      return;
    }
    const pauseMs = Math.min(FIRST_REPEAT_MS * 2 ** this.#repeats, MAX_REPEAT_MS);
    this.#repeats = Math.min(this.#repeats + 1, 10);
    const repeat = clock.at(clock.nowMs() + pauseMs * (0.5 + Math.random() / 2), () => {
      if (this.#state === 'requesting') void this.#ask();
    });
    this.#timers.push(repeat);
  }

  // ---- what the waiting room tells

  granted(token: number, deadlineMs: number): void {
    if (this.#state === 'over') return;
    const { clock, room } = this.#context;
    room.leave(this, false);
    // The answer came when the hold was over already: it is given back, and asked for again.
    if (deadlineMs <= clock.nowMs()) {
      this.#giveBack();
      if (this.#state === 'cancelling' || this.#isTry) this.#endAsTimeout();
      else this.#again();
      return;
    }
    this.#state = 'over';
    const { name, seats, terms } = this;
    this.#resolve({ name, seats, id: this.#id, token, terms, deadlineMs });
  }

  lapsed(): void {
    this.#mayRemain = false;
    // Whoever cancels learns of it by the answer to that.
    if (this.#state === 'queued') this.#again();
  }

  failed(error: unknown): void {
    this.#end(asLeaseholdError(this.name, error, true));
  }

  placed(place: number, reply: Reply): void {
    this.#place = place;
    this.#note(reply);
  }

  #note({ leases }: Reply): void {
    this.#holders = leases.map(describeLease);
  }

  // ---- the end

  /**
   * The time is up. A cancel removes the waiter only, and its answer tells whether the grant came first: then the
   * lock is returned, though late, because giving it back would waste it.
   */
  async #timeUp(): Promise<void> {
    if (this.#state === 'over') return;
    this.#withdraw();
    if (!this.#mayRemain) {
      this.#endAsTimeout();
      return;
    }
    this.#state = 'cancelling';
    const { combiner, clock } = this.#context;
    const grace = clock.at(clock.nowMs() + CANCEL_GRACE_MS, () => {
      this.#endAsTimeout();
    });
    this.#timers.push(grace);
    const outcome = await combiner.submit(this.name, this.seats, { type: 'cancel', id: this.#id }).outcome;
    if (this.#isOver()) return;
    const reply = outcome.type === 'done' ? outcome.value.reply : null;
    const fate = reply === null ? undefined : fateOf(reply, this.#id);
    if (outcome.type === 'done' && reply !== null && fate?.type === 'granted') {
      const leftMs = fate.lease.expiresAt.getTime() - reply.nowMs;
      this.granted(fate.lease.token, outcome.sentAtMs + leftMs - this.terms.clockAllowanceMs);
      return;
    }
    if (reply !== null) this.#note(reply);
    if (outcome.type === 'done') this.#mayRemain = fate?.type === 'queued';
    else this.#storeError = outcome.error;
    this.#endAsTimeout();
  }

  #isOver(): boolean {
    return this.#state === 'over';
  }

  #endAsTimeout(): void {
    const { waitedMs } = this;
    const answered = this.#holders.length > 0 || this.#place !== null;
    if (this.#state !== 'over' && !this.#isTry)
      this.#context.report('timeout', { ...this.#event(), waitedMs });
    this.#end(
      new AcquireTimeoutError(this.name, {
        holders: this.#holders,
        place: this.#place,
        waitedMs,
        ...(answered ? {} : { cause: this.#storeError }),
      }),
    );
  }

  /** Ends without a lock. What may be in the document is taken out in the background. */
  #end(error: unknown): void {
    if (this.#state === 'over') return;
    this.#withdraw();
    this.#state = 'over';
    this.#context.room.leave(this, true);
    if (this.#mayRemain) this.#giveBack();
    this.#reject(error);
  }

  #giveBack(): void {
    const { clock, releases, settings } = this.#context;
    const untilMs = clock.nowMs() + 2 * this.terms.leaseMs + settings.storeTimeoutMs;
    void releases.giveBack({ name: this.name, seats: this.seats, id: this.#id, untilMs });
  }

  #event(): { lockName: string; kind: LockKind; id: string } {
    return { lockName: this.name, kind: this.seats.kind, id: this.#id };
  }
}

/** 96 random bits, drawn at use: a cloned process must not repeat them (E34). */
const newAttemptId = (): string => `w${randomBytes(12).toString('hex')}`;

function asLeaseholdError(name: string, error: unknown, outcomeKnown: boolean): unknown {
  return error instanceof Error && 'lockName' in error
    ? error
    : new StoreUnavailableError(name, outcomeKnown, error);
}
