import { describe, expect, it } from 'vitest';

import { sleepUntil } from '../../src/clock.js';
import { LockLostError } from '../../src/errors.js';
import type { LockHandle } from '../../src/index.js';
import type { AskForClaim, ClaimAnswer } from '../../src/schedule/job-ledger.js';
import { JobTerm } from '../../src/schedule/job-term.js';
import type { JobParts } from '../../src/schedule/job-term.js';
import { fixedDelay, fixedRate } from '../../src/schedule/schedule.js';
import type { Claimed, Schedule } from '../../src/schedule/schedule.js';
import { ServerTime } from '../../src/schedule/server-time.js';
import { ManualClock } from '../support/manual-clock.js';

/** The server's time at the local 0. */
const AHEAD_MS = 1_000_000;

/** What would be the document, without a server. */
class Stored {
  claimed: Claimed | null = null;
  readonly claims: number[] = [];
}

/** One term after the other of one job, by a clock that is moved by hand. */
class World {
  readonly clock = new ManualClock();
  readonly told: string[] = [];
  readonly stored = new Stored();
  readonly time = new ServerTime(this.clock);
  /** What is answered instead, before claims are looked at. */
  readonly answers: ClaimAnswer[] = [];
  isReadable = true;
  readTakesMs = 0;
  claimTakesMs = 0;
  readonly #schedule: Schedule;
  readonly #run: JobParts['options']['run'];
  readonly #catchesUp: boolean;
  #behindMs = 0;

  constructor(
    schedule: Schedule,
    {
      run = () => undefined,
      catchesUp = false,
    }: { run?: JobParts['options']['run']; catchesUp?: boolean } = {},
  ) {
    this.#schedule = schedule;
    this.#run = run;
    this.#catchesUp = catchesUp;
  }

  get #serverMs(): number {
    return AHEAD_MS + this.nowMs - this.#behindMs;
  }

  /** The server's clock from now on. */
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
        options: { run: this.#run, catchesUp: this.#catchesUp, schedule: this.#schedule },
        ledger: {
          time: this.time,
          read: async () => {
            await this.#takes(this.readTakesMs);
            return this.isReadable ? this.#learn(this.stored.claimed) : undefined;
          },
          claim: (_, instantMs, after) => this.#claim(instantMs, after),
        },
        clock: this.clock,
        tell: (event, ...[payload]) => {
          this.told.push(`${this.nowMs} ${event} ${inWords(payload)}`);
        },
        stopping: stopping.signal,
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

  #claim(instantMs: number, after: Claimed | null): AskForClaim {
    return async () => {
      await this.#takes(this.claimTakesMs);
      return this.#learn(this.answers.shift() ?? this.#judge(instantMs, after));
    };
  }

  async #takes(ms: number): Promise<void> {
    if (ms > 0) await sleepUntil(this.clock, this.clock.nowMs() + ms);
  }

  #judge(instantMs: number, after: Claimed | null): ClaimAnswer {
    if ((after?.lastMs ?? null) !== (this.stored.claimed?.lastMs ?? null)) return 'outdated';
    if (instantMs > this.#serverMs) return 'early';
    this.stored.claimed = { lastMs: instantMs, anchorMs: this.stored.claimed?.anchorMs ?? instantMs };
    this.stored.claims.push(instantMs - AHEAD_MS);
    return 'claimed';
  }

  /** Time goes on in small steps, and whatever follows from each of them happens. */
  async pass(ms: number): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += 5) {
      await settled();
      this.clock.advance(5);
    }
    await settled();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const inWords = (payload: object): string =>
  Object.entries(payload)
    .filter(([field]) => field !== 'fencingToken' && field !== 'tookMs')
    .map(([, value]) => {
      if (value instanceof Date) return value.getTime() - AHEAD_MS;
      return value instanceof Error ? value.message : String(value);
    })
    .join(' ');

/** A run that takes so long by the world's clock. */
const taking =
  (world: () => World, ms: number): JobParts['options']['run'] =>
  () =>
    sleepUntil(world().clock, world().clock.nowMs() + ms);

describe('a job at a fixed rate', () => {
  it('runs at each instant, the first after its initial delay', async () => {
    const world = new World(fixedRate(100, 30));
    const { job, end } = world.term();
    await world.pass(250);
    expect(world.stored.claims).toEqual([30, 130, 230]);
    expect(job.nextMs).toBe(AHEAD_MS + 330);
    expect(world.told.slice(0, 2)).toEqual(['30 run 30', '30 completed 30']);
    end();
    expect(await job.done).toBe(true);
    expect(job.nextMs).toBeNull();
    expect(world.clock.alarms).toBe(0);
  });

  it('goes on where the last leader was, and tells what was missed between them', async () => {
    const world = new World(fixedRate(100, 0));
    const first = world.term();
    await world.pass(150);
    first.end();
    await first.job.done;
    await world.pass(270);
    const second = world.term();
    await world.pass(100);
    second.end();
    expect(world.told.filter((each) => / (run|missed) /.test(each))).toEqual([
      '0 run 0',
      '100 run 100',
      '420 missed 3 200 400 no-leader',
      '500 run 500',
    ]);
  });

  it('runs once for all that was missed, if it is to', async () => {
    const world = new World(fixedRate(100, 0), { catchesUp: true });
    const first = world.term();
    await world.pass(50);
    first.end();
    await world.pass(300);
    const second = world.term();
    await world.pass(100);
    second.end();
    expect(world.told.filter((each) => / (run|missed) /.test(each))).toEqual([
      '0 run 0',
      '350 missed 3 100 300 no-leader',
      '350 run 300',
      '400 run 400',
    ]);
  });

  it('has missed nothing before its first instant, however late the first leader is', async () => {
    const world = new World(fixedRate(100, 0), { catchesUp: true });
    await world.pass(500);
    const { end } = world.term();
    await world.pass(10);
    end();
    expect(world.told).toEqual(['500 run 500', '500 completed 500']);
  });

  it('tells once of a run that takes too long, and skips what it has missed by it', async () => {
    const world: World = new World(fixedRate(100, 0), { run: taking(() => world, 250) });
    const { end } = world.term();
    await world.pass(340);
    end();
    expect(world.told).toEqual([
      '0 run 0',
      '100 overrun 0 100',
      '250 completed 0',
      '250 missed 2 100 200 overrun',
      '300 run 300',
    ]);
  });

  it('runs at once after a run that took too long, if it is to, for the newest instant', async () => {
    const world: World = new World(fixedRate(100, 0), { run: taking(() => world, 250), catchesUp: true });
    const { end } = world.term();
    await world.pass(340);
    end();
    expect(world.told).toEqual([
      '0 run 0',
      '100 overrun 0 100',
      '250 completed 0',
      '250 missed 2 100 200 overrun',
      '250 run 200',
      '300 overrun 200 300',
    ]);
  });
});

describe('a job whose claims take as long as its period', () => {
  it('runs all the same, and tells all that it misses', async () => {
    const world = new World(fixedRate(100, 0));
    world.claimTakesMs = 120;
    const { end } = world.term();
    await world.pass(1_000);
    end();
    const told = world.told.filter((each) => / (run|missed) /.test(each));
    expect(told.slice(0, 7)).toEqual([
      '120 run 0',
      '240 missed 1 100 100 overrun',
      '420 missed 1 200 200 overrun',
      '420 run 300',
      '540 missed 1 400 400 overrun',
      '720 missed 1 500 500 overrun',
      '720 run 600',
    ]);
  });
});

describe('a job at a fixed delay', () => {
  it('waits after the end of each run', async () => {
    const world: World = new World(fixedDelay(100, 20), { run: taking(() => world, 50) });
    const { end } = world.term();
    await world.pass(400);
    end();
    expect(world.stored.claims).toEqual([20, 170, 320]);
    expect(world.told.some((each) => each.includes('overrun'))).toBe(false);
  });

  it('goes on after another leader from the last claim, at once if its time has come', async () => {
    const world = new World(fixedDelay(100, 0));
    const first = world.term();
    await world.pass(10);
    first.end();
    await world.pass(500);
    const second = world.term();
    await world.pass(10);
    second.end();
    expect(world.told.filter((each) => each.includes(' run '))).toEqual(['0 run 0', '510 run 100']);
  });
});

describe('a run', () => {
  it('that fails is told of, and the schedule goes on', async () => {
    let runs = 0;
    const world = new World(fixedRate(100, 0), {
      run: () => {
        runs += 1;
        if (runs === 1) throw new Error('at once');
        return Promise.reject(new Error('later'));
      },
    });
    const { end } = world.term();
    await world.pass(150);
    end();
    expect(world.told).toEqual(['0 run 0', '0 failed 0 at once', '100 run 100', '100 failed 100 later']);
  });

  it('is told by its signal that the term is over, and the term waits for its end', async () => {
    const reasons: unknown[] = [];
    const world: World = new World(fixedRate(100, 0), {
      run: async (run) => {
        run.signal.addEventListener('abort', () => reasons.push(run.signal.reason));
        await taking(() => world, 70)(run);
      },
    });
    const { job, end } = world.term();
    await world.pass(20);
    end();
    expect(reasons).toEqual([expect.any(LockLostError)]);
    let isDone = false;
    void job.done.then(() => (isDone = true));
    await world.pass(40);
    expect(isDone).toBe(false);
    await world.pass(20);
    expect(isDone).toBe(true);
    expect(world.told.at(-1)).toBe('70 completed 0');
  });

  it('has its time to end when the job is stopped, and then its signal aborts', async () => {
    const aborted: number[] = [];
    const world: World = new World(fixedRate(100, 0), {
      run: async (run) => {
        run.signal.addEventListener('abort', () => aborted.push(world.nowMs));
        await taking(() => world, 1_000)(run);
      },
    });
    const { job, stop } = world.term();
    await world.pass(20);
    let stoppedAtMs = 0;
    void stop(200).then(() => (stoppedAtMs = world.nowMs));
    await world.pass(1_100);
    expect(aborted).toEqual([220]);
    expect(stoppedAtMs).toBe(420);
    expect(world.stored.claims).toEqual([0]);
    expect(await job.done).toBe(true);
  });

  it('does not begin without the hold, though it was claimed: the instant is missed', async () => {
    const world = new World(fixedRate(100, 0));
    const { losesHold, end } = world.term();
    losesHold();
    await world.pass(10);
    end();
    expect(world.told).toEqual(['0 missed 1 0 0 no-leader']);
  });
});

it('calls nothing an overrun that passed while nothing went on', async () => {
  const world = new World(fixedRate(100, 0));
  const { end } = world.term();
  await world.pass(10);
  // The event loop is blocked.
  world.clock.moveWithoutTimers(390);
  await world.pass(110);
  end();
  expect(world.told.filter((each) => / (run|missed) /.test(each))).toEqual([
    '0 run 0',
    '405 run 100',
    '405 missed 3 200 400 no-leader',
    '500 run 500',
  ]);
});

describe('a claim', () => {
  it('that is granted after the stop begins no run, and its instant is told as missed', async () => {
    const world = new World(fixedRate(500, 0));
    world.claimTakesMs = 50;
    const { stop } = world.term();
    await world.pass(20);
    const stopped = stop(1_000);
    await world.pass(50);
    await stopped;
    expect(world.told).toEqual(['50 missed 1 0 0 no-leader']);
    expect(world.clock.alarms).toBe(0);
  });

  it('is asked for again soon, though a clock that was wrong for a moment said to wait for an hour', async () => {
    const world = new World(fixedRate(100, 0));
    const { end } = world.term();
    await world.pass(90);
    world.setBack(3_600_000);
    await world.pass(20);
    world.setBack(0);
    await world.pass(6_000);
    end();
    expect(world.told.filter((each) => each.includes(' run '))[1]).toMatch(/^5\d{3} run 100$/);
  });

  it('that comes too early is repeated when it is time, by what the answer said of that', async () => {
    const world = new World(fixedRate(100, 0));
    const { end } = world.term();
    await world.pass(10);
    // The next primary is behind by 50 ms.
    world.setBack(50);
    await world.pass(250);
    end();
    expect(world.told.filter((each) => each.includes(' run '))).toEqual([
      '0 run 0',
      '150 run 100',
      '250 run 200',
    ]);
  });

  it('that nobody answers is repeated until somebody does', async () => {
    const world = new World(fixedRate(500, 0));
    world.answers.push('unknown', 'unknown', 'unknown');
    const { end } = world.term();
    await world.pass(15);
    expect(world.told).toEqual([]);
    await world.pass(100);
    end();
    expect(world.told.map((each) => each.split(' ')[1])).toEqual(['run', 'completed']);
    expect(world.stored.claims).toEqual([0]);
  });

  it('that nobody answers before the term is over is settled all the same, and its instant told as missed', async () => {
    const world = new World(fixedRate(500, 0));
    world.answers.push(...Array.from({ length: 9 }, (): ClaimAnswer => 'unknown'));
    const { job, end } = world.term();
    await world.pass(15);
    end();
    // The term waits for no store: others may lead already, or its own callback be due.
    expect(await job.done).toBe(true);
    expect(world.told).toEqual([]);
    await world.pass(3_000);
    expect(world.told.map((each) => each.slice(each.indexOf(' ')))).toEqual([' missed 1 0 0 no-leader']);
    expect(world.clock.alarms).toBe(0);
  });

  it('is not asked for any more when nobody answers and the job is stopped', async () => {
    const world = new World(fixedRate(500, 0));
    world.answers.push(...Array.from({ length: 100 }, (): ClaimAnswer => 'unknown'));
    const { stop } = world.term();
    await world.pass(100);
    const stopped = stop(2_000);
    await world.pass(600);
    await stopped;
    const left = world.answers.length;
    await world.pass(2_000);
    expect(world.answers).toHaveLength(left);
    expect(world.told).toEqual([]);
    expect(world.clock.alarms).toBe(0);
  });

  it('that is refused is told of as a failure, and tried again', async () => {
    const world = new World(fixedRate(5_000, 0));
    world.answers.push(new Error('full'));
    const { end } = world.term();
    await world.pass(1_100);
    end();
    expect(world.told).toEqual(['0 failed 0 full', '1000 run 0', '1000 completed 0']);
  });

  it('by whoever knows too little does nothing but a look at what is stored', async () => {
    const world = new World(fixedRate(100, 0));
    const { end } = world.term();
    await world.pass(10);
    // Somebody else, under the same name.
    world.stored.claimed = { lastMs: AHEAD_MS + 300, anchorMs: AHEAD_MS };
    await world.pass(500);
    end();
    expect(world.stored.claims).toEqual([0, 400, 500]);
  });
});

it('begins when what is stored can be read', async () => {
  const world = new World(fixedRate(100, 0));
  world.isReadable = false;
  const { end } = world.term();
  await world.pass(450);
  expect(world.told).toEqual([]);
  world.isReadable = true;
  await world.pass(160);
  end();
  expect(world.told[0]).toBe('600 run 600');
});

it('looks at nothing right before an instant, which would pass meanwhile', async () => {
  const world = new World(fixedRate(600_040, 0));
  world.stored.claimed = { lastMs: AHEAD_MS, anchorMs: AHEAD_MS };
  world.readTakesMs = 30;
  const { end } = world.term();
  await world.pass(50);
  world.clock.advance(599_945);
  await world.pass(100);
  end();
  expect(world.told.map((each) => each.slice(each.indexOf(' ')))).toEqual([
    ' run 600040',
    ' completed 600040',
  ]);
});

it('looks at the time of the server now and then while it waits for long', async () => {
  const world = new World(fixedRate(3_600_000, 3_600_000));
  const { job, end } = world.term();
  await settled();
  let looks = 0;
  const learn = world.time.learn.bind(world.time);
  world.time.learn = (...args) => {
    looks += 1;
    learn(...args);
  };
  for (let minutes = 0; minutes < 61; minutes += 1) {
    world.clock.advance(60_000);
    await settled();
    await settled();
  }
  expect(looks).toBeGreaterThanOrEqual(5);
  expect(world.stored.claims).toEqual([3_600_000]);
  end();
  await job.done;
});
