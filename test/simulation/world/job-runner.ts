import type { LockProvider } from '../../../src/index.js';
import type { Random } from '../../../lab/random.js';
import { codeOf } from '../../faults/workload/observed-hold.js';
import type { Stage } from '../../faults/workload/stage.js';
import type { JobRun, JobTrouble, Missed } from '../judges/job-checker.js';

export const JOB = 'job';

const [IDLE_MS, STANDING_MS, PACE_MS, WORK_MS] = [200, 8_000, 900, 120];

/** For how many paces the job stands at most. */
const STANDING_PACES = 4;

/** What the processes note about their job. */
export interface JobNotes {
  readonly runs: JobRun[];
  readonly troubles: JobTrouble[];
  readonly missed: Missed[];
  /** How many runs were called for. */
  calls: number;
  /** The time between two instants of the job. */
  readonly everyMs: number;
}

/** Starts a job that all processes have, calls for runs out of turn, and stops it after a while. */
export class JobRunner {
  readonly #stage: Stage;
  readonly #random: Random;
  readonly #worker: number;
  readonly #notes: JobNotes;

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
      everyMs: this.#notes.everyMs,
      missed: 'run-once',
      run: async ({ firedAt, term }) => {
        const run: JobRun = {
          ...{ worker: this.#worker, firedAtMs: firedAt.getTime(), token: term.fencingToken },
          ...{ fromMs: time.nowMs(), untilMs: Infinity },
        };
        this.#notes.runs.push(run);
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
      if (codeOf(error) === undefined) this.#complain(`job: ${String(error)}`);
    });
    job.election.on('error', (error) => {
      if (codeOf(error) === undefined) this.#complain(`election of the job: ${String(error)}`);
    });
    return job;
  }

  async #call(job: ReturnType<LockProvider['createScheduledJob']>): Promise<void> {
    this.#notes.calls += 1;
    try {
      await job.runNow();
    } catch (error) {
      const code = codeOf(error);
      if (code === undefined) this.#complain(`runNow: ${String(error)}`);
      this.#notes.troubles.push({ worker: this.#worker, code: code ?? '' });
    }
  }

  #complain(what: string): void {
    this.#stage.journal.write({ type: 'complaint', what });
  }
}
