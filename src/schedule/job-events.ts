import { quoted } from '../error-text.js';
import { oneLine } from '../warnings.js';
import type { FailureWarnings } from '../warnings.js';

/** A run begins. */
export interface JobRunEvent {
  /**
   * The instant of the schedule that the run was claimed for, by the server's clock; for a run that `runNow` requested,
   * the time of its claim.
   */
  readonly firedAt: Date;
  /** The token of the term. */
  readonly fencingToken: number;
}

/**
 * A run has completed. A run that was reported as failed because it had not ended 5 s after `maxRunMs` gives no such
 * event when it ends.
 */
export interface JobCompletedEvent {
  /** The `firedAt` of the event `run`. */
  readonly firedAt: Date;
  /** The time from the beginning of the run to its end, in ms. */
  readonly tookMs: number;
}

/**
 * A run has failed, has not ended in time, or could not be claimed; or missed instants could not be claimed. The
 * schedule continues. A run that has not ended in time may still be running. No event reports its later end or error.
 * If the claim failed after a copy that the store had not answered, the claim is repeated, so the run may still start.
 */
export interface JobFailedEvent {
  /** The instant of the run, or the newest of the missed instants. */
  readonly firedAt: Date;
  /**
   * The error of the run, the error that kept the instant from being claimed, or an error which says that the run has
   * not ended 5 s after `maxRunMs`.
   */
  readonly error: unknown;
}

/**
 * No run could start at some instants. All processes together report each instant at most once, except instants with
 * the cause `unknown`.
 */
export interface JobMissedEvent {
  /** The number of these instants. For a cron job, counting stops at 100, or at 101 if `why` is `unknown`. */
  readonly count: number;
  /** The oldest of these instants. */
  readonly first: Date;
  /**
   * The newest of these instants. With `missed: 'run-once'`, the job usually runs for this instant now. There is no
   * such run if the event comes during a run or together with a run for another time, if the claimed run could not
   * start, or if `why` is `unknown`.
   */
  readonly last: Date;
  /**
   * - `overrun`: the leader was still busy with the run or with a slow claim of an earlier instant.
   * - `no-leader`: there was no leader, the leader could not claim, the leader's term ended just before the run could
   *   start, or the job was stopped.
   * - `unknown`: this process sent a claim of these instants, and the store did not say in time whether the claim took
   *   effect. Meanwhile the job was stopped, the term ended, or another process led. No run started here. If the claim
   *   took effect, no process runs or reports these instants again; otherwise the next leader runs or reports them.
   */
  readonly why: WhyMissed;
}

/** Why no run could start. */
export type WhyMissed = 'no-leader' | 'overrun' | 'unknown';

/** The next run is due while a run is still running. Emitted at most once for each run. */
export interface JobOverrunEvent {
  /** The `firedAt` of the run that is still running. */
  readonly firedAt: Date;
  /** The instant at which the next run is due. */
  readonly nextAt: Date;
}

/** The events of a `ScheduledJob`, each with one typed payload, in the process that runs the job. */
export interface ScheduledJobEvents {
  /** A run begins. */
  run: [JobRunEvent];
  /** A run has completed. */
  completed: [JobCompletedEvent];
  /** A run has failed, has not ended in time, or could not be claimed; or missed instants could not be claimed. */
  failed: [JobFailedEvent];
  /** No run could start at some instants. */
  missed: [JobMissedEvent];
  /** A run is still running when the next one is due. */
  overrun: [JobOverrunEvent];
}

export type TellJob = <E extends keyof ScheduledJobEvents>(
  event: E,
  ...payload: ScheduledJobEvents[E]
) => void;

/** The process warnings for the `failed` and `missed` events of a job that have no listener. */
export const jobWarnings = (name: string): FailureWarnings<ScheduledJobEvents> => ({
  failed: {
    code: 'LEASEHOLD_JOB_FAILED',
    message: ({ firedAt, error }) =>
      `Job ${quoted(name)}: the run of ${firedAt.toISOString()} failed: ${oneLine(error)}`,
    errorOf: ({ error }) => error,
  },
  missed: {
    code: 'LEASEHOLD_JOB_MISSED',
    message: ({ count, first, last, why }) => {
      const instants = count === 1 ? '1 instant' : `${String(count)} instants`;
      const until = count === 1 ? '' : ` to ${last.toISOString()}`;
      return `Job ${quoted(name)} missed ${instants}, ${first.toISOString()}${until} (${why})`;
    },
  },
});
