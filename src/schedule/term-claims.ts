import type { Clock } from '../clock.js';
import { settleClaim } from './claiming.js';
import type { Settled } from './claiming.js';
import type { TellJob, WhyMissed } from './job-events.js';
import type { ClaimPurpose, ClaimingTerm, JobLedger } from './job-ledger.js';
import type { ParsedJobOptions } from './job-options.js';
import { withInstant } from './schedule.js';
import type { Claimed, MissedInstants } from './schedule.js';

interface ClaimingJob {
  readonly options: Pick<ParsedJobOptions, 'schedule'>;
  readonly ledger: Pick<JobLedger, 'time' | 'claim'>;
  readonly clock: Clock;
  readonly tell: TellJob;
}

/** The claims of one term, and the last claim of its job, as far as the term knows it. */
export class TermClaims {
  readonly #job: ClaimingJob;
  readonly #term: ClaimingTerm;
  readonly #over: AbortSignal;
  /** Aborts when the drain of a stop is over. From then on, the store is not asked for the outcome of a claim. */
  readonly #abandoned = new AbortController();
  #last: Claimed | null = null;
  /**
   * The server time at which the last claim began; a claim that is made during a run does not count. `Infinity` before
   * the first claim, and from a call of `interrupted` to the next claim. Missed instants are reported with the cause
   * `overrun` if the first of them is at this time or later.
   */
  #busySinceMs = Infinity;
  #claiming: Promise<unknown> | undefined;

  /** @param over - Aborts when the term begins to end or the job is stopped. */
  constructor(job: ClaimingJob, term: ClaimingTerm, over: AbortSignal) {
    this.#job = job;
    this.#term = term;
    this.#over = over;
  }

  /** The last known claim of the job, by any process; `null`: there is none yet. */
  get last(): Claimed | null {
    return this.#last;
  }

  /**
   * Stores `claimed` as `#last`. If both have the same instant, `#last` stays, because `#last` may also have `endedMs`.
   */
  learn(claimed: Claimed | null): void {
    if (claimed?.lastMs !== this.#last?.lastMs) this.#last = claimed;
  }

  runEnded(endedMs: number): void {
    if (this.#last !== null) this.#last = { ...this.#last, endedMs };
  }

  /**
   * Called when the term is over, or cannot go on without a new read of the state of the job, for example after a claim
   * that was not granted. The cause of instants that are missed before the next claim is then not `overrun`.
   */
  interrupted(): void {
    this.#busySinceMs = Infinity;
  }

  missedUntil(ms: number): MissedInstants | undefined {
    return this.#last === null ? undefined : this.#job.options.schedule.missed(this.#last, ms);
  }

  /**
   * Claims an instant by `settleClaim`, which repeats the claim. After a stop of the job, the claim is repeated only
   * until the drain of the stop is over. The missed instants are reported as soon as the claim is granted. If the
   * outcome stays unknown, the missed instants and the claimed instant are reported together.
   *
   * @param purpose - `isDuringRun`: the claim is made while a run goes on, so `#busySinceMs` stays as it is.
   */
  async claim(
    instantMs: number,
    missed: MissedInstants | undefined,
    purpose: Partial<ClaimPurpose> & { readonly isDuringRun?: boolean },
  ): Promise<Settled> {
    const { ledger, clock, tell } = this.#job;
    const { runs = false, call, anchorMs = instantMs, isDuringRun = false } = purpose;
    const why = (missed?.firstMs ?? 0) >= this.#busySinceMs ? 'overrun' : 'no-leader';
    const nextMs = this.#nextAfter({ lastMs: instantMs, anchorMs: this.#last?.anchorMs ?? anchorMs });
    if (!isDuringRun) this.#busySinceMs = ledger.time.nowMs();
    const claiming = settleClaim({
      ...{ clock, time: ledger.time, instantMs },
      ask: ledger.claim(this.#term, instantMs, this.#last, { runs, call, anchorMs, nextMs }),
      over: this.#over,
      givingUp: this.#abandoned.signal,
      failed: (error) => {
        tell('failed', { firedAt: new Date(instantMs), error });
      },
    });
    this.#claiming = claiming;
    const settled = await claiming;
    if (settled === 'unknown') this.tellMissed(withInstant(missed, instantMs), 'unknown');
    if (settled !== 'granted') return settled;
    this.#last = { lastMs: instantMs, anchorMs: this.#last?.anchorMs ?? anchorMs };
    if (missed !== undefined) this.tellMissed(missed, why);
    return settled;
  }

  /** `null` with a fixed delay, whose next instant follows from the end of the run, and if there is no next instant. */
  #nextAfter(claimed: Claimed): number | null {
    const { schedule } = this.#job.options;
    return schedule.isSeries ? schedule.expected(claimed, claimed.lastMs) : null;
  }

  /**
   * Gives up the claim whose outcome is not known yet, if there is one. If its outcome stays unknown, its instants have
   * been reported as missed when the method resolves.
   */
  async abandon(): Promise<void> {
    this.#abandoned.abort();
    await this.#claiming;
  }

  tellMissed({ count, firstMs, lastMs }: MissedInstants, why: WhyMissed): void {
    this.#job.tell('missed', { count, first: new Date(firstMs), last: new Date(lastMs), why });
  }
}
