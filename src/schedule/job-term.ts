import { setMaxListeners } from 'node:events';
import { pauseBeforeRepeat, sleepUntil, within } from '../clock.js';
import type { Clock } from '../clock.js';
import type { LockHandle } from '../lease/lock-handle.js';
import type { TellJob } from './job-events.js';
import type { JobLedger } from './job-ledger.js';
import type { ParsedJobOptions } from './job-options.js';
import type { Claimed, MissedInstants } from './schedule.js';

/** What a term needs of its job. */
export interface JobParts {
  readonly options: ParsedJobOptions;
  readonly ledger: Pick<JobLedger, 'time' | 'read' | 'claim'>;
  readonly clock: Clock;
  readonly tell: TellJob;
  /** Aborts when the job is stopped. */
  readonly stopping: AbortSignal;
}

/**
 * A wait of more than twice this is cut by a look at the server's time, from which the local clock drifts away. So no look
 * comes right before an instant, which would pass meanwhile.
 */
const LOOK_EVERY_MS = 600_000;

/** The server's clock may be wrong for a moment: one that said it was too early is asked again after so long at most. */
const ASK_AGAIN_MS = 5_000;

/** After what should not be: a claim that was refused, or a store that does not say what was claimed. */
const RETRY_MS = 200;

/** After a failure that a repeat will hardly mend. */
const AFTER_FAILURE_MS = 1_000;

/**
 * One job during one term of the leader: waits for the next instant, claims it, runs; again and again until the term is
 * over or the job stopped. Instants that are missed are claimed, too, the newest of them for all, or the next one for
 * those before it: so each is run or told as missed once in the fleet, whoever leads.
 */
export class JobTerm {
  readonly #job: JobParts;
  readonly #term: LockHandle;
  readonly #done: Promise<true>;
  #claimed: Claimed | null = null;
  #firstMs: number | null = null;
  #nextMs: number | null = null;
  /** When the last claim was begun, if nothing but its run has taken time since: what is due from then on is overrun. */
  #busySinceMs = Infinity;
  /** Missed instants were claimed, and nothing has run since: where claims take long, that could go on for ever. */
  #hasMadeUp = false;
  #isRunning = false;
  /** Aborts with the term, or when the job is stopped. */
  readonly #over = new AbortController();
  readonly #aborting = new AbortController();

  constructor(job: JobParts, term: LockHandle) {
    this.#job = job;
    this.#term = term;
    // Every job of the election listens for the end of its term; that many are no leak.
    setMaxListeners(0, term.signal);
    this.#done = new Promise((resolve) => {
      const end = (): void => {
        this.#over.abort();
        if (!this.#isRunning && term.signal.aborted) resolve(true);
      };
      const ends = [term.signal, job.stopping];
      for (const signal of ends) signal.addEventListener('abort', end);
      if (this.#isOver) this.#over.abort();
      void this.#lead().then(() => {
        for (const signal of ends) signal.removeEventListener('abort', end);
        resolve(true);
      });
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

  /** When the job is stopped: the run that goes on has so long to end, and as long again after its signal. */
  async drain(drainMs: number): Promise<void> {
    const { clock } = this.#job;
    if ((await within(clock, drainMs, this.#done)) === true) return;
    this.#aborting.abort(new DOMException('The job was stopped', 'AbortError'));
    await within(clock, drainMs, this.#done);
  }

  get #isOver(): boolean {
    return this.#job.stopping.aborted || this.#term.signal.aborted;
  }

  async #lead(): Promise<void> {
    while (!this.#isOver) {
      let isKnown = await this.#look();
      if (!isKnown) await this.#pause();
      while (isKnown) isKnown = await this.#serve();
      this.#busySinceMs = Infinity;
      this.#hasMadeUp = false;
    }
  }

  /** What the job has claimed, and what time it is there. */
  async #look(): Promise<boolean> {
    const claimed = await this.#job.ledger.read();
    if (claimed === undefined) return false;
    // What is known here tells more: when the run ended.
    if (claimed?.lastMs !== this.#claimed?.lastMs) this.#claimed = claimed;
    return true;
  }

  /** Sees to what is next. False: what is known of the claims, or of the time, is out of date. */
  async #serve(): Promise<boolean> {
    if (this.#isOver) return false;
    const { schedule } = this.#job.options;
    const nowMs = this.#job.ledger.time.nowMs();
    const claimed = this.#claimed;
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
      return false;
    }
    await this.#sleepUntil(ledger.time.toLocalMs(instantMs));
    if (this.#isOver || !(await this.#claim(instantMs, this.#missedUntil(instantMs - 1)))) return false;
    if (!(await this.#run(instantMs))) {
      this.#tellMissed({ count: 1, firstMs: instantMs, lastMs: instantMs }, 'no-leader');
    }
    return true;
  }

  async #makeUpFor(missed: MissedInstants): Promise<boolean> {
    if (!(await this.#claim(missed.lastMs, missed))) return false;
    this.#hasMadeUp = true;
    if (this.#job.options.catchesUp) await this.#run(missed.lastMs);
    return true;
  }

  #missedUntil(ms: number): MissedInstants | undefined {
    return this.#claimed === null ? undefined : this.#job.options.schedule.missed(this.#claimed, ms);
  }

  #tellMissed({ count, firstMs, lastMs }: MissedInstants, why: 'no-leader' | 'overrun'): void {
    this.#job.tell('missed', { count, first: new Date(firstMs), last: new Date(lastMs), why });
  }

  // ---- a claim

  /** Asks until it is settled, also after the term. What is missed by it is told as soon as it is granted. */
  async #claim(instantMs: number, missed: MissedInstants | undefined): Promise<boolean> {
    const { ledger } = this.#job;
    const why = (missed?.firstMs ?? 0) >= this.#busySinceMs ? 'overrun' : 'no-leader';
    this.#busySinceMs = ledger.time.nowMs();
    if (!(await this.#isGranted(instantMs))) return false;
    this.#claimed = { lastMs: instantMs, anchorMs: this.#claimed?.anchorMs ?? instantMs };
    if (missed !== undefined) this.#tellMissed(missed, why);
    return true;
  }

  async #isGranted(instantMs: number): Promise<boolean> {
    const { clock, ledger, stopping } = this.#job;
    const ask = ledger.claim(this.#term.id, instantMs, this.#claimed);
    for (let repeats = 0; ; repeats += 1) {
      const answer = await ask();
      if (answer === 'claimed') return true;
      if (answer === 'unknown') {
        if (stopping.aborted) return false;
        await pauseBeforeRepeat(clock, repeats);
      } else if (answer === 'early') {
        // The server's clock is behind what was thought; by its answer it is known when it will be time.
        await this.#sleepUntil(Math.min(ledger.time.toLocalMs(instantMs), clock.nowMs() + ASK_AGAIN_MS));
        if (this.#isOver) return false;
      } else {
        await this.#refused(instantMs, answer);
        return false;
      }
    }
  }

  async #refused(instantMs: number, answer: 'deposed' | 'outdated' | Error): Promise<void> {
    if (!(answer instanceof Error)) {
      await this.#pause();
      return;
    }
    this.#job.tell('failed', { firedAt: new Date(instantMs), error: answer });
    await this.#pause(AFTER_FAILURE_MS);
  }

  // ---- a run

  /** False: the term has ended, or the job was stopped, and it did not begin. */
  async #run(instantMs: number): Promise<boolean> {
    const term = this.#term;
    const { options, tell, clock, ledger } = this.#job;
    // While a term that its leader ends is drained, its hold lasts, and its signal has aborted.
    if (!term.isHeld || this.#isOver) return false;
    this.#isRunning = true;
    this.#hasMadeUp = false;
    const firedAt = new Date(instantMs);
    const { signal, forget } = this.#runSignal();
    const unwatch = this.#watch(firedAt);
    const startedMs = clock.nowMs();
    tell('run', { firedAt, fencingToken: term.fencingToken });
    try {
      await options.run({ signal, term, firedAt });
      tell('completed', { firedAt, tookMs: clock.nowMs() - startedMs });
    } catch (error) {
      tell('failed', { firedAt, error });
    } finally {
      this.#isRunning = false;
      unwatch();
      forget();
      if (this.#claimed !== null) this.#claimed = { ...this.#claimed, endedMs: ledger.time.nowMs() };
    }
    return true;
  }

  /** Aborts with the term's, or when the job was stopped and the run takes too long. */
  #runSignal(): { readonly signal: AbortSignal; readonly forget: () => void } {
    const controller = new AbortController();
    const sources = [this.#term.signal, this.#aborting.signal];
    const abort = (): void => {
      controller.abort(sources.find(({ aborted }) => aborted)?.reason);
    };
    for (const source of sources) source.addEventListener('abort', abort, { once: true });
    return {
      signal: controller.signal,
      forget: () => {
        for (const source of sources) source.removeEventListener('abort', abort);
      },
    };
  }

  /** Tells if the run goes on when it is time for the next. */
  #watch(firedAt: Date): () => void {
    const { options, ledger, clock, tell } = this.#job;
    const { time } = ledger;
    const nextMs = this.#claimed === null ? null : options.schedule.overrunAt(this.#claimed, time.nowMs());
    this.#nextMs = nextMs;
    if (nextMs === null) return () => undefined;
    const timer = clock.at(time.toLocalMs(nextMs), () => {
      tell('overrun', { firedAt, nextAt: new Date(nextMs) });
    });
    return () => {
      timer.cancel();
    };
  }

  // ---- waiting

  #pause(ms = RETRY_MS): Promise<void> {
    return this.#sleepUntil(this.#job.clock.nowMs() + ms);
  }

  /** Resolves at that local time, or when the term is over or the job stopped. */
  async #sleepUntil(atMs: number): Promise<void> {
    const { clock } = this.#job;
    if (atMs > clock.nowMs()) await sleepUntil(clock, atMs, this.#over.signal);
  }
}
