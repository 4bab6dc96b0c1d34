import { sleepUntil, within } from '../clock.js';
import { seconds } from '../error-text.js';
import { CorruptLockDocumentError, LockKindMismatchError, ProviderClosedError } from '../errors.js';
import type { LeaseContext } from '../lease/acquiring/lease-context.js';
import { newNonce } from '../lease/ids.js';
import { MAX_JOBS } from '../protocol/lock-document.js';
import type { OutcomeWithoutTerm } from '../protocol/jobs/job-claims.js';
import { electionRules } from '../protocol/kinds/election-rules.js';
import { answerTo } from '../protocol/wake.js';
import { ServerTime } from '../schedule/server-time.js';
import { settle } from '../store/settle.js';
import { unavailable } from '../store/unavailable.js';

/** One fire of a task, and until when it may be claimed. */
interface Fire {
  /** The name of the document that stores the claims of the task. */
  readonly name: string;
  readonly job: string;
  readonly instant: Date;
  /** When the claim is given up, on the monotonic clock. */
  readonly untilMs: number;
  /** Aborts when the drain of the provider's `close` is over. From then on no answer is awaited. */
  readonly over: AbortSignal;
}

/** The answer to one copy of a claim. */
type Answer =
  | OutcomeWithoutTerm
  /** No answer tells the outcome of the copy. */
  | { readonly unanswered: unknown }
  /** The copy had no effect. */
  | { readonly failed: Error };

/**
 * The claim of one fire by this process: sent again under the same id until its outcome is known, the time is up or the
 * provider closes.
 */
export class FireClaim {
  readonly #context: LeaseContext;
  readonly #fire: Fire;
  readonly #claimId: string;
  readonly #time: ServerTime;
  /** Whether a copy was sent whose outcome is unknown: it may have been applied. */
  #isAnyUnanswered = false;

  constructor(context: LeaseContext, fire: Fire) {
    this.#context = context;
    this.#fire = fire;
    this.#claimId = newNonce(context.clock);
    this.#time = new ServerTime(context.clock);
  }

  /**
   * Resolves with whether this process runs the fire. Rejects if the claim fails, if its outcome is not known in time,
   * or if the provider closes before the outcome is known.
   */
  async settle(): Promise<boolean> {
    const { clock, closing } = this.#context;
    const { untilMs } = this.#fire;
    const isSettled = (answer: Answer): boolean => !(typeof answer === 'object' && 'unanswered' in answer);
    for (;;) {
      const answer = await settle(() => this.#ask(), { clock, isSettled, signal: closing, untilMs });
      if (answer === 'claimed') return true;
      if (answer === 'taken') return false;
      // `outdated`: a later fire was claimed. If a copy of this claim has no answer, that copy may have been applied
      // before the later fire was claimed.
      if (answer === 'outdated' && !this.#isAnyUnanswered) return false;
      this.#assertOpen();
      if (answer !== 'early') throw this.#errorOf(answer);
      // The server's clock has not reached the instant of the fire yet.
      await sleepUntil(clock, Math.min(this.#time.toLocalMs(this.#instantMs), untilMs), closing);
      this.#assertOpen();
      if (clock.nowMs() >= untilMs) throw this.#errorOf(answer);
    }
  }

  #assertOpen(): void {
    if (this.#context.closing.aborted) throw new ProviderClosedError(this.#fire.name);
  }

  get #instantMs(): number {
    return this.#fire.instant.getTime();
  }

  async #ask(): Promise<Answer> {
    const { clock, combiner, process, settings } = this.#context;
    const { name, job, instant, untilMs, over } = this.#fire;
    const nonce = newNonce(clock);
    const { outcome: sent } = combiner.submit(name, electionRules, {
      ...{ type: 'claimWithoutTerm', job, instant, claimId: this.#claimId, process, nonce },
      retentionMs: settings.retentionMs,
    });
    // The start of a close does not end the wait: the copy may be applied, and then only this process can run the fire.
    const outcome = await within(clock, Math.max(0, untilMs - clock.nowMs()), sent, over);
    if (outcome === undefined || outcome.type === 'unknown') {
      this.#isAnyUnanswered ||= outcome?.maybeApplied !== false;
      return { unanswered: outcome?.error };
    }
    if (outcome.type === 'refused')
      return { failed: unavailable(name, !this.#isAnyUnanswered, outcome.error) };
    const { wake, reply } = outcome.value;
    if (reply !== null) this.#time.learn(reply.nowMs, outcome.sentAt.ms);
    const answer = answerTo(wake, nonce);
    if (answer !== undefined) return answer as OutcomeWithoutTerm;
    const isOfAnotherKind = reply !== null && reply.kind !== electionRules.kind;
    return {
      failed: isOfAnotherKind
        ? new LockKindMismatchError(name, electionRules.kind, reply.kind)
        : new CorruptLockDocumentError(name),
    };
  }

  #errorOf(answer: Exclude<Answer, 'claimed' | 'taken'>): Error {
    if (typeof answer === 'object' && 'failed' in answer) return answer.failed;
    return unavailable(this.#fire.name, !this.#isAnyUnanswered, this.#causeOf(answer));
  }

  #causeOf(answer: 'outdated' | 'early' | 'full' | { readonly unanswered: unknown }): unknown {
    const instant = this.#fire.instant.toISOString();
    switch (answer) {
      case 'outdated':
        return new Error(`a fire after ${instant} was claimed before the claim of this one was answered`);
      case 'early': {
        const aheadMs = this.#instantMs - this.#time.nowMs();
        return new Error(`by the server's clock, ${instant} is still ${seconds(aheadMs)} ahead`);
      }
      case 'full':
        return new Error(`the document already has claims of ${String(MAX_JOBS)} jobs, the most it can have`);
      default:
        return answer.unanswered ?? new Error('the store did not answer in time');
    }
  }
}
