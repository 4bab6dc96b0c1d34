import { LeaseholdError, quoted } from '../errors.js';

/**
 * No leader started a job that `runNow` asked for. The request is over: no leader starts the run later, unless another
 * call of `runNow` asked for it as well.
 */
export class JobNotStartedError extends LeaseholdError {
  /** Always `JOB_NOT_STARTED`. */
  readonly code = 'JOB_NOT_STARTED';

  /** The job; `lockName` is its election. */
  readonly jobName: string;

  /** How long the request waited, in ms. */
  readonly waitedMs: number;

  /** The process that led the election at the end; `null` if nobody did, or nobody could say. */
  readonly leader: string | null;

  /** Since when a run of the job went on at the end; `null` if none did. */
  readonly runningSince: Date | null;

  /** @internal */
  constructor(
    lockName: string,
    jobName: string,
    waitedMs: number,
    leader: string | null,
    runningSince: Date | null,
  ) {
    const led = leader === null ? 'nobody leads its election' : `${leader} leads its election`;
    const busy = runningSince === null ? '' : `, and runs the job since ${runningSince.toISOString()}`;
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
