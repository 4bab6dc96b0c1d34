import { describe, expect, it } from 'vitest';

import { LockLostError } from '../../../src/errors.js';
import type { ClaimAnswer } from '../../../src/schedule/job-ledger.js';
import { fixedDelay, fixedRate } from '../../../src/schedule/schedule.js';
import { AHEAD_MS, World, taking } from './job-world.js';
import { settled } from '../../../lab/patience.js';

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

  it('continues where the last leader stopped, and reports the instants missed in between', async () => {
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

  it('runs once for all missed instants if it catches up', async () => {
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

  it('misses nothing before its first claim, however late the first leader is', async () => {
    const world = new World(fixedRate(100, 0), { catchesUp: true });
    await world.pass(500);
    const { end } = world.term();
    await world.pass(10);
    end();
    expect(world.told).toEqual(['500 run 500', '500 completed 500']);
  });

  it('reports an overrun once, and skips the instants that passed meanwhile', async () => {
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

  it('runs at once for the newest instant after an overrun if it catches up', async () => {
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

describe('a job whose claims take longer than its period', () => {
  it('still runs, and reports every instant that it misses', async () => {
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
  it('waits for its delay after the end of each run', async () => {
    const world: World = new World(fixedDelay(100, 20), { run: taking(() => world, 50) });
    const { end } = world.term();
    await world.pass(400);
    end();
    expect(world.stored.claims).toEqual([20, 170, 320]);
    expect(world.told.some((each) => each.includes('overrun'))).toBe(false);
  });

  it('continues from the last claim of another leader, at once if the delay has passed', async () => {
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

describe('a job at a fixed delay, when the clock of its server is set back during a run,', () => {
  it('pauses until the clock has caught up with the last claim, and then runs', async () => {
    const world: World = new World(fixedDelay(100, 0), { run: taking(() => world, 50) });
    const { end } = world.term();
    await world.pass(320);
    world.setBack(1_000);
    // A call of status() would learn this time. By this time, the run of 300 ends before it began.
    world.time.learn(AHEAD_MS + world.nowMs - 1_000, world.clock.nowMs());
    await world.pass(2_000);
    end();
    expect(world.stored.claims.slice(0, 6)).toEqual([0, 150, 300, 400, 550, 700]);
  });
});

describe('a run', () => {
  it('is reported if it fails, and the schedule goes on', async () => {
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

  it('has its signal aborted when the term ends, and the term waits for the run', async () => {
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

  it('has its signal aborted when the job is stopped, and gets the drain time to end', async () => {
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

  it('does not start if the hold was lost after the claim, and its instant is missed', async () => {
    const world = new World(fixedRate(100, 0));
    const { losesHold, end } = world.term();
    losesHold();
    await world.pass(10);
    end();
    expect(world.told).toEqual(['0 missed 1 0 0 no-leader']);
  });
});

it('instants that pass while the event loop is blocked and no run goes on are missed without an overrun', async () => {
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
  it('starts no run if it is granted after the stop, and its instant is reported as missed', async () => {
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

  it('is repeated soon even if a clock that was wrong for a moment said to wait for an hour', async () => {
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

  it('is repeated at the right time if it comes too early, because the answer tells the time', async () => {
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

  it('is repeated until it is answered', async () => {
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

  it('is settled even if it is unanswered when the term ends, and its instant is reported as missed', async () => {
    const world = new World(fixedRate(500, 0));
    world.lostAnswers = 9;
    const { job, end } = world.term();
    await world.pass(15);
    end();
    // The end of a term does not wait for the store: another candidate may lead already, or a callback may be due.
    expect(await job.done).toBe(true);
    expect(world.told).toEqual([]);
    await world.pass(3_000);
    expect(world.told.map((each) => each.slice(each.indexOf(' ')))).toEqual([' missed 1 0 0 no-leader']);
    expect(world.clock.alarms).toBe(0);
  });

  it('is repeated until the drain of a stop is over, and its instant is then reported as unknown', async () => {
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

  it('has its instant reported as missed before the stop is over if the answer comes during the stop', async () => {
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

  it('is reported as a failure if the store refuses it, and is tried again', async () => {
    const world = new World(fixedRate(5_000, 0));
    world.answers.push(new Error('full'));
    const { end } = world.term();
    await world.pass(1_100);
    end();
    expect(world.told).toEqual(['0 failed 0 full', '1000 run 0', '1000 completed 0']);
  });

  it('has no effect but a read of the stored claims if another process has claimed meanwhile', async () => {
    const world = new World(fixedRate(100, 0));
    const { end } = world.term();
    await world.pass(10);
    // Another process claims under the same name.
    world.stored.claimed = { lastMs: AHEAD_MS + 300, anchorMs: AHEAD_MS };
    await world.pass(500);
    end();
    expect(world.stored.claims).toEqual([0, 400, 500]);
  });
});

it('a job begins as soon as the stored claims can be read', async () => {
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

it('a job reads nothing right before an instant, because the instant would pass meanwhile', async () => {
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

it('a job reads the time of the server again and again during a long wait', async () => {
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
