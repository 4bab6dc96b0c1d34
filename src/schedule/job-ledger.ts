import { CorruptLockDocumentError } from '../errors.js';
import { newNonce } from '../lease/ids.js';
import type { LeaseContext } from '../lease/acquiring/lease-context.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import { electionRules } from '../protocol/kinds/election-rules.js';
import { CALLS_FULL, CALL_LATE, callsOf, readCallNumbers } from '../protocol/jobs/job-calls.js';
import type { StoredCall } from '../protocol/jobs/job-calls.js';
import type { ClaimOutcome } from '../protocol/jobs/job-claims.js';
import type { RunOutcome } from '../protocol/operation.js';
import { MAX_JOBS } from '../protocol/lock-document.js';
import { answerTo } from '../protocol/wake.js';
import { unavailable } from '../store/unavailable.js';
import type { Answer } from '../store/updates/combiner.js';
import type { JobReads } from './job-reads.js';
import { claimedBy } from './schedule.js';
import type { Claimed } from './schedule.js';
import { ServerTime } from './server-time.js';

/** The answer to one sending of a claim. After `unknown` the claim may be sent again. */
export type ClaimAnswer = Exclude<ClaimOutcome, 'full'> | 'unknown' | Error;

/** Sends the claim of one instant. Every call of this function sends a copy of the same claim. */
export type AskForClaim = () => Promise<ClaimAnswer>;

export type ClaimingTerm = Pick<LockHandle, 'id' | 'fencingToken'>;

export interface ClaimPurpose {
  /** Whether a run begins with the claim; otherwise the claim only marks the instant as missed. */
  readonly runs: boolean;
  /** The number of the call that the claim answers. */
  readonly call?: number | undefined;
  /**
   * The first instant of the schedule, from which a fixed rate counts. The claim stores it if the job has no claim yet.
   */
  readonly anchorMs: number;
  /** The next instant of the schedule, for people to read; `null`: it is not known yet, or there is none. */
  readonly nextMs: number | null;
}

/** The number of the last call of a job, and the number of the last call that was claimed. */
export interface CallNumbers {
  readonly asked: number;
  readonly claimed: number;
}

/** The call got no answer, and may be sent again. */
export interface UnansweredCall {
  readonly cause: unknown;
}

/**
 * The answer to one sending of a call.
 *
 * - `nobody`: no document of an election has this name, so there is no leader.
 * - `late`: the call reached the server after the time until which it could be claimed. No copy of the call has added a
 *   call, and none will.
 */
export type CallAnswer = CallNumbers | 'nobody' | 'late' | UnansweredCall | Error;

export interface JobState {
  /** The last claim; `null`: there is none yet. */
  readonly claimed: Claimed | null;
  /** The number of the call that waits for a run; 0: there is none. */
  readonly call: number;
}

/** The claims and calls of one job, which are stored in the document of its election, and the server's time. */
export class JobLedger {
  readonly time: ServerTime;
  readonly #context: LeaseContext;
  readonly #electionName: string;
  readonly #job: string;
  readonly #reads: JobReads;

  constructor(context: LeaseContext, electionName: string, job: string, reads: JobReads) {
    this.time = new ServerTime(context.clock);
    this.#context = context;
    this.#electionName = electionName;
    this.#job = job;
    this.#reads = reads;
  }

  /** Resolves with `undefined` if the state of the job cannot be read just now. */
  async read(): Promise<JobState | undefined> {
    const read = await this.#reads.read();
    if (read === undefined) return undefined;
    if (read === null) return { claimed: null, call: 0 };
    this.time.learn(read.nowMs, read.sentAtMs);
    const claim = read.claims.get(this.#job);
    return { claimed: claim === undefined ? null : claimedBy(claim), call: read.calls.get(this.#job) ?? 0 };
  }

  /**
   * Returns a function that sends a claim of this instant for this term. The server applies the claim only if the last
   * claim of the job is `after`.
   */
  claim(term: ClaimingTerm, instantMs: number, after: Claimed | null, purpose: ClaimPurpose): AskForClaim {
    const { runs, call, anchorMs, nextMs } = purpose;
    const claim = {
      type: 'claim',
      id: term.id,
      token: term.fencingToken,
      job: this.#job,
      instant: new Date(instantMs),
      after: after === null ? null : new Date(after.lastMs),
      claimId: newNonce(this.#context.clock),
      anchor: new Date(anchorMs),
      next: nextMs === null ? undefined : new Date(nextMs),
      runs,
      call,
    } as const;
    return async () => {
      const { combiner } = this.#context;
      const nonce = newNonce(this.#context.clock);
      const outcome = await combiner.submit(this.#electionName, electionRules, { ...claim, nonce }).outcome;
      if (outcome.type === 'unknown') return 'unknown';
      if (outcome.type === 'refused') return this.#unavailable(outcome.error);
      this.#learn(outcome.value, outcome.sentAt.ms);
      const answer = this.#read(outcome.value, nonce) ?? 'deposed';
      return typeof answer === 'string' ? (answer as Exclude<ClaimOutcome, 'full'>) : answer;
    };
  }

  /**
   * Stores the outcome of the run that this term claimed for this instant. The update is not repeated if the store does
   * not answer, because the outcome is only shown (for example by `status` and on the dashboard), and no decision
   * depends on it.
   */
  async conclude(id: string, instantMs: number, outcome: RunOutcome): Promise<void> {
    const conclusion = {
      type: 'conclude',
      id,
      job: this.#job,
      instant: new Date(instantMs),
      outcome,
    } as const;
    const operation = { ...conclusion, nonce: newNonce(this.#context.clock) };
    await this.#context.combiner.submit(this.#electionName, electionRules, operation).outcome;
  }

  /**
   * Requests a run that may be claimed until `untilMs`, by the server's clock.
   *
   * @param since - The number of the last call, which the caller has read before. If a call was added after that read,
   *   this method adds none. If the last call is still pending, this method adds none either, and the pending call may
   *   be claimed until `untilMs` if that is later. With `null`, the method adds no call: it only reads the numbers of
   *   the last call and of the last claimed call.
   */
  async call(since: number | null, untilMs: number): Promise<CallAnswer> {
    const { combiner } = this.#context;
    const nonce = newNonce(this.#context.clock);
    const operation = { type: 'call', job: this.#job, since, until: new Date(untilMs), nonce } as const;
    const outcome = await combiner.submit(this.#electionName, electionRules, operation).outcome;
    if (outcome.type === 'unknown') return { cause: outcome.error };
    if (outcome.type === 'refused') return this.#unavailable(outcome.error);
    this.#learn(outcome.value, outcome.sentAt.ms);
    const answer = this.#read(outcome.value, nonce);
    if (answer === undefined) return 'nobody';
    if (answer === CALL_LATE) return answer;
    return typeof answer === 'string' ? readCallNumbers(answer) : answer;
  }

  /**
   * The number of the last call that was claimed; 0 if no call was claimed yet. `undefined` if no call of the job is
   * stored, or if the number cannot be read just now.
   */
  async claimedCall(): Promise<number | undefined> {
    const { collection } = this.#context;
    const outcome = await collection.read([this.#electionName], { calls: callsOf(this.#job) }, 'majority');
    if (outcome.type !== 'done') return undefined;
    const [document] = outcome.value as readonly unknown[] as readonly { calls: readonly StoredCall[] }[];
    return document?.calls[0]?.claimed;
  }

  #learn({ reply }: Answer, sentAtMs: number): void {
    if (reply !== null) this.time.learn(reply.nowMs, sentAtMs);
  }

  /**
   * Reads the answer to the operation with this nonce. Returns an error if the list of jobs is full or the document is
   * corrupt, and `undefined` if there is no document or another kind of lock has the name.
   */
  #read({ wake, reply }: Answer, nonce: string): string | Error | undefined {
    const answer = answerTo(wake, nonce);
    if (answer === CALLS_FULL) {
      return this.#unavailable(
        new Error(
          `the election already has claims or calls of ${String(MAX_JOBS)} jobs, the most it can have`,
        ),
      );
    }
    if (answer !== undefined) return answer;
    // The update wrote no answer although the document is that of an election, so the document is corrupt.
    return reply?.kind === electionRules.kind ? new CorruptLockDocumentError(this.#electionName) : undefined;
  }

  #unavailable(cause: unknown): Error {
    return unavailable(this.#electionName, true, cause);
  }
}
