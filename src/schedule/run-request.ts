import { BETWEEN_REPEATS } from '../backoff.js';
import { ProviderClosedError, StoreUnavailableError, UnsupportedServerError } from '../errors.js';
import type { LeaseContext } from '../lease/acquiring/lease-context.js';
import { reachedTooLate, settle } from '../store/settle.js';
import { JobNotStartedError } from './job-not-started.js';
import type { CallAnswer, CallNumbers, JobLedger, UnansweredCall } from './job-ledger.js';
import { leaderOf, readJob } from './job-status.js';

export interface RunRequestParts {
  readonly context: LeaseContext;
  readonly electionName: string;
  readonly job: string;
  readonly ledger: Pick<JobLedger, 'call' | 'claimedCall' | 'time'>;
  /** The time, in ms, for which a leader may claim the run. */
  readonly boundMs: number;
  /** Tells a leader in this process that the run was requested. */
  readonly stored: () => void;
}

/**
 * One request of `runNow`: stores a numbered call in the document of the election, and waits until a leader has claimed
 * the call.
 *
 * The request first reads the number of the last call, by an update. Any call with a higher number was made after that
 * read, by this process or another, so the run of such a call also serves this request. If the last call is still
 * pending, the request adds no call, and the run of the pending call serves this request. Each copy of a call names the
 * number that was read, so at most one copy adds a call.
 */
export class RunRequest {
  readonly #parts: RunRequestParts;
  readonly #startedMs: number;

  constructor(parts: RunRequestParts) {
    this.#parts = parts;
    this.#startedMs = parts.context.clock.nowMs();
  }

  /** Resolves when the run has been claimed. */
  async run(): Promise<void> {
    const { context, boundMs } = this.#parts;
    const { clock } = context;
    const endMs = this.#startedMs + boundMs;
    const { asked: since } = await this.#ask(null, endMs);
    const { asked, claimed } = await this.#ask(since, endMs);
    const number = Math.min(asked, since + 1);
    if (claimed >= number) return;
    this.#parts.stored();
    // By the server's clock, the call may be claimed until `boundMs` after its sending, so a wait of `boundMs` from now
    // is long enough.
    if (await this.#isClaimedUntil(number, clock.nowMs() + boundMs)) return;
    // Asks by an update, because the result of a read may be older than the last claim.
    const last = await this.#ask(null, clock.nowMs() + context.settings.storeTimeoutMs, true);
    if (last.claimed < number) throw await this.#notStarted();
  }

  /**
   * Sends the call or, if `since` is `null`, only the question for the numbers. Repeats until the answer has the
   * numbers of the calls or is an error, the time is up, or the provider closes. After the answer `late`, the next copy
   * gets a new `until`. Any other repeat keeps the `until` of the copy before it. No copy takes effect after its
   * `until`.
   *
   * @param isStored - Whether the call is stored already, so that its run may have been claimed.
   */
  async #ask(since: number | null, endMs: number, isStored = false): Promise<CallNumbers> {
    const { context, ledger, boundMs } = this.#parts;
    const { clock, closing } = context;
    let mayBeStored = isStored;
    let untilMs: number | undefined;
    const send = async (): Promise<CallAnswer> => {
      untilMs ??= Math.ceil(ledger.time.nowMs() + boundMs);
      const answer = await ledger.call(since, untilMs);
      if (answer === 'late') {
        // The call was on its way for too long, or the estimate of the server's time was behind, for example after a
        // suspension of the process. This answer has corrected the estimate, so the next sending gets a new `until`.
        untilMs = undefined;
        mayBeStored = isStored;
      } else if (isUnanswered(answer)) {
        // An unanswered copy may have added the call. Only the answer `late` to a later copy proves that no copy has.
        mayBeStored ||= since !== null;
      }
      return answer;
    };
    this.#assertOpen();
    const answer = await settle(send, { clock, isSettled, signal: closing, untilMs: endMs });
    if (hasNumbers(answer)) return answer;
    this.#assertOpen();
    throw await this.#whyUnanswered(answer, mayBeStored);
  }

  async #whyUnanswered(answer: Exclude<CallAnswer, CallNumbers>, mayBeStored: boolean): Promise<Error> {
    if (answer === 'nobody') return await this.#notStarted();
    if (answer instanceof Error && !(isRefusal(answer) && mayBeStored)) return answer;
    const cause = answer === 'late' ? reachedTooLate() : (answer.cause ?? answer);
    return new StoreUnavailableError(this.#parts.electionName, !mayBeStored, cause);
  }

  async #isClaimedUntil(number: number, endMs: number): Promise<boolean> {
    const { context, ledger } = this.#parts;
    const { clock, closing } = context;
    for (let repeats = 0; clock.nowMs() < endMs; repeats += 1) {
      const claimed = await ledger.claimedCall();
      if (claimed !== undefined && claimed >= number) return true;
      await BETWEEN_REPEATS.pause(clock, repeats, closing);
      this.#assertOpen();
    }
    return false;
  }

  async #notStarted(): Promise<Error> {
    const { context, electionName, job } = this.#parts;
    const waitedMs = context.clock.nowMs() - this.#startedMs;
    try {
      const read = await readJob(context.collection, electionName, job);
      const leader = read === undefined ? undefined : leaderOf(read.stored);
      const run = read?.stored.claims[0]?.run;
      const isRunning = leader !== undefined && run?.term === leader.id && run.outcome === undefined;
      const runningSince = isRunning ? run.startedAt : null;
      return new JobNotStartedError(electionName, job, waitedMs, leader?.process ?? null, runningSince);
    } catch {
      return new JobNotStartedError(electionName, job, waitedMs, undefined, null);
    }
  }

  #assertOpen(): void {
    if (this.#parts.context.closing.aborted) throw new ProviderClosedError(this.#parts.electionName);
  }
}

const hasNumbers = (answer: CallAnswer): answer is CallNumbers =>
  typeof answer === 'object' && 'asked' in answer;

/** Whether the store refused this copy of the call. An earlier copy may be stored all the same. */
const isRefusal = (error: Error): boolean =>
  error instanceof StoreUnavailableError || error instanceof UnsupportedServerError;

const isUnanswered = (answer: CallAnswer): answer is UnansweredCall =>
  typeof answer === 'object' && 'cause' in answer && !(answer instanceof Error);

const isSettled = (answer: CallAnswer): boolean => hasNumbers(answer) || answer instanceof Error;
