import { CorruptLockDocumentError, StoreUnavailableError } from '../errors.js';
import { newNonce } from '../lease/attempt.js';
import type { AcquisitionContext } from '../lease/attempt.js';
import { electionSeats } from '../protocol/election-seats.js';
import { NOW, equal, hasType, literal, those, when } from '../protocol/expressions.js';
import type { Fields } from '../protocol/expressions.js';
import { legalProjection } from '../protocol/extension.js';
import type { ClaimOutcome, StoredClaim } from '../protocol/job-claims.js';
import { MAX_JOBS } from '../protocol/job-claims.js';
import { answerTo } from '../protocol/wake.js';
import type { Answer } from '../store/combiner.js';
import type { Claimed } from './schedule.js';
import { ServerTime } from './server-time.js';

/** What has become of one asking for a claim. `unknown`: it may be asked again. */
export type ClaimAnswer = Exclude<ClaimOutcome, 'full'> | 'unknown' | Error;

/** Asks for one instant; every call is a repeat of the same claim. */
export type AskForClaim = () => Promise<ClaimAnswer>;

interface Stored {
  readonly now: Date;
  readonly legal: boolean;
  readonly claims: readonly StoredClaim[];
}

/** What one job has claimed, as it is stored in the document of its election, and the time there. */
export class JobLedger {
  readonly time: ServerTime;
  readonly #context: AcquisitionContext;
  readonly #electionName: string;
  readonly #job: string;

  constructor(context: AcquisitionContext, electionName: string, job: string) {
    this.time = new ServerTime(context.clock);
    this.#context = context;
    this.#electionName = electionName;
    this.#job = job;
  }

  /** What it claimed last; `null`: nothing yet; `undefined`: nobody can say just now. */
  async read(): Promise<Claimed | null | undefined> {
    const projection: Fields = {
      now: NOW,
      claims: when(
        hasType('$claims', 'array'),
        those('$claims', equal('$$this.job', literal(this.#job))),
        [],
      ),
      ...legalProjection(electionSeats),
    };
    const outcome = await this.#context.collection.read([this.#electionName], projection, 'majority');
    const [document] =
      outcome.type === 'done' ? (outcome.value as readonly unknown[] as readonly Stored[]) : [];
    if (outcome.type !== 'done' || document?.legal !== true) return undefined;
    this.time.learn(document.now.getTime(), outcome.sentAt.ms);
    const [claim] = document.claims;
    return claim === undefined ? null : { lastMs: claim.instant.getTime(), anchorMs: claim.anchor.getTime() };
  }

  /**
   * A claim of this instant for the term under this attempt id, which counts only if the job has claimed nothing since
   * `after`.
   */
  claim(id: string, instantMs: number, after: Claimed | null): AskForClaim {
    const claim = {
      type: 'claim',
      id,
      job: this.#job,
      instant: new Date(instantMs),
      after: after === null ? null : new Date(after.lastMs),
      claimId: newNonce(),
    } as const;
    return async () => {
      const { combiner } = this.#context;
      const nonce = newNonce();
      const outcome = await combiner.submit(this.#electionName, electionSeats, { ...claim, nonce }).outcome;
      if (outcome.type === 'unknown') return 'unknown';
      if (outcome.type === 'refused') return this.#unavailable(outcome.error);
      this.#learn(outcome.value, outcome.sentAt.ms);
      return this.#read(outcome.value, nonce);
    };
  }

  #learn({ reply }: Answer, sentAtMs: number): void {
    if (reply !== null) this.time.learn(reply.nowMs, sentAtMs);
  }

  #read({ wake, reply }: Answer, nonce: string): ClaimAnswer {
    const answer = answerTo(wake, nonce) as ClaimOutcome | undefined;
    if (answer === 'full') {
      return this.#unavailable(new Error(`it has claims of ${String(MAX_JOBS)} jobs, which is the most`));
    }
    if (answer !== undefined) return answer;
    // The election is there, and yet nothing could be written.
    if (reply?.kind === electionSeats.kind) return new CorruptLockDocumentError(this.#electionName);
    return 'deposed';
  }

  #unavailable(cause: unknown): Error {
    return new StoreUnavailableError(this.#electionName, true, cause);
  }
}
