import { describe, expect, it } from 'vitest';

import { LockLostError } from '../../../src/errors.js';
import type { ClaimAnswer } from '../../../src/schedule/job-ledger.js';
import { fixedDelay, fixedRate } from '../../../src/schedule/schedule.js';
import { AHEAD_MS, World, settled, taking } from './job-world.js';

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

describe('a job at a fixed delay, whose server is set back during a run', () => {
  it('pauses until the clock has caught up with the last claim, and runs then', async () => {
    const world: World = new World(fixedDelay(100, 0), { run: taking(() => world, 50) });
    const { end } = world.term();
    await world.pass(320);
    world.setBack(1_000);
    // As by a status that is asked for: so the run of 300 ends before its beginning.
    world.time.learn(AHEAD_MS + world.nowMs - 1_000, world.clock.nowMs());
    await world.pass(2_000);
    end();
    expect(world.stored.claims.slice(0, 6)).toEqual([0, 150, 300, 400, 550, 700]);
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

  it('is told by its signal when the job is stopped, and has its time to end', async () => {
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
    expect(aborted).toEqual([20]);
    expect(stoppedAtMs).toBe(220);
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
    world.lostAnswers = 9;
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

  it('that nobody answers is asked for until the drain of a stop is over, and told as unknown then', async () => {
    const world = new World(fixedRate(500, 0));
    world.answers.push(...Array.from({ length: 100 }, (): ClaimAnswer => 'unknown'));
    const { stop } = world.term();
    await world.pass(100);
    let stoppedAtMs = 0;
    let toldAtStop: readonly string[] = [];
    void stop(2_000).then(() => {
      stoppedAtMs = world.nowMs;
      toldAtStop = [...world.told];
    });
    await world.pass(1_900);
    expect(world.told).toEqual([]);
    await world.pass(300);
    expect(stoppedAtMs).toBe(2_100);
    expect(toldAtStop).toEqual(['2100 missed 1 0 0 unknown']);
    const left = world.answers.length;
    expect(left).toBeLessThan(98);
    await world.pass(2_000);
    expect(world.answers).toHaveLength(left);
    expect(world.told).toEqual(toldAtStop);
    expect(world.clock.alarms).toBe(0);
  });

  it('that is answered while the job is stopped is told as missed before the stop is over', async () => {
    const world = new World(fixedRate(500, 0));
    world.answers.push(...Array.from({ length: 4 }, (): ClaimAnswer => 'unknown'));
    const { stop } = world.term();
    await world.pass(15);
    let toldAtStop: readonly string[] | undefined;
    void stop(10_000).then(() => (toldAtStop = [...world.told]));
    await world.pass(3_000);
    expect(toldAtStop?.map((each) => each.slice(each.indexOf(' ')))).toEqual([' missed 1 0 0 no-leader']);
    expect(world.stored.claims).toEqual([0]);
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
