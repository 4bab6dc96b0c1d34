// Folder `acquiring`: sends a request to the store and awaits its grant. A request makes one attempt or several, one
// after another, and each attempt has its own id.

import { withCallerFrames } from '../../caller-frames.js';
import { AcquireTimeoutError, DeadlockError } from '../../errors.js';
import type { Heard } from '../../observer.js';
import type { Lease, LockKind } from '../../protocol/lock-document.js';
import type { Reply } from '../../protocol/replies/reply.js';
import { describeLease } from '../../protocol/replies/snapshot.js';
import { CANCEL_GRACE_MS, Scope } from '../../scope.js';
import type { Stop } from '../../scope.js';
import { unavailable } from '../../store/unavailable.js';
import type { Grant } from '../holding/grant.js';
import { TurnWait } from '../waiting/turn.js';
import type { Turn } from '../waiting/turn.js';
import type { LeaseContext } from './lease-context.js';
import { Asking } from './asking.js';
import type { Asked } from './asking.js';
import { Attempt } from './attempt.js';
import type { BegunRequest } from './begun-request.js';
import { grantBeforeCancel, grantOrFailure } from './cancelling.js';
import { StoreAnswers } from './store-answers.js';

type Queued = Extract<Asked, { readonly type: 'queued' }>;
type Granted = Extract<Turn, { readonly type: 'granted' }>;

interface AttemptWait {
  readonly attempt: Attempt;
  readonly wait: TurnWait;
}

/**
 * One call of acquire: sends the request of an attempt and awaits its grant. A new attempt follows under a new id if
 * the document does not have the attempt, for example because the place lapsed, or if the process hears of the grant
 * too late.
 */
export class Acquisition {
  readonly #context: LeaseContext;
  readonly #request: BegunRequest;
  readonly #answers: StoreAnswers;
  readonly #stopped: Promise<Stop>;
  /**
   * `#stopped` keeps only the first stop. An abort after the time is up needs a promise of its own, so that it can end
   * the wait for the cancel.
   */
  readonly #aborted: Promise<Stop>;
  #current: AttemptWait;
  #stop!: (stop: Stop) => void;
  #abort!: (stop: Stop) => void;
  #isStopped = false;
  #place: number | null = null;
  /**
   * The holders in the last reply, not yet converted to `LeaseInfo`. Thousands of waiters share one reply, and only a
   * timeout error needs the conversion.
   */
  #holders: readonly Lease[] = [];

  constructor(context: LeaseContext, request: BegunRequest) {
    this.#context = context;
    this.#request = request;
    this.#answers = new StoreAnswers(context.collection);
    this.#current = this.#newAttempt();
    this.#stopped = new Promise((resolve) => {
      this.#stop = resolve;
    });
    this.#aborted = new Promise((resolve) => {
      this.#abort = resolve;
    });
  }

  /**
   * Resolves with the grant, or rejects with the reason why there is none. After a failure, the library removes in the
   * background what the document may have of this call.
   */
  async run(): Promise<Grant> {
    const { clock, closing, settings } = this.#context;
    const scope = new Scope(this.#request.name, clock, closing, this.#request, settings.storeTimeoutMs);
    scope.throwIfOver();
    const close = scope.open({
      aborted: (errorOf) => {
        this.#end({ type: 'aborted', errorOf });
      },
      timeUp: () => {
        this.#end({ type: 'time up' });
      },
    });
    try {
      return await this.#acquire();
    } finally {
      close();
    }
  }

  giveBack(): void {
    this.#current.attempt.giveBack();
  }

  async #acquire(): Promise<Grant> {
    for (;;) {
      let grant: Grant | undefined;
      try {
        grant = await this.#runAttempt();
        if (grant !== undefined) return grant;
      } finally {
        if (grant === undefined) this.#abandon();
      }
      // The new attempt has a new id, so that a late answer to the old attempt is not taken for an answer to the new
      // one.
      this.#current = this.#newAttempt();
    }
  }

  /**
   * Makes one attempt. Returns `undefined` if a new attempt must follow: the document has nothing of this attempt any
   * more, the request reached the server too late, or the process heard of the grant after the deadline.
   */
  async #runAttempt(): Promise<Grant | undefined> {
    const { wait } = this.#current;
    // The grant may arrive before the reply, so the wait is registered before the request is sent (L2).
    this.#context.room.enter(wait);
    const asked = await Promise.race([this.#ask(), this.#stopped]);
    const turn = asked.type === 'queued' ? await this.#waitInQueue(asked) : asked;
    switch (turn.type) {
      case 'granted':
        return this.#accept(turn, this.#isTry);
      case 'busy':
        throw this.#reportTimeout();
      case 'lapsed':
        this.#current.attempt.forget();
        return undefined;
      case 'failed':
        throw this.#withdrawAndExplain(turn.error);
      case 'aborted':
        throw withCallerFrames(turn.errorOf);
      case 'time up':
        if (this.#isTry)
          throw this.#withdrawAndExplain(this.#answers.why(this.#context.settings.storeTimeoutMs));
        return await this.#cancel();
    }
  }

  async #ask(): Promise<Asked | Stop> {
    const { attempt } = this.#current;
    const asking = new Asking(this.#context, this.#request, attempt, {
      isWanted: () => !this.#isStopped,
      note: (reply) => {
        this.#note(reply);
      },
      trouble: (error) => {
        this.#answers.failed(error);
        this.#request.onTrouble?.(error);
      },
    });
    return (await asking.run()) ?? (await this.#stopped);
  }

  async #waitInQueue({ place, reply, sentAt }: Queued): Promise<Turn | Stop> {
    const { room, report } = this.#context;
    const { wait } = this.#current;
    if (this.#request.isNestedWithoutBound && place.place > 0) {
      // Deadlock: a waiter ahead may wait for the end of a hold that the caller's own chain of calls has.
      throw withCallerFrames(() => new DeadlockError(wait.name));
    }
    room.queued(wait, place, reply, sentAt);
    this.#request.onQueued?.();
    const { observed } = this.#request;
    if (observed !== undefined) observed.queuePlace ??= place.place;
    // Reported last, because a listener may abort the call or close the provider.
    report('waiting', { ...this.#event(), place: place.place });
    return await Promise.race([wait.turn, this.#stopped]);
  }

  /**
   * Returns the grant, or `undefined` if its deadline has passed and a new attempt must follow.
   *
   * @param isLast - Whether no new attempt may follow. A grant that is too late then counts as a timeout.
   */
  #accept({ token, deadline, heard }: Granted, isLast: boolean): Grant | undefined {
    const { clock, room } = this.#context;
    const { attempt, wait } = this.#current;
    if (deadline.ms <= clock.nowMs()) {
      if (isLast) throw this.#reportTimeout();
      return undefined;
    }
    room.leave(wait, false);
    if (heard !== undefined) this.#noteHandOver(heard);
    const { name, rules, durations } = this.#request;
    const { mode, permits } = attempt.request;
    const copies = attempt.copies.mayArrive ? attempt.copies : undefined;
    const { id } = attempt;
    return { name, rules, id, token, durations, demand: { mode, permits }, deadline, copies };
  }

  /**
   * Notes for the observers how the process heard of the grant, and which holds came before the new one: those that the
   * update of the grant gave back, and those in the last answer, if that answer showed the attempt at the head.
   * Otherwise, waiters ahead of the attempt may have had holds that no answer has shown.
   */
  #noteHandOver({ by, grantedAtMs, handedBy }: Heard): void {
    const { observed } = this.#request;
    if (observed === undefined) return;
    const { id } = this.#current.attempt;
    const nowMs = this.#context.collection.serverClock.nowMs();
    observed.heardBy = by;
    observed.handoverMs = grantedAtMs === undefined ? undefined : Math.max(0, nowMs - grantedAtMs);
    const before = this.#place === 0 ? this.#holders.filter((lease) => lease.id !== id) : [];
    const shown = before.flatMap(({ traceparent }) => traceparent ?? []);
    // The exact ones come first, because links are bounded. An earlier attempt of this call may be among them.
    const traces = new Set([...handedBy, ...shown]);
    observed.handedBy = [...traces].filter((traceparent) => traceparent !== observed.traceparent);
  }

  #end(stop: Stop): void {
    this.#isStopped = true;
    this.#current.attempt.withdraw();
    this.#stop(stop);
    if (stop.type === 'aborted') this.#abort(stop);
  }

  /**
   * Called when the time is up. A cancel removes only a waiter, and its answer tells whether the grant came first. A
   * grant that came first is returned, though late, because giving it back would waste it.
   */
  async #cancel(): Promise<Grant | undefined> {
    const { attempt, wait } = this.#current;
    if (!attempt.mayBeStored) throw this.#reportTimeout();
    this.#answers.ending();
    const place = { hasLapsed: false };
    void wait.turn.then(({ type }) => (place.hasLapsed = type === 'lapsed'));
    const cancelled = grantBeforeCancel(attempt, this.#context.clock, this.#request.durations, {
      answers: this.#answers,
      note: (reply) => {
        this.#note(reply);
      },
    });
    const first = await Promise.race([grantOrFailure(wait), cancelled, this.#aborted]);
    // A grant after the lapse of the place went to a late copy of the request. The waiting room gives that seat back.
    if (first?.type === 'granted' && !place.hasLapsed) return this.#accept(first, true);
    if (first?.type === 'failed') throw this.#withdrawAndExplain(first.error);
    if (first?.type === 'aborted') throw withCallerFrames(first.errorOf);
    throw this.#reportTimeout(CANCEL_GRACE_MS);
  }

  #abandon(): void {
    const { attempt, wait } = this.#current;
    attempt.withdraw();
    this.#context.room.leave(wait, true);
    attempt.giveBack();
  }

  #newAttempt(): AttemptWait {
    const attempt = new Attempt(this.#context, this.#request);
    const { name, rules, durations } = this.#request;
    const waiting = { name, rules, durations, id: attempt.id, hasLease: false };
    const wait = new TurnWait(waiting, (place, reply) => {
      this.#place = place;
      this.#note(reply);
    });
    return { attempt, wait };
  }

  get #isTry(): boolean {
    return this.#current.attempt.type === 'try';
  }

  #note(reply: Reply): void {
    this.#answers.answered();
    this.#holders = reply.leases;
    this.#request.onReply?.(reply);
  }

  /**
   * Withdraws the attempt and returns the error. The withdrawal comes first, because it may show that nothing is
   * stored.
   */
  #withdrawAndExplain(error: unknown): unknown {
    const { attempt } = this.#current;
    attempt.withdraw();
    return withCallerFrames(() => unavailable(this.#request.name, !attempt.mayBeStored, error));
  }

  /**
   * Reports the timeout, unless the call was a try, and returns the error.
   *
   * @param boundMs - How long the cancel had for its answer, in ms; not given if no cancel was sent.
   */
  #reportTimeout(boundMs?: number): AcquireTimeoutError {
    const { clock, report } = this.#context;
    const waitedMs = clock.nowMs() - this.#request.startedMs;
    const holders = this.#holders.map(describeLease);
    const details = { holders, place: this.#place, waitedMs, ...this.#answers.atTimeout(boundMs) };
    if (!this.#isTry) report('timeout', { ...this.#event(), waitedMs });
    return withCallerFrames(() => new AcquireTimeoutError(this.#request.name, details));
  }

  #event(): { lockName: string; kind: LockKind; id: string } {
    const { name, rules } = this.#request;
    return { lockName: name, kind: rules.kind, id: this.#current.attempt.id };
  }
}
