import { sleepUntil } from '../clock.js';
import type { Clock } from '../clock.js';
import type { JobLedger } from './job-ledger.js';
import type { Claimed, Schedule } from './schedule.js';

interface JobOfSeries {
  readonly schedule: Schedule;
  readonly ledger: Pick<JobLedger, 'time' | 'read'>;
  readonly clock: Clock;
}

/**
 * The next instant of a job as a standby knows it. A standby can compute this instant only if the instants are a series
 * (`Schedule.isSeries`). Then any claim of the job is enough, also an old one.
 */
export class KnownSeries {
  readonly #job: JobOfSeries;
  /** The last claim of the job at the last read that succeeded; `null`: there was none; `undefined`: not read yet. */
  #claimed: Claimed | null | undefined;

  constructor(job: JobOfSeries) {
    this.#job = job;
  }

  /**
   * The next instant, by the server's clock. `null` if this process cannot compute the instant, if there is none, or if
   * the computed instant has passed.
   */
  nextMs(): number | null {
    if (this.#claimed === undefined) return null;
    const { schedule, ledger } = this.#job;
    const nowMs = ledger.time.nowOrWallMs();
    const nextMs = schedule.expected(this.#claimed, nowMs);
    return nextMs === null || nextMs <= nowMs ? null : nextMs;
  }

  /**
   * Reads the last claim of the job, and resolves with whether the next instant can be computed. A read that fails does
   * no harm, because only `ScheduledJob.nextFireAt` needs the claim.
   */
  async read(): Promise<boolean> {
    const state = await this.#job.ledger.read();
    if (state !== undefined) this.#claimed = state.claimed;
    return this.#isKnown;
  }

  /**
   * Reads again and again, with pauses of `pauseMs`, until the next instant can be computed or `ending` aborts. No
   * event tells a standby of the first claim of a periodic job.
   */
  async learn(pauseMs: number, ending: AbortSignal): Promise<void> {
    const { clock } = this.#job;
    do await sleepUntil(clock, clock.nowMs() + pauseMs, ending);
    while (!ending.aborted && !this.#isKnown && !(await this.read()));
  }

  /** Whether the next instant can be computed: from the last claim or, for a cron job, even without a claim. */
  get #isKnown(): boolean {
    const { schedule, ledger } = this.#job;
    if (this.#claimed === undefined) return false;
    return this.#claimed !== null || schedule.expected(null, ledger.time.nowOrWallMs()) !== null;
  }
}
