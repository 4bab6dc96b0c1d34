import { quoted } from '../errors.js';
import { brief } from '../warnings.js';
import type { Sayings } from '../warnings.js';

/** A run begins. */
export interface JobRunEvent {
  /** The instant of the schedule that it was claimed for, in the server's time. */
  readonly firedAt: Date;
  /** The token of the term. */
  readonly fencingToken: number;
}

/** A run has ended well. */
export interface JobCompletedEvent {
  /** The instant of the run. */
  readonly firedAt: Date;
  /** From its beginning to its end, in ms. */
  readonly tookMs: number;
}

/** A run has failed, has not ended in time, or could not be claimed; the schedule goes on. */
export interface JobFailedEvent {
  /** The instant of the run. */
  readonly firedAt: Date;
  /** What the run threw, that it ignores the signal of `maxRunMs`, or what kept it from being claimed. */
  readonly error: unknown;
}

/** There were instants at which no run could start. Each is told of once in the fleet, but for those that are `unknown`. */
export interface JobMissedEvent {
  /** How many. Of a cron job no more than 100 are counted. */
  readonly count: number;
  /** The oldest of them. */
  readonly first: Date;
  /** The newest of them: the one that `missed: 'run-once'` runs now. */
  readonly last: Date;
  /**
   * `overrun`: the leader was not done with the instant before, with its run or with a claim that took long. `no-leader`:
   * nobody led, or the leader could not do anything; or its term ended just then, or the job was stopped. `unknown`: the
   * store did not say before the job was stopped, or another process led, whether these instants were claimed here. They
   * have not run here. If they were claimed, nobody runs them or tells of them again; otherwise the next leader does.
   */
  readonly why: WhyMissed;
}

/** Why no run could start. */
export type WhyMissed = 'no-leader' | 'overrun' | 'unknown';

/** It is time for the next run, and the last one goes on; told once of each run. */
export interface JobOverrunEvent {
  /** The instant of the run that goes on. */
  readonly firedAt: Date;
  /** The first one that is missed by it. */
  readonly nextAt: Date;
}

/** The events of a `ScheduledJob`: one typed payload each, in the process that runs it. */
export interface ScheduledJobEvents {
  /** A run begins. */
  run: [JobRunEvent];
  /** A run has ended well. */
  completed: [JobCompletedEvent];
  /** A run has failed, has not ended in time, or could not be claimed. */
  failed: [JobFailedEvent];
  /** There were instants at which no run could start. */
  missed: [JobMissedEvent];
  /** A run takes longer than the time to the next one. */
  overrun: [JobOverrunEvent];
}

/** How a term of a job reports. */
export type TellJob = <E extends keyof ScheduledJobEvents>(
  event: E,
  ...payload: ScheduledJobEvents[E]
) => void;

/** The failures of a job of this name, as warnings. */
export const sayingsOfJob = (name: string): Sayings<ScheduledJobEvents> => ({
  failed: {
    code: 'LEASEHOLD_JOB_FAILED',
    say: ({ firedAt, error }) =>
      `Job ${quoted(name)}: the run of ${firedAt.toISOString()} failed: ${brief(error)}`,
    errorOf: ({ error }) => error,
  },
  missed: {
    code: 'LEASEHOLD_JOB_MISSED',
    say: ({ count, first, last, why }) => {
      const instants = count === 1 ? '1 instant' : `${String(count)} instants`;
      const until = count === 1 ? '' : ` to ${last.toISOString()}`;
      return `Job ${quoted(name)} missed ${instants}, ${first.toISOString()}${until} (${why})`;
    },
  },
});
