import { setMaxListeners } from 'node:events';
import { sleepUntil, within } from '../clock.js';
import type { Clock } from '../clock.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import type { RunOutcome } from '../protocol/operation.js';
import { RETRY_MS, settleClaim } from './claiming.js';
import type { Settled } from './claiming.js';
import type { TellJob, WhyMissed } from './job-events.js';
import type { ClaimPurpose, JobLedger } from './job-ledger.js';
import type { ParsedJobOptions } from './job-options.js';
import { RunSignal, hungError, watchOverrun } from './job-run.js';
import { only, withInstant } from './schedule.js';
import type { Claimed, MissedInstants } from './schedule.js';

/** What a term needs of its job. */
export interface JobParts {
  readonly options: ParsedJobOptions;
  readonly ledger: Pick<JobLedger, 'time' | 'read' | 'claim' | 'conclude'>;
  readonly clock: Clock;
  readonly tell: TellJob;
  /** Aborts when the job is stopped, and with it the signal of the run that goes on. */
  readonly stopping: AbortSignal;
  /** Ends the term for the sake of the schedule: a run hangs. */
  readonly resign: () => void;
}

/**
 * A wait of more than twice this is cut by a look at the server's time, from which the local clock drifts away. So no look
 * comes right before an instant, which would pass meanwhile.
 */
const LOOK_EVERY_MS = 600_000;

/**
 * One job during one term of the leader: waits for the next instant, claims it, runs; again and again until the term is
 * over or the job stopped. Instants that are missed are claimed, too, the newest of them for all, or the next one for
 * those before it: so each is run or told as missed once in the fleet, whoever leads. A run out of turn is claimed like
 * an instant, at the time that it is.
 */
export class JobTerm {
  readonly #job: JobParts;
  readonly #term: LockHandle;
  readonly #done: Promise<true>;
  readonly #settled: Promise<true>;
  #resolveDone!: (done: true) => void;
  #claimed: Claimed | null = null;
  /** The call that waits for a run; 0: none does. */
  #call = 0;
  #mustLook = false;
  #firstMs: number | null = null;
  #nextMs: number | null = null;
  /** When the last claim was begun, if nothing but its run has taken time since: what is due from then on is overrun. */
  #busySinceMs = Infinity;
  /** Missed instants were claimed, and nothing has run since: where claims take long, that could go on for ever. */
  #hasMadeUp = false;
  #isRunning = false;
  /** Aborts with the term, or when the job is stopped. */
  readonly #over = new AbortController();
  /** Aborts when a stop has waited for as long as it may: nobody asks any more what has become of a claim. */
  readonly #abandoned = new AbortController();
  #claiming: Promise<unknown> | undefined;
  /** Ends the present wait for an instant. */
  #nap = new AbortController();

  constructor(job: JobParts, term: LockHandle) {
    this.#job = job;
    this.#term = term;
    // Every job of the election listens for the end of its term; that many are no leak.
    setMaxListeners(0, term.signal);
    this.#done = new Promise((resolve) => {
      this.#resolveDone = resolve;
    });
    const end = (): void => {
      this.#over.abort();
      this.#nap.abort();
      this.#tellIfDone();
    };
    const ends = [term.signal, job.stopping];
    for (const signal of ends) signal.addEventListener('abort', end);
    if (this.#isOver) this.#over.abort();
    this.#settled = this.#lead().then(() => {
      for (const signal of ends) signal.removeEventListener('abort', end);
      this.#resolveDone(true);
      return true;
    });
  }

  /**
   * Resolves when no run goes on, and none will; never rejects. After the term, what has become of a last claim may still
   * be asked for: an instant that was claimed and cannot start has been missed.
   */
  get done(): Promise<true> {
    return this.#done;
  }

  /** In the server's time; `null`: at none that is known. */
  get nextMs(): number | null {
    return this.#isOver ? null : this.#nextMs;
  }

  /** Somebody asks for a run out of turn, of this job or of another one of the election. */
  called(): void {
    this.#mustLook = true;
    this.#nap.abort();
  }

  /**
   * When the job is stopped: the run that goes on, whose signal has aborted, has so long to end; and for so long the store
   * is asked what has become of a claim. A claim that is not settled by then is told as missed, for an unknown cause.
   */
  async drain(drainMs: number): Promise<void> {
    if ((await within(this.#job.clock, drainMs, this.#settled)) === true) return;
    this.#abandoned.abort();
    await this.#claiming;
  }

  get #isOver(): boolean {
    return this.#job.stopping.aborted || this.#term.signal.aborted;
  }

  /** The term waits for no store, only for its run. */
  #tellIfDone(): void {
    if (!this.#isRunning && this.#term.signal.aborted) this.#resolveDone(true);
  }

  async #lead(): Promise<void> {
    while (!this.#isOver) {
      let isKnown = await this.#look();
      if (!isKnown) await sleepUntil(this.#job.clock, this.#job.clock.nowMs() + RETRY_MS, this.#over.signal);
      while (isKnown) isKnown = await this.#serve();
      this.#busySinceMs = Infinity;
      this.#hasMadeUp = false;
    }
  }

  /** What the job has claimed, what is asked of it, and what time it is there. */
  async #look(): Promise<boolean> {
    this.#mustLook = false;
    const state = await this.#job.ledger.read();
    if (state === undefined) return false;
    const { claimed, call } = state;
    // What is known here tells more: when the run ended.
    if (claimed?.lastMs !== this.#claimed?.lastMs) this.#claimed = claimed;
    this.#call = call;
    return true;
  }

  /** Sees to what is next. False: what is known of the claims, or of the time, is out of date. */
  async #serve(): Promise<boolean> {
    if (this.#isOver) return false;
    this.#nap = new AbortController();
    if (this.#mustLook && !(await this.#look())) return false;
    const { schedule } = this.#job.options;
    const nowMs = this.#job.ledger.time.nowMs();
    const claimed = this.#claimed;
    // Before what was missed, which may go on for ever; its run is then the one for that, too.
    if (this.#call > 0) return await this.#answer(this.#call, nowMs);
    const missed = this.#hasMadeUp ? undefined : this.#missedUntil(nowMs);
    if (missed !== undefined) return await this.#makeUpFor(missed);
    this.#nextMs =
      claimed === null ? (this.#firstMs ??= schedule.first(nowMs)) : schedule.next(claimed, nowMs);
    return await this.#waitFor(this.#nextMs, nowMs);
  }

  async #waitFor(instantMs: number | null, nowMs: number): Promise<boolean> {
    const { clock, ledger } = this.#job;
    if (instantMs === null || instantMs - nowMs > 2 * LOOK_EVERY_MS) {
      await this.#sleepUntil(clock.nowMs() + LOOK_EVERY_MS);
      return this.#mustLook;
    }
    await this.#sleepUntil(ledger.time.toLocalMs(instantMs));
    if (this.#isOver || this.#mustLook) return !this.#isOver;
    return await this.#claimAndRun(instantMs);
  }

  /** A run out of turn. It does not move the series: where that has not begun, it begins as if there had been none. */
  async #answer(call: number, nowMs: number): Promise<boolean> {
    this.#call = 0;
    const instantMs = Math.max(nowMs, (this.#claimed?.lastMs ?? 0) + 1);
    this.#firstMs ??= this.#job.options.schedule.first(nowMs);
    return await this.#claimAndRun(instantMs, { call, anchorMs: this.#firstMs ?? instantMs });
  }

  async #claimAndRun(instantMs: number, purpose: Partial<ClaimPurpose> = {}): Promise<boolean> {
    const missed = this.#missedUntil(instantMs - 1);
    const settled = await this.#claim(instantMs, missed, { runs: true, ...purpose });
    if (settled !== 'granted') return false;
    if (!(await this.#run(instantMs))) this.#tellMissed(only(instantMs), 'no-leader');
    return true;
  }

  async #makeUpFor(missed: MissedInstants): Promise<boolean> {
    const { catchesUp } = this.#job.options;
    if ((await this.#claim(missed.lastMs, missed, { runs: catchesUp })) !== 'granted') return false;
    this.#hasMadeUp = true;
    if (catchesUp) await this.#run(missed.lastMs);
    return true;
  }

  #missedUntil(ms: number): MissedInstants | undefined {
    return this.#claimed === null ? undefined : this.#job.options.schedule.missed(this.#claimed, ms);
  }

  #tellMissed({ count, firstMs, lastMs }: MissedInstants, why: WhyMissed): void {
    this.#job.tell('missed', { count, first: new Date(firstMs), last: new Date(lastMs), why });
  }

  // ---- a claim

  /**
   * Asks until it is settled, also after the term, and when the job is stopped until its drain is over. What is missed by
   * it is told as soon as it is granted; all of it, and the instant itself, if nobody can say whether it was.
   */
  async #claim(
    instantMs: number,
    missed: MissedInstants | undefined,
    purpose: Partial<ClaimPurpose> & { readonly isBeside?: boolean },
  ): Promise<Settled> {
    const { ledger, clock, tell } = this.#job;
    const { runs = false, call, anchorMs = instantMs, isBeside = false } = purpose;
    const why = (missed?.firstMs ?? 0) >= this.#busySinceMs ? 'overrun' : 'no-leader';
    if (!isBeside) this.#busySinceMs = ledger.time.nowMs();
    const claiming = settleClaim({
      ...{ clock, time: ledger.time, instantMs },
      ask: ledger.claim(this.#term.id, instantMs, this.#claimed, { runs, call, anchorMs }),
      over: this.#over.signal,
      givingUp: this.#abandoned.signal,
      failed: (error) => {
        tell('failed', { firedAt: new Date(instantMs), error });
      },
    });
    this.#claiming = claiming;
    const settled = await claiming;
    if (settled === 'unknown') this.#tellMissed(withInstant(missed, instantMs), 'unknown');
    if (settled !== 'granted') return settled;
    this.#claimed = { lastMs: instantMs, anchorMs: this.#claimed?.anchorMs ?? anchorMs };
    if (missed !== undefined) this.#tellMissed(missed, why);
    return settled;
  }

  // ---- a run

  /** False: the term has ended, or the job was stopped, and it did not begin. */
  async #run(instantMs: number): Promise<boolean> {
    const term = this.#term;
    const { tell, clock, ledger } = this.#job;
    const { run, maxRunMs } = this.#job.options;
    const conclude = (outcome: RunOutcome): void => void ledger.conclude(term.id, instantMs, outcome);
    // While a term that its leader ends is drained, its hold lasts, and its signal has aborted.
    if (!term.isHeld || this.#isOver) {
      conclude('missed');
      return false;
    }
    this.#isRunning = true;
    this.#hasMadeUp = false;
    const firedAt = new Date(instantMs);
    const runSignal = new RunSignal([term.signal, this.#job.stopping]);
    if (maxRunMs !== undefined) {
      runSignal.bound(clock, maxRunMs, () => {
        tell('failed', { firedAt, error: hungError(maxRunMs) });
        conclude('failed');
        this.#job.resign();
      });
    }
    const ended = new AbortController();
    const watched = this.#watch(firedAt, ended.signal);
    const startedMs = clock.nowMs();
    tell('run', { firedAt, fencingToken: term.fencingToken });
    try {
      await run({ signal: runSignal.signal, term, firedAt });
      conclude('completed');
      tell('completed', { firedAt, tookMs: clock.nowMs() - startedMs });
    } catch (error) {
      conclude('failed');
      tell('failed', { firedAt, error });
    } finally {
      this.#isRunning = false;
      runSignal.forget();
      ended.abort();
    }
    const endedMs = ledger.time.nowMs();
    this.#tellIfDone();
    await watched;
    if (this.#claimed !== null) this.#claimed = { ...this.#claimed, endedMs };
    return true;
  }

  /** Tells what the run misses that goes on. */
  async #watch(firedAt: Date, ended: AbortSignal): Promise<void> {
    const { options, ledger, clock, tell } = this.#job;
    const { time } = ledger;
    const { schedule, catchesUp } = options;
    const nextMs = this.#claimed === null ? null : schedule.overrunAt(this.#claimed, time.nowMs());
    this.#nextMs = nextMs;
    if (nextMs === null) return;
    await watchOverrun({
      ...{ clock, ended, over: this.#over.signal, atMs: time.toLocalMs(nextMs) },
      overrun: () => {
        tell('overrun', { firedAt, nextAt: new Date(nextMs) });
      },
      account: async () => {
        const all = this.#missedUntil(time.nowMs());
        // The newest is left for the run that follows, where one is to.
        const missed = catchesUp && all !== undefined ? this.#missedUntil(all.lastMs - 1) : all;
        if (missed === undefined) return true;
        const settled = await this.#claim(missed.lastMs, missed, { isBeside: true });
        if (this.#claimed !== null) this.#nextMs = schedule.next(this.#claimed, time.nowMs());
        return settled === 'granted' || settled === 'failed';
      },
    });
  }

  /** Resolves at that local time, or when the term is over, the job stopped or called. */
  async #sleepUntil(atMs: number): Promise<void> {
    const { clock } = this.#job;
    if (atMs > clock.nowMs()) await sleepUntil(clock, atMs, this.#nap.signal);
  }
}
