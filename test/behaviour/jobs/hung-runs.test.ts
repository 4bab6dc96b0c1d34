import { describe, expect, it } from 'vitest';

import type { JobRun } from '../../../src/index.js';
import type { RunScope } from '../../../src/observer.js';
import { fixedDelay, fixedRate } from '../../../src/schedule/schedule.js';
import { World, taking } from './job-world.js';

/** A run that ends only when `letGo` is called. */
function hanging(): { readonly run: (run: JobRun) => Promise<void>; readonly letGo: () => void } {
  let letGo!: () => void;
  const ended = new Promise<void>((resolve) => (letGo = resolve));
  return {
    run: () => ended,
    letGo: () => {
      letGo();
    },
  };
}

const missedIn = (told: readonly string[]): readonly string[] =>
  told.filter((each) => each.includes(' missed '));

describe('a run that hangs', () => {
  it('causes missed events again and again, which name each missed instant once, and the schedule goes on after it', async () => {
    const { run, letGo } = hanging();
    const world = new World(fixedRate(1_000, 0), { run });
    const { end } = world.term();
    await world.pass(36_500);
    expect(world.told).toEqual([
      '0 run 0',
      '1000 overrun 0 1000',
      '6000 missed 6 1000 6000 overrun',
      '16000 missed 10 7000 16000 overrun',
      '36000 missed 20 17000 36000 overrun',
    ]);
    letGo();
    await world.pass(1_000);
    expect(world.told.slice(5)).toEqual(['36500 completed 0', '37000 run 37000', '37000 completed 37000']);
    end();
    expect(world.clock.alarms).toBe(0);
  });

  it('goes on causing missed events after the store has refused a claim', async () => {
    const { run } = hanging();
    const world = new World(fixedRate(1_000, 0), { run });
    const { end } = world.term();
    await world.pass(5_500);
    world.answers.push(new Error('not now'));
    await world.pass(31_000);
    expect(world.told.slice(2)).toEqual(['6000 failed 6000 not now', '17000 missed 17 1000 17000 overrun']);
    end();
  });

  it('leaves the newest missed instant to the run that follows, if the job catches up', async () => {
    const { run, letGo } = hanging();
    const world = new World(fixedRate(1_000, 0), { run, catchesUp: true });
    const { end } = world.term();
    await world.pass(6_500);
    expect(missedIn(world.told)).toEqual(['6000 missed 5 1000 5000 overrun']);
    letGo();
    await world.pass(10);
    expect(world.told.slice(3)).toEqual([
      '6500 completed 0',
      '6500 missed 1 6000 6000 overrun',
      '6500 run 6000',
      '6500 completed 6000',
    ]);
    end();
  });

  it('has no missed instant reported twice if its leader is lost', async () => {
    const { run } = hanging();
    const world = new World(fixedRate(1_000, 0), { run });
    const first = world.term();
    await world.pass(6_500);
    first.end();
    const second = world.term();
    await world.pass(1_000);
    second.end();
    expect(missedIn(world.told)).toEqual(['6000 missed 6 1000 6000 overrun']);
    expect(world.told.at(-1)).toBe('7000 run 7000');
  });
});

describe('maxRunMs', () => {
  it('aborts the signal of a longer run with a TimeoutError, and the leader stays if the run ends then', async () => {
    const reasons: unknown[] = [];
    const world: World = new World(fixedRate(10_000, 0), {
      maxRunMs: 300,
      run: async ({ signal }) => {
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve);
        });
        reasons.push(signal.reason);
        throw new Error(`ended at ${world.nowMs}`);
      },
    });
    const { end } = world.term();
    await world.pass(9_000);
    expect(world.told).toEqual(['0 run 0', '300 failed 0 ended at 300']);
    expect(reasons).toEqual([expect.objectContaining({ name: 'TimeoutError' })]);
    expect(String(reasons[0])).toContain('maxRunMs = 300');
    expect([world.resigned, world.concluded]).toEqual([0, ['failed 0']]);
    end();
    expect(world.clock.alarms).toBe(0);
  });

  it('makes the leader resign with a failed event if the run has not ended 5 s after that', async () => {
    const { run, letGo } = hanging();
    const world = new World(fixedDelay(1_000, 0), { run, maxRunMs: 300 });
    const { end, job } = world.term();
    await world.pass(5_290);
    expect([world.told, world.resigned]).toEqual([['0 run 0'], 0]);
    await world.pass(10);
    expect([world.told.length, world.resigned]).toEqual([2, 1]);
    expect(world.told[1]).toMatch(/^5300 failed 0 .*maxRunMs = 300.*resigns/);
    expect(world.concluded).toEqual(['failed 0']);
    end();
    let isDone = false;
    void job.done.then(() => (isDone = true));
    await world.pass(500);
    expect(isDone).toBe(false);
    letGo();
    await world.pass(10);
    expect(isDone).toBe(true);
    expect(world.clock.alarms).toBe(0);
  });

  it.each([
    ['completes', undefined],
    ['throws', new Error('ended too late')],
  ])('is reported as failed once, also if the run %s after that', async (_, lateError) => {
    const { run: hang, letGo } = hanging();
    const run = async (given: JobRun): Promise<void> => {
      await hang(given);
      if (lateError !== undefined) throw lateError;
    };
    const ends: unknown[] = [];
    const observation = {
      isOn: true,
      runStarted: (): RunScope => ({
        within: (work) => work(),
        ended: (error) => ends.push(error?.thrown),
      }),
    };
    const world = new World(fixedDelay(1_000, 0), { run, maxRunMs: 300, observation });
    const { end, job } = world.term();
    await world.pass(5_300);
    end();
    letGo();
    await job.done;
    expect(world.told.map((line) => line.split(' ')[1])).toEqual(['run', 'failed']);
    expect(world.concluded).toEqual(['failed 0']);
    expect(ends.map(String)).toEqual([expect.stringContaining('maxRunMs = 300')]);
  });

  it('has no effect on a run that ends in time', async () => {
    const world: World = new World(fixedRate(1_000, 0), { run: taking(() => world, 200), maxRunMs: 300 });
    const { end } = world.term();
    await world.pass(1_500);
    end();
    expect(world.told).toEqual(['0 run 0', '200 completed 0', '1000 run 1000', '1200 completed 1000']);
    expect([world.resigned, world.clock.alarms]).toEqual([0, 0]);
  });
});

describe('a run that runNow() asked for', () => {
  const call = (world: World, job: { called(): void }): void => {
    world.calls.asked += 1;
    job.called();
  };

  it('starts at once, and the schedule stays as it was', async () => {
    const world = new World(fixedRate(1_000, 0));
    const { job, end } = world.term();
    await world.pass(400);
    call(world, job);
    await world.pass(700);
    end();
    expect(world.told.filter((each) => each.includes(' run '))).toEqual([
      '0 run 0',
      '400 run 400',
      '1000 run 1000',
    ]);
    expect(world.calls).toEqual({ asked: 1, claimed: 1 });
  });

  it('does not start the schedule before its first instant', async () => {
    const world = new World(fixedRate(1_000, 500));
    const { job, end } = world.term();
    await world.pass(100);
    call(world, job);
    await world.pass(1_500);
    end();
    expect(world.stored.claims).toEqual([100, 500, 1_500]);
  });

  it('waits for the current run, and serves as the catch-up run for the instants missed meanwhile', async () => {
    const world: World = new World(fixedRate(100, 0), { run: taking(() => world, 250), catchesUp: true });
    const { job, end } = world.term();
    await world.pass(50);
    call(world, job);
    await world.pass(210);
    end();
    expect(world.told).toEqual([
      '0 run 0',
      '100 overrun 0 100',
      '250 completed 0',
      '250 missed 2 100 200 overrun',
      '250 run 250',
    ]);
  });

  it('is started by the next leader if its leader is lost', async () => {
    const world = new World(fixedRate(1_000, 0));
    const first = world.term();
    await world.pass(100);
    first.end();
    world.calls.asked += 1;
    await world.pass(100);
    const second = world.term();
    await world.pass(10);
    second.end();
    expect(world.told.filter((each) => each.includes(' run '))).toEqual(['0 run 0', '200 run 200']);
  });

  it('starts only once even if answers to its claim are lost', async () => {
    const world = new World(fixedRate(10_000, 0));
    const { job, end } = world.term();
    await world.pass(100);
    world.lostAnswers = 3;
    call(world, job);
    await world.pass(1_000);
    end();
    expect(world.stored.claims).toEqual([0, 100]);
    expect(world.told.filter((each) => each.includes(' run '))).toHaveLength(2);
  });
});
