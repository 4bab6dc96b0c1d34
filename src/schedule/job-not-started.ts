import { LeaseholdError } from '../leasehold-error.js';
import { quoted } from '../error-text.js';

/**
 * No leader started the run that `runNow` requested. The request is over: no leader starts the run later, unless
 * another call of `runNow` requested it, too.
 */
export class JobNotStartedError extends LeaseholdError {
  /** Always `JOB_NOT_STARTED`. */
  readonly code = 'JOB_NOT_STARTED';

  /** The name of the job; `lockName` is the name of its election. */
  readonly jobName: string;

  /** How long the request waited, in ms. */
  readonly waitedMs: number;

  /** The process that led the election at the end; `null` if there was no leader, or if it could not be read. */
  readonly leader: string | null;

  /** Since when a run of the job was going on at the end; `null` if there was none. */
  readonly runningSince: Date | null;

  /** @internal */
  constructor(
    lockName: string,
    jobName: string,
    waitedMs: number,
    leader: string | null,
    runningSince: Date | null,
  ) {
    const led = leader === null ? 'its election has no leader' : `${leader} leads its election`;
    const busy =
      runningSince === null ? '' : `, and has been running the job since ${runningSince.toISOString()}`;
    super(
      lockName,
      `Job ${quoted(jobName)} was not started within ${(waitedMs / 1_000).toFixed(1)} s: ${led}${busy}`,
    );
    this.jobName = jobName;
    this.waitedMs = waitedMs;
    this.leader = leader;
    this.runningSince = runningSince;
  }
}
