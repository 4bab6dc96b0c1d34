import { setMaxListeners } from 'node:events';
import { LinkedController } from '../abort-listeners.js';
import { sleepUntil, within } from '../clock.js';
import type { Clock } from '../clock.js';
import type { Observation } from '../observation.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import type { RunOutcome } from '../protocol/operation.js';
import { AFTER_ANOMALY_MS } from './claiming.js';
import type { TellJob } from './job-events.js';
import type { ClaimPurpose, JobLedger } from './job-ledger.js';
import type { ParsedJobOptions } from './job-options.js';
import { RunReport, RunSignal, hungError, watchOverrun } from './job-run.js';
import { only } from './schedule.js';
import type { MissedInstants } from './schedule.js';
import { TermClaims } from './term-claims.js';

export interface JobParts {
  readonly options: ParsedJobOptions;
  readonly ledger: Pick<JobLedger, 'time' | 'read' | 'claim' | 'conclude'>;
  readonly clock: Clock;
  readonly tell: TellJob;
  /** Tells observers of the runs. If `undefined`, nobody is told. */
  readonly observation?: Pick<Observation, 'isOn' | 'runStarted'> | undefined;
  readonly jobName?: string;
  /** Aborts when the job is stopped. The signal of the present run then aborts, too. */
  readonly stopping: AbortSignal;
  /** Ends the term when a run hangs. */
  readonly resign: () => void;
}

/**
 * During a long wait, the server's time is read again at this interval, because the local clock drifts. A wait of at
 * most twice this interval has no such read, because a read right before an instant could end after the instant.
 */
const REFRESH_EVERY_MS = 600_000;

/**
 * One job during one term of the leader: waits for the next instant, claims the instant and runs the job, until the
 * term is over or the job is stopped.
 *
 * Missed instants are claimed, too. The claim of an instant also counts for all instants that were missed before it, so
 * a claim of the newest missed instant is enough. So each instant is run, or reported as missed, by at most one
 * process; only a report with the cause `unknown` may come in addition. A run out of turn is claimed like an instant,
 * at the present time.
 */
export class JobTerm {
  readonly #job: JobParts;
  readonly #term: LockHandle;
  readonly #done: Promise<true>;
  readonly #settled: Promise<true>;
  #resolveDone!: (done: true) => void;
  readonly #claims: TermClaims;
  /** The number of the call that waits for a run; 0 if there is none. */
  #call = 0;
  #mustRefresh = false;
  #firstMs: number | null = null;
  #nextMs: number | null = null;
  /**
   * Set when missed instants were claimed; cleared when a run starts, and when `#serve` resolves with false. While this
   * flag is set, the next claim is for a run. Otherwise, if claims take long, each claim would find newly missed
   * instants, and no run would ever start.
   */
  #hasClaimedMissed = false;
  #isRunning = false;
  /** Aborts when the term begins to end or the job is stopped. */
  readonly #over: LinkedController;
  #wait = new AbortController();

  constructor(job: JobParts, term: LockHandle) {
    this.#job = job;
    this.#term = term;
    // The code of every job of the election may listen to this signal, so a large number of listeners is no leak.
    setMaxListeners(0, term.signal);
    this.#over = new LinkedController(term.signal, job.stopping);
    this.#over.signal.addEventListener('abort', () => {
      this.#wait.abort();
      this.#resolveIfDone();
    });
    this.#claims = new TermClaims(job, term, this.#over.signal);
    this.#done = new Promise((resolve) => {
      this.#resolveDone = resolve;
    });
    this.#settled = this.#lead().then(() => {
      this.#over.unlink();
      this.#resolveDone(true);
      return true;
    });
  }

  /**
   * Resolves when no run is running and none will start; never rejects. The promise may resolve while the store is
   * still asked about the last claim. If that claim is then granted, its run cannot start any more, and its instant is
   * reported as missed.
   */
  get done(): Promise<true> {
    return this.#done;
  }

  /** The next instant by the server's clock; `null` if none is known, if the term is over, or if the job is stopped. */
  get nextMs(): number | null {
    return this.#isOver ? null : this.#nextMs;
  }

  /** Called when a run out of turn was requested, for this job or for another job of the election. */
  called(): void {
    this.#mustRefresh = true;
    this.#wait.abort();
  }

  /**
   * Called when the job is stopped. The present run, whose signal has aborted, has `drainMs` to end. During this time
   * the store is asked about an unanswered claim. If no answer comes, the instants of that claim are reported as
   * missed, with the cause `unknown`.
   */
  async drain(drainMs: number): Promise<void> {
    if ((await within(this.#job.clock, drainMs, this.#settled)) === true) return;
    await this.#claims.abandon();
  }

  get #isOver(): boolean {
    return this.#job.stopping.aborted || this.#term.signal.aborted;
  }

  /**
   * At the end of the term, resolves `done` as soon as no run is going on, without waiting for an answer of the store.
   */
  #resolveIfDone(): void {
    if (!this.#isRunning && this.#term.signal.aborted) this.#resolveDone(true);
  }

  async #lead(): Promise<void> {
    while (!this.#isOver) {
      let isKnown = await this.#refresh();
      if (!isKnown)
        await sleepUntil(this.#job.clock, this.#job.clock.nowMs() + AFTER_ANOMALY_MS, this.#over.signal);
      while (isKnown) isKnown = await this.#serve();
      this.#claims.interrupted();
      this.#hasClaimedMissed = false;
    }
  }

  /** Resolves with false if the claims and calls of the job could not be read. */
  async #refresh(): Promise<boolean> {
    this.#mustRefresh = false;
    const state = await this.#job.ledger.read();
    if (state === undefined) return false;
    this.#claims.learn(state.claimed);
    this.#call = state.call;
    return true;
  }

  /**
   * Claims an instant and runs the job, claims missed instants, or waits. Resolves with false when `#lead` has to
   * read the state of the job first, when the term is over, or when the job is stopped.
   */
  async #serve(): Promise<boolean> {
    if (this.#isOver) return false;
    this.#wait = new AbortController();
    if (this.#mustRefresh && !(await this.#refresh())) return false;
    const { schedule } = this.#job.options;
    const nowMs = this.#job.ledger.time.nowMs();
    const claimed = this.#claims.last;
    // A call is served before missed instants: otherwise a job that misses instants again and again would never serve a
    // call. The claim for the call also covers the missed instants.
    if (this.#call > 0) return await this.#runCall(this.#call, nowMs);
    const missed = this.#hasClaimedMissed ? undefined : this.#claims.missedUntil(nowMs);
    if (missed !== undefined) return await this.#claimMissed(missed);
    this.#nextMs =
      claimed === null ? (this.#firstMs ??= schedule.first(nowMs)) : schedule.next(claimed, nowMs);
    return await this.#waitFor(this.#nextMs, nowMs);
  }

  async #waitFor(instantMs: number | null, nowMs: number): Promise<boolean> {
    const { clock, ledger } = this.#job;
    if (instantMs === null || instantMs - nowMs > 2 * REFRESH_EVERY_MS) {
      await this.#sleepUntil(clock.nowMs() + REFRESH_EVERY_MS);
      return this.#mustRefresh;
    }
    await this.#sleepUntil(ledger.time.toLocalMs(instantMs));
    if (this.#isOver || this.#mustRefresh) return !this.#isOver;
    return await this.#claimAndRun(instantMs);
  }

  /**
   * Claims the present time for a requested run, and runs the job. Such a run does not move the instants of a fixed
   * rate or a cron expression. If the job has no claim yet, the claim of the run stores the first instant of the
   * schedule, from which a fixed rate counts.
   */
  async #runCall(call: number, nowMs: number): Promise<boolean> {
    this.#call = 0;
    const instantMs = Math.max(nowMs, (this.#claims.last?.lastMs ?? 0) + 1);
    this.#firstMs ??= this.#job.options.schedule.first(nowMs);
    return await this.#claimAndRun(instantMs, { call, anchorMs: this.#firstMs ?? instantMs });
  }

  async #claimAndRun(instantMs: number, purpose: Partial<ClaimPurpose> = {}): Promise<boolean> {
    const missed = this.#claims.missedUntil(instantMs - 1);
    const settled = await this.#claims.claim(instantMs, missed, { runs: true, ...purpose });
    if (settled !== 'granted') return false;
    if (!(await this.#run(instantMs))) this.#claims.tellMissed(only(instantMs), 'no-leader');
    return true;
  }

  async #claimMissed(missed: MissedInstants): Promise<boolean> {
    const { catchesUp } = this.#job.options;
    if ((await this.#claims.claim(missed.lastMs, missed, { runs: catchesUp })) !== 'granted') return false;
    this.#hasClaimedMissed = true;
    if (catchesUp) await this.#run(missed.lastMs);
    return true;
  }

  // ---- a run

  /** Resolves with false if no run began because the term could not be relied on any more or the job was stopped. */
  async #run(instantMs: number): Promise<boolean> {
    const term = this.#term;
    const { tell, clock, ledger, observation, jobName = term.name } = this.#job;
    const { run, maxRunMs } = this.#job.options;
    const conclude = (outcome: RunOutcome): void => void ledger.conclude(term.id, instantMs, outcome);
    // `isHeld` alone is not enough: when the leader ends its term, the signal aborts first, and the hold lasts until
    // the work has ended or the drain is over.
    if (!term.isHeld || this.#isOver) {
      conclude('missed');
      return false;
    }
    this.#isRunning = true;
    this.#hasClaimedMissed = false;
    const firedAt = new Date(instantMs);
    const { name: electionName, fencingToken } = term;
    const observed =
      observation?.isOn === true
        ? observation.runStarted({ jobName, electionName, firedAt, fencingToken })
        : undefined;
    const report = new RunReport(firedAt, { observed, conclude, tell });
    const runSignal = new RunSignal([term.signal, this.#job.stopping]);
    if (maxRunMs !== undefined) {
      runSignal.bound(clock, maxRunMs, () => {
        report.failed(hungError(maxRunMs));
        this.#job.resign();
      });
    }
    const ended = new AbortController();
    const watched = this.#watch(firedAt, ended.signal);
    const startedMs = clock.nowMs();
    tell('run', { firedAt, fencingToken });
    const work = (): unknown => run({ signal: runSignal.signal, term, firedAt });
    try {
      await (observed === undefined ? work() : observed.within(work));
      report.completed(clock.nowMs() - startedMs);
    } catch (error) {
      report.failed(error);
    } finally {
      this.#isRunning = false;
      runSignal.forget();
      ended.abort();
    }
    const endedMs = ledger.time.nowMs();
    this.#resolveIfDone();
    await watched;
    this.#claims.runEnded(endedMs);
    return true;
  }

  /**
   * Reports an overrun if the present run is still running when the next run is due. Then claims and reports the
   * instants that are missed because of the present run.
   */
  async #watch(firedAt: Date, ended: AbortSignal): Promise<void> {
    const { options, ledger, clock, tell } = this.#job;
    const { time } = ledger;
    const { schedule, catchesUp } = options;
    const claimed = this.#claims.last;
    const nextMs = claimed === null ? null : schedule.overrunAt(claimed, time.nowMs());
    this.#nextMs = nextMs;
    if (nextMs === null) return;
    await watchOverrun({
      ...{ clock, ended, over: this.#over.signal, atMs: time.toLocalMs(nextMs) },
      overrun: () => {
        tell('overrun', { firedAt, nextAt: new Date(nextMs) });
      },
      account: async () => {
        const all = this.#claims.missedUntil(time.nowMs());
        // With `run-once`, the newest missed instant stays unclaimed: the next run is for this instant.
        const missed = catchesUp && all !== undefined ? this.#claims.missedUntil(all.lastMs - 1) : all;
        if (missed === undefined) return true;
        const settled = await this.#claims.claim(missed.lastMs, missed, { isDuringRun: true });
        const { last } = this.#claims;
        if (last !== null) this.#nextMs = schedule.next(last, time.nowMs());
        return settled === 'granted' || settled === 'failed';
      },
    });
  }

  /** Ends earlier when the term begins to end, the job is stopped, or a run out of turn is requested. */
  async #sleepUntil(atMs: number): Promise<void> {
    const { clock } = this.#job;
    if (atMs > clock.nowMs()) await sleepUntil(clock, atMs, this.#wait.signal);
  }
}
