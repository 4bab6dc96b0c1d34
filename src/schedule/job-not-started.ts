import { LeaseholdError } from '../leasehold-error.js';
import { quoted, seconds } from '../error-text.js';

/**
 * No leader started the run that `runNow` requested. The request is over: no leader starts the run later, unless
 * another call of `runNow` requested that run, too.
 */
export class JobNotStartedError extends LeaseholdError {
  /** @internal */
  static override readonly codeOfAll = 'JOB_NOT_STARTED';

  /** Always `JOB_NOT_STARTED`. */
  readonly code = 'JOB_NOT_STARTED';

  /** The name of the job; `lockName` is the name of its election. */
  readonly jobName: string;

  /** The time that the request waited, in whole ms. */
  readonly waitedMs: number;

  /**
   * The process id of the leader of the election when the request ended. `null` if there was no leader, or if the
   * leader could not be read.
   */
  readonly leader: string | null;

  /**
   * The start of the run of the job that was going on when the request ended. `null` if no run was going on, or if the
   * run could not be read.
   */
  readonly runningSince: Date | null;

  /**
   * @internal
   * @param leader - `null`: there was no leader; `undefined`: the leader could not be read.
   */
  constructor(
    lockName: string,
    jobName: string,
    waitedMs: number,
    leader: string | null | undefined,
    runningSince: Date | null,
  ) {
    const busy =
      runningSince === null ? '' : `, and has been running the job since ${runningSince.toISOString()}`;
    super(
      lockName,
      `Job ${quoted(jobName)} was not started within ${seconds(waitedMs)}: ${inWords(leader)}${busy}`,
    );
    this.jobName = jobName;
    this.waitedMs = Math.floor(waitedMs);
    this.leader = leader ?? null;
    this.runningSince = runningSince;
  }
}

function inWords(leader: string | null | undefined): string {
  if (leader === undefined) return 'the leader of its election could not be read';
  return leader === null ? 'its election has no leader' : `${leader} leads its election`;
}
