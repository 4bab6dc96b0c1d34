import type {
  CronTimes,
  LockHandle,
  LockLostError,
  LockProvider,
  PeriodicTimes,
} from '../../../src/index.js';
import { textOf } from '../../../src/error-text.js';
import type { Random } from '../../../lab/random.js';
import { codeIn, complainUnlessTyped } from '../../faults/workload/error-codes.js';
import type { Stage } from '../../faults/workload/stage.js';
import type { CallForRun, JobRun, JobSchedule, Missed, TermOfJob } from '../judges/job-checker.js';

export const JOB = 'job';

const [IDLE_MS, STANDING_MS, PACE_MS, WORK_MS] = [200, 8_000, 900, 120];

/** For how many paces the job stands at most. */
const STANDING_PACES = 4;

/** By cron, a job is due so often, and a minute is a multiple of it. */
const CRON_SECONDS: readonly number[] = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30];

/** The time between two instants of a job that is due about so often. */
export const everyMsOf = (schedule: JobSchedule, everyMs: number): number =>
  schedule === 'cron' ? 1_000 * (CRON_SECONDS.find((seconds) => 1_000 * seconds >= everyMs) ?? 30) : everyMs;

const timesOf = ({ schedule, everyMs }: JobNotes): CronTimes | PeriodicTimes =>
  schedule === 'cron' ? { cron: `*/${String(everyMs / 1_000)} * * * * *` } : { everyMs, pace: schedule };

/** What the processes note about their job. */
export interface JobNotes {
  readonly runs: JobRun[];
  readonly missed: Missed[];
  readonly calls: CallForRun[];
  readonly terms: TermOfJob[];
  /** The time between two instants of the job; with a fixed delay, between the end of a run and the next instant. */
  readonly everyMs: number;
  readonly schedule: JobSchedule;
}

/** Starts a job that all processes have, calls for runs out of turn, and stops it after a while. */
export class JobRunner {
  readonly #stage: Stage;
  readonly #random: Random;
  readonly #worker: number;
  readonly #notes: JobNotes;
  /** The terms that have a note. */
  readonly #noted = new WeakSet<LockHandle>();

  constructor(stage: Stage, random: Random, worker: number, notes: JobNotes) {
    this.#stage = stage;
    this.#random = random;
    this.#worker = worker;
    this.#notes = notes;
  }

  async act(): Promise<void> {
    const { time, paceMs = PACE_MS } = this.#stage;
    const standingMs = Math.max(STANDING_MS, STANDING_PACES * paceMs);
    while (!this.#stage.isStopping) {
      await time.pause(this.#random.between(0, IDLE_MS));
      await this.#stand(this.#random.between(500, standingMs));
    }
  }

  async #stand(forMs: number): Promise<void> {
    const { time, locks, paceMs = PACE_MS } = this.#stage;
    const random = this.#random;
    const job = this.#job(locks);
    const endMs = time.nowMs() + forMs;
    await job.start();
    while (time.nowMs() < endMs && !this.#stage.isStopping) {
      await time.pause(random.between(1, paceMs));
      if (random.percent(20)) await this.#call(job);
      else if (random.percent(5)) await job.election.resign();
    }
    await job.stop({ drainMs: 2 * WORK_MS });
  }

  #job(locks: LockProvider): ReturnType<LockProvider['createScheduledJob']> {
    const { time } = this.#stage;
    const job = locks.createScheduledJob(JOB, {
      ...timesOf(this.#notes),
      missed: 'run-once',
      run: async ({ firedAt, term }) => {
        const run: JobRun = {
          ...{ worker: this.#worker, firedAtMs: firedAt.getTime(), token: term.fencingToken },
          ...{ fromMs: time.nowMs(), untilMs: Infinity },
        };
        this.#notes.runs.push(run);
        this.#note(term);
        // Beyond this the term is over, whether the run has heard of that or not. A term that is over promises nothing.
        const promisedMs = (): number => (term.remainingMs > 0 ? time.nowMs() + term.remainingMs : 0);
        run.promisedMs = promisedMs();
        const stop = time.every(25, () => (run.promisedMs = Math.max(run.promisedMs ?? 0, promisedMs())));
        await time.pause(this.#random.between(0, WORK_MS));
        stop();
        run.untilMs = time.nowMs();
      },
    });
    job.on('missed', ({ count, first, last, why }) => {
      this.#notes.missed.push({ count, firstMs: first.getTime(), lastMs: last.getTime(), why });
    });
    job.on('failed', ({ error }) => {
      complainUnlessTyped(this.#stage.journal, 'job', error);
    });
    job.election.on('error', (error) => {
      complainUnlessTyped(this.#stage.journal, 'election of the job', error);
    });
    return job;
  }

  /** Notes this term, if it is new, and what is heard of it from now on. */
  #note(term: LockHandle): void {
    if (this.#noted.has(term)) return;
    this.#noted.add(term);
    const { time } = this.#stage;
    const { id, fencingToken: token, signal, releaseRequested } = term;
    const note: TermOfJob = { worker: this.#worker, id, token, fromMs: time.nowMs() };
    this.#notes.terms.push(note);
    onAbort(releaseRequested, (reason) => {
      note.requested = { atMs: time.nowMs(), says: textOf(reason) };
    });
    onAbort(signal, (reason) => {
      note.ended = { atMs: time.nowMs(), why: (reason as LockLostError).why, says: textOf(reason) };
    });
  }

  async #call(job: ReturnType<LockProvider['createScheduledJob']>): Promise<void> {
    const { journal, time } = this.#stage;
    const sinceNs = String(time.nowNs());
    const call: CallForRun = { worker: this.#worker, fromMs: time.nowMs() };
    this.#notes.calls.push(call);
    try {
      await job.runNow();
      call.answer = { atMs: time.nowMs() };
    } catch (error) {
      const code = codeIn(error);
      call.answer = { atMs: time.nowMs(), code };
      journal.write({ type: 'failed', what: 'runNow', sinceNs, code });
      complainUnlessTyped(journal, 'runNow', error);
    }
  }
}

function onAbort(signal: AbortSignal, act: (reason: unknown) => void): void {
  const aborted = (): void => {
    act(signal.reason);
  };
  if (signal.aborted) aborted();
  else signal.addEventListener('abort', aborted);
}
