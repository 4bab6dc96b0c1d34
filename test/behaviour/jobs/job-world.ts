import { sleepUntil } from '../../../src/clock.js';
import { LockLostError } from '../../../src/errors.js';
import type { LockHandle } from '../../../src/index.js';
import type { ClaimAnswer, ClaimPurpose } from '../../../src/schedule/job-ledger.js';
import { JobTerm } from '../../../src/schedule/job-term.js';
import type { JobParts } from '../../../src/schedule/job-term.js';
import type { Claimed, Schedule } from '../../../src/schedule/schedule.js';
import { ServerTime } from '../../../src/schedule/server-time.js';
import { ManualClock } from '../../support/manual-clock.js';
import { settled } from '../../../lab/patience.js';

/** The server's time when the local clock is at 0. */
export const AHEAD_MS = 1_000_000;

/** Stands in for the stored document. */
class Stored {
  claimed: Claimed | null = null;
  readonly claims: number[] = [];
}

/** Plays the terms of one job, one after the other, by a manual clock. */
export class World {
  readonly clock = new ManualClock();
  readonly told: string[] = [];
  readonly stored = new Stored();
  readonly time = new ServerTime(this.clock);
  /** The answers to the next claims, given without judging them. */
  readonly answers: ClaimAnswer[] = [];
  isReadable = true;
  readTakesMs = 0;
  claimTakesMs = 0;
  readonly #schedule: Schedule;
  readonly #run: JobParts['options']['run'];
  readonly #catchesUp: boolean;
  readonly #maxRunMs: number | undefined;
  readonly #observation: JobParts['observation'];
  #behindMs = 0;
  /** How many answers to claims that took effect get lost. */
  lostAnswers = 0;
  /** The number of the last call of the job, and of the last claimed call. */
  readonly calls = { asked: 0, claimed: 0 };
  #lastClaimId: object | undefined;
  resigned = 0;
  readonly concluded: string[] = [];

  constructor(
    schedule: Schedule,
    {
      run = () => undefined,
      catchesUp = false,
      maxRunMs,
      observation,
    }: {
      run?: JobParts['options']['run'];
      catchesUp?: boolean;
      maxRunMs?: number;
      observation?: JobParts['observation'];
    } = {},
  ) {
    this.#schedule = schedule;
    this.#run = run;
    this.#catchesUp = catchesUp;
    this.#maxRunMs = maxRunMs;
    this.#observation = observation;
  }

  get #serverMs(): number {
    return AHEAD_MS + this.nowMs - this.#behindMs;
  }

  /** Sets the server's clock back by this much, compared with the start. */
  setBack(ms: number): void {
    this.#behindMs = ms;
  }

  /** The time since the clock began. */
  get nowMs(): number {
    return this.clock.nowMs() - 1_000;
  }

  term(): {
    readonly job: JobTerm;
    readonly end: () => void;
    readonly losesHold: () => void;
    readonly stop: (drainMs: number) => Promise<void>;
  } {
    const ending = new AbortController();
    const stopping = new AbortController();
    let isHeld = true;
    const term = {
      id: 'w1',
      fencingToken: 7,
      get isHeld() {
        return isHeld && !ending.signal.aborted;
      },
      signal: ending.signal,
    } as LockHandle;
    const job = new JobTerm(
      {
        options: {
          run: this.#run,
          catchesUp: this.#catchesUp,
          maxRunMs: this.#maxRunMs,
          schedule: this.#schedule,
        },
        ledger: {
          time: this.time,
          read: async () => {
            await this.#takes(this.readTakesMs);
            return this.isReadable
              ? this.#learn({ claimed: this.stored.claimed, call: this.#pendingCall })
              : undefined;
          },
          claim: (_, instantMs, after, purpose) => {
            const ask = this.#claim(instantMs, after, purpose);
            // A term that has ended is granted nothing any more.
            return () => ask(ending.signal.aborted);
          },
          conclude: (_, instantMs, outcome) => {
            this.concluded.push(`${outcome} ${instantMs - AHEAD_MS}`);
            return Promise.resolve();
          },
        },
        clock: this.clock,
        observation: this.#observation,
        tell: (event, ...[payload]) => {
          this.told.push(`${this.nowMs} ${event} ${inWords(payload)}`);
        },
        stopping: stopping.signal,
        resign: () => {
          this.resigned += 1;
        },
      },
      term,
    );
    return {
      job,
      end: () => {
        ending.abort(new LockLostError('e', 'expired'));
      },
      losesHold: () => {
        isHeld = false;
      },
      stop: (drainMs) => {
        stopping.abort();
        return job.drain(drainMs);
      },
    };
  }

  #learn<T>(value: T): T {
    this.time.learn(this.#serverMs, this.clock.nowMs());
    return value;
  }

  get #pendingCall(): number {
    const { asked, claimed } = this.calls;
    return asked > claimed ? asked : 0;
  }

  /** Follows the protocol: a repeat of the last stored claim is granted again. */
  #claim(
    instantMs: number,
    after: Claimed | null,
    { call, anchorMs }: ClaimPurpose,
  ): (isDeposed: boolean) => Promise<ClaimAnswer> {
    const claimId = {};
    return async (isDeposed) => {
      await this.#takes(this.claimTakesMs);
      const answer =
        this.answers.shift() ?? this.#judge(claimId, instantMs, after, isDeposed, { call, anchorMs });
      if (answer !== 'claimed' || this.lostAnswers === 0) return this.#learn(answer);
      this.lostAnswers -= 1;
      return 'unknown';
    };
  }

  async #takes(ms: number): Promise<void> {
    if (ms > 0) await sleepUntil(this.clock, this.clock.nowMs() + ms);
  }

  #judge(
    claimId: object,
    instantMs: number,
    after: Claimed | null,
    isDeposed: boolean,
    { call, anchorMs }: Pick<ClaimPurpose, 'call' | 'anchorMs'>,
  ): ClaimAnswer {
    if (this.#lastClaimId === claimId) return 'claimed';
    const lastMs = this.stored.claimed?.lastMs ?? null;
    if ((after?.lastMs ?? null) !== lastMs || (lastMs ?? -Infinity) >= instantMs) return 'outdated';
    if (isDeposed) return 'deposed';
    if (instantMs > this.#serverMs) return 'early';
    if (call !== undefined && this.#pendingCall !== call) return 'uncalled';
    if (call !== undefined) this.calls.claimed = call;
    this.stored.claimed = { lastMs: instantMs, anchorMs: this.stored.claimed?.anchorMs ?? anchorMs };
    this.stored.claims.push(instantMs - AHEAD_MS);
    this.#lastClaimId = claimId;
    return 'claimed';
  }

  /** Advances the clock in small steps, and waits for the effects of each step. */
  async pass(ms: number): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += 5) {
      await settled();
      this.clock.advance(5);
    }
    await settled();
  }
}

const inWords = (payload: object): string =>
  Object.entries(payload)
    .filter(([field]) => field !== 'fencingToken' && field !== 'tookMs')
    .map(([, value]) => {
      if (value instanceof Date) return value.getTime() - AHEAD_MS;
      return value instanceof Error ? value.message : String(value);
    })
    .join(' ');

/** A run that takes this long by the world's clock. */
export const taking =
  (world: () => World, ms: number): JobParts['options']['run'] =>
  () =>
    sleepUntil(world().clock, world().clock.nowMs() + ms);
