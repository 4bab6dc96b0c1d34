import { DAY_MS } from '../clock.js';
import type { LeaderElection } from '../election/leader-election.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import { integer, oneOf, optional, orElse, knownOptions, wrongType } from '../options/checks.js';
import type { KeysOf } from '../options/unknown-keys.js';
import { cronSchedule } from './cron-schedule.js';
import { fixedDelay, fixedRate } from './schedule.js';
import type { Schedule } from './schedule.js';

/** The argument of `run`: one run of a job. */
export interface JobRun {
  /**
   * Aborts when the term of the leader begins to end, when the run has taken `maxRunMs`, or when the job is stopped.
   */
  readonly signal: AbortSignal;
  /** The term of the leader, whose token fences. */
  readonly term: LockHandle;
  /**
   * The instant of the schedule that the run was claimed for, by the server's clock; for a run that `runNow` requested,
   * the time of its claim.
   */
  readonly firedAt: Date;
}

/** Options of a scheduled job, apart from its times. All are checked once, when the job is created. */
export interface JobOptions {
  /**
   * Does the work of one run; if it returns a promise, the run lasts until the promise settles. An error is a `failed`
   * event, and the schedule continues. A run that returns is `completed`, also if it returns because its signal has
   * aborted, unless it was already reported as `failed` (`maxRunMs`). So a run that breaks off should throw, for
   * example `signal.reason`, to be reported as `failed`.
   */
  run: (run: JobRun) => unknown;
  /**
   * How the leader makes up for instants at which no run could start: not at all (`skip`, default), or by one run for
   * the newest of them (`run-once`). In both cases a `missed` event is emitted. A daily job should use `run-once`: with
   * `skip`, if the leader crashes just before the instant, the job does not run that day.
   */
  missed?: 'skip' | 'run-once' | undefined;
  /**
   * The longest time of a run, in ms: an integer from 1 to ten years (3,650 days). Default: no bound. When the time is
   * up, the `signal` of the run aborts with a `DOMException` named `TimeoutError`. If the run has not ended 5 s later,
   * the leader resigns, and a `failed` event says so. Another process leads when the run and all other work of the term
   * have ended, or when the lease and the transition of the election are over. This process stands again when all this
   * work has ended. A run that ignores its signal may therefore overlap with the next run in another process; then only
   * the token of `term` protects the resource.
   */
  maxRunMs?: number | undefined;
  /**
   * The election whose leader runs the job: an election of the same provider. Default: an election of its own, under
   * the name of the job. Several jobs of different names may share an election; each candidate of that election should
   * then have all these jobs.
   */
  election?: LeaderElection | undefined;
}

/** The times of a cron expression. */
export interface CronTimes {
  /**
   * Five fields (from minute to day of the week), six (with seconds first), seven (with seconds first and years last),
   * or a nickname such as `@daily`.
   */
  cron: string;
  /** The IANA name of the time zone of the expression. Default: `UTC`, so that all processes agree. */
  timeZone?: string | undefined;
  /** Not allowed here: an option of {@link PeriodicTimes}. */
  everyMs?: undefined;
  /** Not allowed here: an option of {@link PeriodicTimes}. */
  pace?: undefined;
  /** Not allowed here: an option of {@link PeriodicTimes}. */
  initialDelayMs?: undefined;
}

/** Times at a regular pace. */
export interface PeriodicTimes {
  /**
   * With `fixed-rate`, the time from one instant to the next; with `fixed-delay`, the time from the end of a run to the
   * next instant. In ms: an integer from 10 to ten years (3,650 days).
   */
  everyMs: number;
  /**
   * `fixed-rate` (default): instants are `everyMs` apart, counted from the first instant, which the first claim of the
   * job stores. `fixed-delay`: the next instant is `everyMs` after the end of a run. If the leader does not know the
   * end of the last run, for example because another leader ran it, the next instant is `everyMs` after the instant of
   * that run.
   */
  pace?: 'fixed-rate' | 'fixed-delay' | undefined;
  /**
   * For a job that has no claim yet: the time from the beginning of a term, or from a later start of the job, to the
   * first instant, in ms. An integer from 0 (default) to ten years (3,650 days).
   */
  initialDelayMs?: number | undefined;
  /** Not allowed here: an option of {@link CronTimes}. */
  cron?: undefined;
  /** Not allowed here: an option of {@link CronTimes}. */
  timeZone?: undefined;
}

/** Options of a scheduled job: what it does, and when. */
export type ScheduledJobOptions = JobOptions & (CronTimes | PeriodicTimes);

export interface ParsedJobOptions {
  readonly run: JobOptions['run'];
  readonly catchesUp: boolean;
  readonly maxRunMs?: number | undefined;
  readonly schedule: Schedule;
}

const MIN_EVERY_MS = 10;
const MAX_EVERY_MS = 3_650 * DAY_MS;

const JOB_OPTIONS: KeysOf<ScheduledJobOptions> = {
  run: true,
  missed: true,
  maxRunMs: true,
  election: true,
  cron: true,
  timeZone: true,
  everyMs: true,
  pace: true,
  initialDelayMs: true,
};

export function parseJobOptions(given: ScheduledJobOptions): ParsedJobOptions {
  const options: Partial<ScheduledJobOptions> = knownOptions(given, 'createScheduledJob', JOB_OPTIONS);
  const { run } = options;
  if (typeof run !== 'function') throw wrongType('run', 'a function', run);
  return {
    run,
    catchesUp: oneOf('missed', orElse(options.missed, 'skip'), ['skip', 'run-once']) === 'run-once',
    maxRunMs: optional(options.maxRunMs, (ms) => integer('maxRunMs', ms, 1, MAX_EVERY_MS)),
    schedule: parseSchedule(options),
  };
}

function parseSchedule(options: Partial<ScheduledJobOptions>): Schedule {
  const { cron, timeZone, everyMs, pace, initialDelayMs } = options;
  if ((cron === undefined) === (everyMs === undefined)) {
    throw new TypeError('options must have either cron or everyMs');
  }
  if (cron !== undefined) {
    refuse({ pace, initialDelayMs }, 'everyMs');
    return cronSchedule(cron, orElse(timeZone, 'UTC'));
  }
  refuse({ timeZone }, 'cron');
  const periodMs = integer('everyMs', everyMs, MIN_EVERY_MS, MAX_EVERY_MS);
  const delayMs = integer('initialDelayMs', orElse(initialDelayMs, 0), 0, MAX_EVERY_MS);
  const isRate = oneOf('pace', orElse(pace, 'fixed-rate'), ['fixed-rate', 'fixed-delay']) === 'fixed-rate';
  return isRate ? fixedRate(periodMs, delayMs) : fixedDelay(periodMs, delayMs);
}

function refuse(options: Readonly<Record<string, unknown>>, other: string): void {
  for (const [option, value] of Object.entries(options)) {
    if (value !== undefined) throw new TypeError(`${option} is an option of ${other}`);
  }
}
