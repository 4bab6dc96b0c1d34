import { storedLeaseMs } from '../../options/provider-options.js';
import { fateOf } from '../../protocol/replies/reply.js';
import type { Demand, Request } from '../../protocol/operation.js';
import type { Answer } from '../../store/updates/combiner.js';
import type { Outcome } from '../../store/outcome.js';
import { UnansweredCopies } from '../../store/unanswered-copies.js';
import { newAttemptId, newNonce } from '../ids.js';
import type { LeaseContext } from './lease-context.js';
import type { BegunRequest } from './begun-request.js';

/**
 * One attempt id, and what the document may have under it. All copies of the request are equal, including the
 * not-after. A cancel and a leave name the same id, so each of them may be repeated.
 */
export class Attempt {
  readonly id: string;
  readonly type: 'enqueue' | 'try';
  readonly copies: UnansweredCopies;
  readonly #context: LeaseContext;
  readonly #begun: BegunRequest;
  #demand: Demand | undefined;
  #request: Request | undefined;
  #mayBeStored = false;
  #withdraw: () => void = () => undefined;

  constructor(context: LeaseContext, begun: BegunRequest) {
    this.id = newAttemptId(context.clock);
    this.type = begun.timeoutMs === 0 ? 'try' : 'enqueue';
    this.#context = context;
    this.#begun = begun;
    this.copies = new UnansweredCopies(context.collection.serverClock);
  }

  /**
   * Whether the document may have this attempt. True from the first call of `ask` until the process knows that the
   * document does not have the attempt.
   */
  get mayBeStored(): boolean {
    return this.#mayBeStored;
  }

  get request(): Request {
    this.#request ??= this.#newRequest();
    return this.#request;
  }

  /** Sends the request. With `takingOver`, the update first takes over an idle document of another kind. */
  async ask(takingOver: boolean): Promise<Outcome<Answer>> {
    const { name, rules } = this.#begun;
    const isRepeat = this.#demand !== undefined;
    this.#demand ??= this.#begun.demand();
    const operation = { type: this.type, id: this.id, make: () => this.request };
    const submission = this.#context.combiner.submit(name, rules, operation, { takingOver, isRepeat });
    const mayHaveBeenStored = this.#mayBeStored;
    this.#mayBeStored = true;
    this.copies.sent(() => this.request.notAfter);
    this.#withdraw = () => {
      if (!submission.withdraw()) return;
      this.#mayBeStored = mayHaveBeenStored;
      this.copies.copyEnded(false);
    };
    const outcome = await submission.outcome;
    const mayArrive = outcome.type === 'unknown' && outcome.maybeApplied;
    this.copies.copyEnded(mayArrive);
    const isSettled =
      outcome.type === 'done' || (outcome.type === 'refused' && outcome.isSecondCopy === true);
    if (!mayArrive && !isSettled) this.#mayBeStored = mayHaveBeenStored;
    return this.#learn(outcome);
  }

  async extend(): Promise<Outcome<Answer>> {
    const { name, rules, durations } = this.#begun;
    const operation = {
      type: 'extend',
      ids: [this.id],
      ...durations,
      nonce: newNonce(this.#context.clock),
    } as const;
    return this.#learn(await this.#context.combiner.submit(name, rules, operation).outcome);
  }

  /** Takes the request back if it has not been sent yet. */
  withdraw(): void {
    this.#withdraw();
  }

  /** Removes a waiter and never a lease. The answer tells whether the grant came first. */
  async cancel(): Promise<Outcome<Answer>> {
    const { name, rules } = this.#begun;
    const operation = { type: 'cancel', id: this.id } as const;
    return this.#learn(await this.#context.combiner.submit(name, rules, operation).outcome);
  }

  /**
   * Removes in the background what the document has under this id, and what a late copy of the request may still add.
   */
  giveBack(): void {
    if (!this.#mayBeStored && !this.copies.mayArrive) return;
    const { name, rules, durations } = this.#begun;
    const { clock, releases, settings } = this.#context;
    const untilMs = clock.nowMs() + 2 * storedLeaseMs(durations) + settings.storeTimeoutMs;
    void releases.giveBack({ name, rules, id: this.id, untilMs, copies: this.copies });
  }

  /** Called when the document has nothing of this attempt, for example because its place has lapsed. */
  forget(): void {
    this.#mayBeStored = false;
  }

  #learn(outcome: Outcome<Answer>): Outcome<Answer> {
    if (outcome.type !== 'done') return outcome;
    const { reply } = outcome.value;
    // A corrupt document does not show whether it has the attempt, so `#mayBeStored` stays unchanged.
    if (reply?.isWellFormed === false) return outcome;
    this.#mayBeStored = reply !== null && fateOf(reply, this.id).type !== 'absent';
    return outcome;
  }

  #newRequest(): Request {
    const { settings, process, collection, observation } = this.#context;
    const { durations, why, keeper, observed } = this.#begun;
    const { leaseMs, retentionMs, clockAllowanceMs } = durations;
    // A copy that arrives after the not-after does nothing. If the call still waits then, it makes a new attempt.
    const patienceMs = (this.type === 'try' ? 1 : 2) * settings.storeTimeoutMs;
    return {
      ...this.#demand,
      id: this.id,
      process,
      leaseMs,
      label: settings.label,
      why,
      traceparent: observation.keepsTraces ? observed?.traceparent : undefined,
      keeps: keeper?.keeps,
      notAfter: new Date(collection.serverClock.nowMs() + Math.min(leaseMs - clockAllowanceMs, patienceMs)),
      maxMembers: settings.maxMembers,
      retentionMs,
    };
  }
}
