import type { LeaderElection } from '../election/leader-election.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import { integer, oneOf, optional, orElse, record, wrongType } from '../options/checks.js';
import type { KeysOf } from '../options/unknown-keys.js';
import { cronSchedule } from './cron-schedule.js';
import { fixedDelay, fixedRate } from './schedule.js';
import type { Schedule } from './schedule.js';

/** What one run of a job is given. */
export interface JobRun {
  /** Aborts when the term of the leader ends, when the run has taken `maxRunMs`, or when the job is stopped and it takes too long. */
  readonly signal: AbortSignal;
  /** The term, whose token fences. */
  readonly term: LockHandle;
  /** The instant of the schedule that it was claimed for, in the server's time; of `runNow`, when it was claimed. */
  readonly firedAt: Date;
}

/** Options of a scheduled job, whenever it is due. All are checked once, when it is made. */
export interface JobOptions {
  /** The job; if it returns a promise, until that settles. What it throws is a `failed` event, and the schedule goes on. */
  run: (run: JobRun) => unknown;
  /**
   * What is done about instants at which no run could start: nothing (`skip`, the default), or one run for the newest of
   * them (`run-once`). A `missed` event tells of them either way. A job that runs once a day should say `run-once`: with
   * `skip` a crash just before its instant costs the whole day.
   */
  missed?: 'skip' | 'run-once' | undefined;
  /**
   * How long a run may take, in ms: an integer from 1 to ten years. Then its `signal` aborts, with a `DOMException` named
   * `TimeoutError`. If the run has not ended 5 s after that, the leader resigns and a `failed` event says so: another
   * process leads when the lease is over, and this one stands again when the run has ended. A run that ignores its signal
   * then goes on beside the next one of another process; only the token of `term` protects against that. Default: none.
   */
  maxRunMs?: number | undefined;
  /**
   * The election whose leader runs the job. Default: one of the job's own, under its name. Several jobs of different names
   * may share one; then each of its candidates should have all of them.
   */
  election?: LeaderElection | undefined;
}

/** At the times of a cron expression. */
export interface CronTimes {
  /** Five fields (from minute to day of the week), six (with seconds before them) or seven (with years behind them). */
  cron: string;
  /** The IANA name of the time zone that the expression is in. Default `UTC`, so that all processes agree. */
  timeZone?: string | undefined;
  /** Of {@link PeriodicTimes}. */
  everyMs?: undefined;
  /** Of {@link PeriodicTimes}. */
  pace?: undefined;
  /** Of {@link PeriodicTimes}. */
  initialDelayMs?: undefined;
}

/** At a pace. */
export interface PeriodicTimes {
  /** From one instant to the next, or from the end of one run to the next instant, in ms: an integer from 10. */
  everyMs: number;
  /**
   * `fixed-rate`, the default: instants are `everyMs` apart, counted from the first that was ever claimed. `fixed-delay`:
   * the next one is `everyMs` after the end of a run.
   */
  pace?: 'fixed-rate' | 'fixed-delay' | undefined;
  /** From the first term of the first leader to the first instant, in ms. Default 0. */
  initialDelayMs?: number | undefined;
  /** Of {@link CronTimes}. */
  cron?: undefined;
  /** Of {@link CronTimes}. */
  timeZone?: undefined;
}

/** Options of a scheduled job: what it does, and when. */
export type ScheduledJobOptions = JobOptions & (CronTimes | PeriodicTimes);

/** The options, checked. */
export interface ParsedJobOptions {
  readonly run: JobOptions['run'];
  readonly catchesUp: boolean;
  readonly maxRunMs?: number | undefined;
  readonly schedule: Schedule;
}

const MIN_EVERY_MS = 10;
const MAX_EVERY_MS = 3_650 * 86_400_000;

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
  const options: Partial<ScheduledJobOptions> = record(given, 'createScheduledJob', JOB_OPTIONS);
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
