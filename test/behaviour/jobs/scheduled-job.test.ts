import { describe, expect, it, vi } from 'vitest';

import type { JobRun, LockProvider, ScheduledJob, ScheduledJobOptions } from '../../../src/index.js';
import { whenTestEnds } from '../../support/current-test.js';
import { eventually, later, pause, rejection, staysOpen, thrown, within } from '../../../lab/patience.js';
import { testProvider, twoProviders } from '../../support/test-provider.js';
import { untilWaiting } from '../../support/waiters.js';
import { itOnServers } from '../../support/on-servers.js';

/** A job that records its runs and its events. */
function noted(
  locks: LockProvider,
  name: string,
  options: Partial<ScheduledJobOptions> = {},
): { readonly job: ScheduledJob; readonly runs: JobRun[]; readonly told: string[] } {
  const runs: JobRun[] = [];
  const told: string[] = [];
  const { run, ...others } = { everyMs: 50, ...options } as ScheduledJobOptions & { everyMs: number };
  const job = locks.createScheduledJob(name, {
    ...others,
    run: (given) => {
      runs.push(given);
      return (run as ScheduledJobOptions['run'] | undefined)?.(given);
    },
  });
  for (const event of ['run', 'completed', 'failed', 'missed', 'overrun'] as const) {
    job.on(event, () => told.push(event));
  }
  return { job, runs, told };
}

/** A run that ends only when `finish` is called. */
function longRun(): { readonly run: (run: JobRun) => Promise<void>; readonly finish: () => void } {
  let finish!: () => void;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  return {
    run: () => finished,
    finish: () => {
      finish();
    },
  };
}

/**
 * Runs of several jobs that each take a while, with counts of all of them and of the most at a time.
 *
 * @param mayEnd - No run ends before that.
 */
function crowd(mayEnd?: Promise<void>): {
  readonly run: () => Promise<void>;
  readonly count: { all: number; most: number };
} {
  let going = 0;
  const count = { all: 0, most: 0 };
  return {
    run: async () => {
      count.all += 1;
      count.most = Math.max(count.most, (going += 1));
      await pause(200);
      await mayEnd;
      going -= 1;
    },
    count,
  };
}

const untilAborted = ({ signal }: JobRun): Promise<void> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => {
      resolve();
    });
  });

describe('a scheduled job', () => {
  it('runs on the leader, and on the next leader when the first one stops', async () => {
    const [one, other] = await twoProviders();
    const [a, b] = [noted(one.locks, 'job'), noted(other.locks, 'job')];
    expect(a.job.nextFireAt).toBeNull();
    await a.job.start();
    await b.job.start();
    await eventually('five runs', () => a.runs.length >= 5);
    expect(a.job.nextFireAt?.getTime()).toBeGreaterThan(a.runs.at(-1)?.firedAt.getTime() ?? 0);
    // A standby knows the schedule too. Its estimate of the server's time may lag by the way of an answer.
    expect(b.runs).toHaveLength(0);
    const lastMs = a.runs.at(-1)?.firedAt.getTime() ?? Infinity;
    await eventually('the standby’s next instant', () => (b.job.nextFireAt?.getTime() ?? 0) >= lastMs);
    await a.job.stop();
    const count = a.runs.length;
    await eventually('five runs of the other', () => b.runs.length >= 5);
    expect(a.runs).toHaveLength(count);
    expect(a.job.nextFireAt).toBeNull();
    const instants = [...a.runs, ...b.runs].map(({ firedAt }) => firedAt.getTime());
    expect(instants).toEqual([...new Set(instants)].sort((x, y) => x - y));
    const anchorMs = instants[0] ?? NaN;
    expect(instants.every((ms) => (ms - anchorMs) % 50 === 0)).toBe(true);
    expect(b.runs[0]?.term.fencingToken).toBeGreaterThan(a.runs[0]?.term.fencingToken ?? Infinity);
    await b.job.stop();
    expect(await one.locks.inspect('job')).toMatchObject({ kind: 'election', holders: [], waiters: [] });
  });

  it('can be started again, and continues where it stopped', async () => {
    const { locks } = await testProvider();
    const { job, runs } = noted(locks, 'job');
    for (let round = 0; round < 3; round += 1) {
      await Promise.all([job.start(), job.start()]);
      const before = runs.length;
      await eventually('two runs', () => runs.length >= before + 2);
      await Promise.all([job.stop(), job.stop()]);
    }
    const instants = runs.map(({ firedAt }) => firedAt.getTime());
    expect(instants).toEqual([...new Set(instants)].sort((x, y) => x - y));
  });

  it('aborts its run when it is stopped, and lets the run end before another process leads', async () => {
    const [one, other] = await twoProviders();
    const { run, finish } = longRun();
    const [a, b] = [noted(one.locks, 'job', { run }), noted(other.locks, 'job')];
    await a.job.start();
    await b.job.start();
    const { signal, term } = await eventually('a run', () => a.runs[0]);
    const stopped = later(a.job.stop({ drainMs: 60_000 }));
    expect(signal.reason).toMatchObject({ name: 'AbortError' });
    expect(await staysOpen(stopped, 300)).toBe(true);
    expect([term.isHeld, b.runs.length]).toEqual([true, 0]);
    finish();
    await within(20_000, 'the stop', stopped);
    expect(a.told.at(-1)).toBe('completed');
    await eventually('a run of the other', () => b.runs[0]);
    expect(a.runs).toHaveLength(1);
  });

  it('frees its seat when a run ends that outlasted drainMs', async () => {
    const { locks } = await testProvider({ leaseMs: 600_000 });
    const { run, finish } = longRun();
    const { job, runs } = noted(locks, 'job', { run });
    await job.start();
    await eventually('a run', () => runs[0]);
    await job.stop({ drainMs: 50 });
    expect((await locks.inspect('job'))?.holders).toHaveLength(1);
    finish();
    await eventually('a free seat', async () => (await locks.inspect('job'))?.holders.length === 0);
  });

  it('frees its seat at once when its run ends in time', async () => {
    const { locks } = await testProvider();
    const { job, runs } = noted(locks, 'job', { run: untilAborted });
    await job.start();
    await eventually('a run', () => runs[0]);
    await job.stop({ drainMs: 100 });
    expect((await locks.inspect('job'))?.holders).toEqual([]);
  });

  it('goes on after a run that fails', async () => {
    const { locks } = await testProvider();
    const { job, told } = noted(locks, 'job', { run: () => Promise.reject(new Error('no')) });
    const errors: unknown[] = [];
    job.on('failed', ({ error }) => errors.push((error as Error).message));
    await job.start();
    await eventually('two failures', () => errors.length >= 2);
    await job.stop();
    expect(errors.slice(0, 2)).toEqual(['no', 'no']);
    expect(told.slice(0, 4).filter((event) => event !== 'missed')).toEqual(
      expect.arrayContaining(['run', 'failed']),
    );
  });

  it('never runs twice at a time when a run takes too long, and reports what it misses', async () => {
    const { locks } = await testProvider();
    let going = 0;
    let most = 0;
    const { job, runs } = noted(locks, 'job', {
      run: async () => {
        most = Math.max(most, (going += 1));
        await pause(120);
        going -= 1;
      },
    });
    const overrun: number[] = [];
    const causes: string[] = [];
    let missed = 0;
    job.on('overrun', ({ firedAt, nextAt }) => overrun.push(nextAt.getTime() - firedAt.getTime()));
    job.on('missed', ({ count, why }) => {
      causes.push(why);
      missed += count;
    });
    await job.start();
    await eventually('three runs', () => runs.length >= 3);
    await job.stop();
    expect(most).toBe(1);
    expect(causes).toContain('overrun');
    // The next instant, or a later one where the start of the run itself was late.
    expect(overrun).toHaveLength(runs.length);
    for (const behindMs of overrun) expect([behindMs % 50, behindMs > 0]).toEqual([0, true]);
    const [first, last] = [runs[0], runs.at(-1)].map((each) => each?.firedAt.getTime() ?? NaN);
    expect(missed + runs.length).toBeGreaterThanOrEqual(((last ?? NaN) - (first ?? NaN)) / 50 + 1);
  });

  it('aborts its run when the term is lost, and runs again in the next term', async () => {
    const { locks } = await testProvider();
    const { job, runs } = noted(locks, 'job', { run: untilAborted });
    await job.start();
    const { signal, term } = await eventually('a run', () => runs[0]);
    await locks.revoke('job', { force: true });
    await eventually('its end', () => signal.aborted);
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', why: 'revoked' });
    const next = await eventually('a run in the next term', () => runs[1]);
    expect(next.term.fencingToken).toBeGreaterThan(term.fencingToken);
  });

  itOnServers('never fires early even if the clock of its leader is an hour ahead, or behind', async () => {
    const nowMs = Date.now.bind(Date);
    for (const wrongByMs of [3_600_000, -3_600_000]) {
      const spy = vi.spyOn(Date, 'now').mockImplementation(() => nowMs() + wrongByMs);
      whenTestEnds(() => {
        spy.mockRestore();
      });
      const { locks } = await testProvider();
      const late: number[] = [];
      const run = ({ firedAt }: JobRun): void => {
        late.push(nowMs() - firedAt.getTime());
      };
      const cron = locks.createScheduledJob('cron', { cron: '* * * * * *', run });
      const rate = locks.createScheduledJob('rate', { everyMs: 300, initialDelayMs: 500, run });
      await Promise.all([cron.start(), rate.start()]);
      await eventually('eight runs', () => late.length >= 8);
      await Promise.all([cron.stop(), rate.stop()]);
      expect(Math.min(...late)).toBeGreaterThanOrEqual(0);
      // No run is late by the hour that the clock is wrong.
      expect(Math.max(...late)).toBeLessThan(60_000);
    }
  });

  it('ends when its provider closes, which waits for the run', async () => {
    const [one, other] = await twoProviders();
    const { run, finish } = longRun();
    const [a, b] = [noted(one.locks, 'job', { run }), noted(other.locks, 'job')];
    await a.job.start();
    await b.job.start();
    await eventually('a run', () => a.runs[0]);
    const closed = later(one.locks.close());
    expect(a.runs[0]?.signal.aborted).toBe(true);
    expect(await staysOpen(closed, 300)).toBe(true);
    finish();
    await within(5_000, 'the close', closed);
    await eventually('a run of the other', () => b.runs[0]);
    expect(a.runs).toHaveLength(1);
    expect(await rejection(a.job.start())).toMatchObject({ code: 'PROVIDER_CLOSED' });
    await a.job.stop();
  });

  it('cannot start while another kind of lock uses its name, and can start later', async () => {
    const { locks } = await testProvider();
    const hold = await locks.acquireMutex('job');
    const { job, runs } = noted(locks, 'job');
    expect(await rejection(job.start())).toMatchObject({ code: 'LOCK_KIND_MISMATCH' });
    await hold.release();
    await eventually('its start', () =>
      job.start().then(
        () => true,
        () => false,
      ),
    );
    await eventually('a run', () => runs[0]);
  });

  it('reports a corrupt document as a failure, and leaves it untouched', async () => {
    const one = await testProvider();
    const { job, runs } = noted(one.locks, 'job');
    const errors: unknown[] = [];
    job.on('failed', ({ error }) => errors.push(error));
    await job.start();
    await eventually('a run', () => runs[0]);
    await one.tamper('job', { $set: { claims: 'none' } });
    expect(await eventually('a failure', () => errors[0])).toMatchObject({ code: 'CORRUPT_LOCK_DOCUMENT' });
    expect(await one.document('job')).toMatchObject({ claims: 'none' });
    await job.stop({ drainMs: 0 });
  });

  it('keeps its claims over releases, hand-overs, and use of the lock by other kinds', async () => {
    const [one, other] = await twoProviders();
    const a = one.locks.createLeaderElection('e', { candidateId: 'a' });
    const b = other.locks.createLeaderElection('e', { candidateId: 'b' });
    const { job, runs } = noted(one.locks, 'job', { everyMs: 3_600_000, election: a });
    await job.start();
    await eventually('the end of a run', async () => (await job.status()).lastOutcome);
    const stored = async (): Promise<unknown> => (await one.document('e'))?.['claims'];
    const claims = await stored();
    expect(claims).toEqual([
      {
        ...{ job: 'job', claimId: expect.any(String) as string },
        ...{ instant: runs[0]?.firedAt, anchor: runs[0]?.firedAt },
        run: expect.objectContaining({ instant: runs[0]?.firedAt, outcome: 'completed' }) as object,
      },
    ]);
    await b.start();
    await (await a.untilElected()).confirm();
    expect(await a.handOverTo('b')).toBe(true);
    await within(5_000, 'b', b.untilElected());
    await Promise.all([job.stop(), a.stop()]);
    await b.stop();
    expect(await stored()).toEqual(claims);
    const semaphore = one.locks.createSemaphore('e', 2);
    await (await semaphore.acquire()).release();
    await (await one.locks.acquireMutex('e')).release();
    expect(await stored()).toEqual(claims);
    await job.start();
    await within(5_000, 'a', a.untilElected());
    await eventually('its next instant', () => job.nextFireAt);
    expect(job.nextFireAt?.getTime()).toBe((runs[0]?.firedAt.getTime() ?? NaN) + 3_600_000);
    expect(runs).toHaveLength(1);
  });
});

describe('jobs that share an election', () => {
  it('run in the same terms, and a job that stops leaves the election to the others', async () => {
    const one = await testProvider();
    const { locks } = one;
    const election = locks.createLeaderElection('e');
    const a = noted(locks, 'a', { election });
    const b = noted(locks, 'b', { election, everyMs: 70 });
    await a.job.start();
    expect(election.state).not.toBe('stopped');
    await eventually('a run of a', () => a.runs[0]);
    // In the middle of a term.
    await b.job.start();
    await eventually('runs of both', () => a.runs.length >= 3 && b.runs.length >= 3);
    expect(a.runs[0]?.term).toBe(b.runs[0]?.term);
    await a.job.stop();
    expect(election.isLeader).toBe(true);
    const [countA, countB] = [a.runs.length, b.runs.length];
    await eventually('more runs of b', () => b.runs.length >= countB + 3);
    expect(a.runs).toHaveLength(countA);
    expect(await one.document('e')).toMatchObject({ claims: [{ job: 'a' }, { job: 'b' }] });
    await election.stop();
    expect(b.job.nextFireAt).toBeNull();
    await election.start();
    const again = b.runs.length;
    await eventually('runs in the next term', () => b.runs.length > again);
    await b.job.stop();
    await election.stop();
  });

  it('keep a term from ending before their runs have ended', async () => {
    const [one, other] = await twoProviders();
    const told: string[] = [];
    const a = one.locks.createLeaderElection('e', {
      candidateId: 'a',
      onDeposed: () => {
        told.push('deposed');
      },
    });
    const b = other.locks.createLeaderElection('e', { candidateId: 'b' });
    const { job, runs } = noted(one.locks, 'job', {
      election: a,
      run: async (run) => {
        await untilAborted(run);
        await pause(200);
        told.push(`run ends, held: ${String(run.term.isHeld)}`);
      },
    });
    await job.start();
    await b.start();
    await eventually('a run', () => runs[0]);
    expect(await a.handOverTo('b')).toBe(true);
    expect(told).toEqual(['run ends, held: true', 'deposed']);
    await within(5_000, 'b', b.untilElected());
    // Otherwise b could be elected again.
    await untilWaiting(one.locks, 'e');
    await b.resign();
    await eventually('a run in another term', () => runs[1]);
    await job.stop({ drainMs: 0 });
  });

  it('run once at a time even if onElected starts them', async () => {
    const { locks } = await testProvider();
    const { run, count } = crowd();
    const election = locks.createLeaderElection('e', { onElected: () => job.start() });
    const { job } = noted(locks, 'job', { election, run });
    await election.start();
    await eventually('three runs', () => count.all >= 3);
    await job.stop();
    expect(count.most).toBe(1);
    await election.stop();
  });

  it('run once at a time under one name, however often they are stopped and created during a run', async () => {
    const { locks } = await testProvider();
    let goOn!: () => void;
    const { run, count } = crowd(new Promise((resolve) => (goOn = resolve)));
    whenTestEnds(() => {
      goOn();
    });
    const election = locks.createLeaderElection('e');
    const { job, runs } = noted(locks, 'job', { election, run });
    await job.start();
    await eventually('a run', () => runs[0]);
    for (let round = 0; round < 2; round += 1) {
      await job.stop({ drainMs: 0 });
      await job.start();
    }
    await job.stop({ drainMs: 0 });
    expect(count.all).toBe(1);
    goOn();
    const next = noted(locks, 'job', { election, run });
    await next.job.start();
    await eventually('three runs of the next', () => next.runs.length >= 3);
    await next.job.stop();
    expect([count.most, runs.length]).toEqual([1, 1]);
    await election.stop();
  });

  it('do not run if they are started while the provider closes', async () => {
    const { locks } = await testProvider();
    const election = locks.createLeaderElection('e');
    const { run, finish } = longRun();
    const [a, b] = [noted(locks, 'a', { election, run }), noted(locks, 'b', { election })];
    await a.job.start();
    await eventually('a run', () => a.runs[0]);
    const closed = later(locks.close());
    expect(await rejection(b.job.start())).toMatchObject({ code: 'PROVIDER_CLOSED' });
    expect(await staysOpen(closed, 300)).toBe(true);
    expect(b.runs).toEqual([]);
    finish();
    await within(5_000, 'the close', closed);
  });

  it('cause no warning if they are many, and claim together in few updates', async () => {
    const one = await testProvider();
    const warnings: Error[] = [];
    const onWarning = (warning: Error): unknown => warnings.push(warning);
    process.on('warning', onWarning);
    whenTestEnds(() => {
      process.off('warning', onWarning);
    });
    const election = one.locks.createLeaderElection('e');
    const all = Array.from({ length: 30 }, (_, index) =>
      noted(one.locks, `job ${index}`, { election, everyMs: 60_000, run: () => pause(50) }),
    );
    await election.start();
    await election.untilElected();
    const before = one.commands.length;
    await Promise.all(all.map(({ job }) => job.start()));
    await eventually('a run of each', () => all.every(({ told }) => told.includes('completed')));
    const updates = one.commands.slice(before).filter(({ commandName }) => commandName === 'findAndModify');
    expect(updates.length).toBeLessThan(15);
    await Promise.all(all.map(({ job }) => job.stop()));
    await election.stop();
    expect(warnings).toEqual([]);
  });

  it('cannot have the same name at the same time', async () => {
    const { locks } = await testProvider();
    const election = locks.createLeaderElection('e');
    const [a, b] = [noted(locks, 'same', { election }), noted(locks, 'same', { election })];
    await a.job.start();
    expect(await rejection(b.job.start())).toBeInstanceOf(TypeError);
    await a.job.stop();
    await b.job.start();
    await eventually('a run', () => b.runs[0]);
  });

  it('stay stopped by a stop after their start, although a later start is refused', async () => {
    const { locks } = await testProvider();
    const election = locks.createLeaderElection('e');
    const { run, finish } = longRun();
    const [a, b] = [noted(locks, 'same', { election, run }), noted(locks, 'same', { election })];
    await a.job.start();
    await eventually('a run', () => a.runs[0]);
    const stopped = later(a.job.stop({ drainMs: 60_000 }));
    // This start waits for the end of the run.
    const started = later(a.job.start());
    await a.job.stop({ drainMs: 0 });
    await b.job.start();
    expect(await rejection(a.job.start())).toBeInstanceOf(TypeError);
    await b.job.stop({ drainMs: 0 });
    finish();
    await within(5_000, 'the first stop, and the start', Promise.all([stopped, started]));
    // The name is free.
    await b.job.start();
    await eventually('a run of the other job', () => b.runs[0]);
    expect(a.runs.length).toBe(1);
  });
});

describe('the options of a scheduled job', () => {
  const run = (): void => undefined;
  const WRONG: readonly (readonly [options: unknown, error: string])[] = [
    [undefined, 'TypeError: run must be a function, got undefined'],
    [null, 'TypeError: options must be an object, got null'],
    [{ everyMs: 100 }, 'TypeError: run must be a function, got undefined'],
    [{ run }, 'TypeError: options must have either cron or everyMs'],
    [{ run, everyMs: 100, cron: '* * * * *' }, 'TypeError: options must have either cron or everyMs'],
    [{ run, everyMs: '100' }, 'TypeError: everyMs must be a number, got "100"'],
    [{ run, everyMs: 9 }, 'RangeError: everyMs must be between 10 and 315360000000, got 9'],
    [{ run, everyMs: 10.5 }, 'RangeError: everyMs must be an integer, got 10.5'],
    [
      { run, everyMs: 100, pace: 'slow' },
      'RangeError: pace must be one of fixed-rate, fixed-delay, got "slow"',
    ],
    [{ run, everyMs: 100, initialDelayMs: -1 }, 'RangeError: initialDelayMs must be between 0 and'],
    [{ run, everyMs: 100, timeZone: 'UTC' }, 'TypeError: timeZone is an option of cron'],
    [{ run, cron: '* * * * *', pace: 'fixed-rate' }, 'TypeError: pace is an option of everyMs'],
    [{ run, cron: '* * * * *', initialDelayMs: 1 }, 'TypeError: initialDelayMs is an option of everyMs'],
    [{ run, cron: 'never' }, 'RangeError: cron must be an expression of five to seven fields'],
    [{ run, cron: 7 }, 'TypeError: cron must be a string, got 7'],
    [{ run, cron: '* * * * *', timeZone: 'Mars' }, 'RangeError: timeZone must be the name of a time zone'],
    [{ run, everyMs: 100, missed: 'all' }, 'RangeError: missed must be one of skip, run-once, got "all"'],
    [{ run, everyMs: 100, election: {} }, 'TypeError: election must be an election of this provider'],
  ];

  it.each(WRONG)('are refused when the job is created: %o', async (options, error) => {
    const { locks } = await testProvider();
    const making = (): unknown => locks.createScheduledJob('job', options as ScheduledJobOptions);
    expect(String(thrown(making))).toContain(error);
  });

  it('must name an election of the same provider, and a valid lock name', async () => {
    const [one, other] = await twoProviders();
    const election = other.locks.createLeaderElection('e');
    const making = (): unknown => one.locks.createScheduledJob('job', { run, everyMs: 100, election });
    expect(thrown(making)).toBeInstanceOf(TypeError);
    expect(thrown(() => one.locks.createScheduledJob('', { run, everyMs: 100 }))).toBeInstanceOf(RangeError);
  });
});
