import { describe, expect, it } from 'vitest';

import { JobNotStartedError } from '../../../src/index.js';
import type { JobRun, LockProvider, LockProviderOptions, ScheduledJob } from '../../../src/index.js';
import { eventually, later, rejection, within } from '../../../lab/patience.js';
import { testProvider, twoProviders } from '../../support/test-provider.js';

const HOUR_MS = 3_600_000;

/** A job whose first instant is an hour away, and its runs. */
function hourly(
  locks: LockProvider,
  run: (run: JobRun) => unknown = () => undefined,
  name = 'job',
): { readonly job: ScheduledJob; readonly runs: JobRun[] } {
  const runs: JobRun[] = [];
  const job = locks.createScheduledJob(name, {
    everyMs: HOUR_MS,
    initialDelayMs: HOUR_MS,
    run: (given) => {
      runs.push(given);
      return run(given);
    },
  });
  return { job, runs };
}

async function untilLed(job: ScheduledJob): Promise<void> {
  await eventually('a leader', async () => (await job.election.leader()) !== null);
}

/** A call is heard of with an extension, so those come often. */
const OFTEN = { leaseMs: 30_000, extendEveryMs: 300 };

const MODES: readonly LockProviderOptions[] = [
  { ...OFTEN, wakeups: 'polling' },
  { ...OFTEN, wakeups: 'change-stream' },
];

describe('runNow', () => {
  it('starts a run if the leader itself asks, and leaves the schedule as it is', async () => {
    const { locks } = await testProvider();
    const { job, runs } = hourly(locks);
    await job.start();
    await untilLed(job);
    const first = job.nextFireAt?.getTime() ?? NaN;
    await job.runNow();
    await eventually('the run', () => runs[0]);
    await eventually('its end', async () => (await job.status()).lastOutcome === 'completed');
    expect(runs).toHaveLength(1);
    expect(runs[0]?.firedAt.getTime()).toBeLessThan(first);
    expect(job.nextFireAt?.getTime()).toBe(first);
  });

  it.each(MODES)('starts a run on a leader in another process, with $wakeups', async (options) => {
    const [one, other] = await twoProviders(options);
    const [a, b] = [hourly(one.locks), hourly(other.locks)];
    await a.job.start();
    await untilLed(a.job);
    await b.job.start();
    await b.job.runNow();
    await eventually('the run', () => a.runs[0]);
    expect([a.runs.length, b.runs.length]).toEqual([1, 0]);
  });

  it('can be called by a process that has not started the job', async () => {
    const [one, other] = await twoProviders(OFTEN);
    const [a, b] = [hourly(one.locks), hourly(other.locks)];
    await a.job.start();
    await untilLed(a.job);
    await b.job.runNow();
    await eventually('the run', () => a.runs[0]);
    await b.job.runNow();
    await eventually('the next run', () => a.runs[1]);
    expect(a.runs).toHaveLength(2);
  });

  it('starts one run for all calls that are made during a run', async () => {
    const [one, other] = await twoProviders(OFTEN);
    let finish!: () => void;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const [a, b] = [hourly(one.locks, () => finished), hourly(other.locks)];
    await a.job.start();
    await untilLed(a.job);
    await a.job.runNow();
    await eventually('the run', () => a.runs[0]);
    const asked = [a.job.runNow(), b.job.runNow(), b.job.runNow(), a.job.runNow()].map(later);
    await eventually('the call', async () => {
      const calls = (await one.document('job'))?.['calls'] as readonly { asked: number }[] | undefined;
      return calls?.[0]?.asked === 2;
    });
    expect(a.runs).toHaveLength(1);
    finish();
    await within(10_000, 'all of them', Promise.all(asked));
    await eventually('the second run', () => a.runs[1]);
    await a.job.stop();
    expect(a.runs).toHaveLength(2);
  });

  it('is carried out by the next leader if the first one loses its lease', async () => {
    const [one, other] = await twoProviders(OFTEN);
    const a = hourly(one.locks, () => new Promise(() => undefined));
    const b = hourly(other.locks);
    await a.job.start();
    await untilLed(a.job);
    await b.job.start();
    await a.job.runNow();
    await eventually('the run that hangs', () => a.runs[0]);
    const asked = later(b.job.runNow());
    await eventually('the call', async () => {
      const calls = (await one.document('job'))?.['calls'] as readonly { asked: number }[] | undefined;
      return calls?.[0]?.asked === 2;
    });
    await one.locks.revoke('job', { force: true });
    await within(10_000, 'the run', asked);
    await eventually('the run', () => b.runs[0]);
    expect([a.runs.length, b.runs.length]).toEqual([1, 1]);
  });

  it('runs each of several jobs that share an election', async () => {
    const [one, other] = await twoProviders(OFTEN);
    const names = Array.from({ length: 8 }, (_, index) => `job ${index}`);
    const jobsOf = (locks: LockProvider): readonly ScheduledJob[] => {
      const election = locks.createLeaderElection('shared');
      return names.map((name) =>
        locks.createScheduledJob(name, {
          ...{ election, everyMs: HOUR_MS, initialDelayMs: HOUR_MS },
          run: () => ran.push(name),
        }),
      );
    };
    const ran: string[] = [];
    const jobs = jobsOf(one.locks);
    await Promise.all(jobs.map((job) => job.start()));
    await eventually('a leader', () => jobs[0]?.election.isLeader);
    await Promise.all(jobsOf(other.locks).map((job) => job.runNow()));
    await eventually('all runs', () => ran.length >= names.length);
    expect([...ran].sort()).toEqual(names);
  });

  it('rejects if there is no leader in time, and starts no run later', async () => {
    const { locks } = await testProvider({ leaseMs: 3_000, storeTimeoutMs: 5_000 });
    const { job, runs } = hourly(locks);
    // A busy machine can lose such a short lease between the claim and the run.
    const missed: unknown[] = [];
    job.on('missed', (event) => missed.push(event));
    const error = await rejection(job.runNow());
    expect(error).toBeInstanceOf(JobNotStartedError);
    expect(error).toMatchObject({ code: 'JOB_NOT_STARTED', lockName: 'job', jobName: 'job', leader: null });
    expect(String(error)).toMatch(/Job "job" was not started within \d+\.\d s: its election has no leader/);
    // The same if the election has a document, which stores the call.
    await job.start();
    await untilLed(job);
    await job.stop();
    expect(await rejection(job.runNow())).toMatchObject({ code: 'JOB_NOT_STARTED', runningSince: null });
    await job.start();
    await untilLed(job);
    await job.runNow();
    await eventually('the run or the missed event of a later call', () => runs.length + missed.length > 0);
    expect(runs.length + missed.length).toBe(1);
  });

  it('rejects with the leader and the start of the current run if that takes too long', async () => {
    const { locks } = await testProvider({ leaseMs: 5_000, extendEveryMs: 500, storeTimeoutMs: 5_000 });
    let finish!: () => void;
    const { job, runs } = hourly(locks, () => new Promise<void>((resolve) => (finish = resolve)));
    await job.start();
    await untilLed(job);
    await job.runNow();
    const { firedAt } = await eventually('the run', () => runs[0]);
    const error = (await rejection(job.runNow())) as JobNotStartedError;
    expect(error).toMatchObject({ code: 'JOB_NOT_STARTED', leader: locks.processId });
    expect(error.runningSince?.getTime()).toBeGreaterThanOrEqual(firedAt.getTime());
    finish();
    await job.stop();
    expect(runs).toHaveLength(1);
  });

  it('rejects when its provider closes', async () => {
    const { locks } = await testProvider();
    const { job } = hourly(locks);
    const asked = later(job.runNow());
    await locks.close();
    expect(await rejection(within(5_000, 'the rejection', asked))).toMatchObject({ code: 'PROVIDER_CLOSED' });
    expect(await rejection(job.runNow())).toMatchObject({ code: 'PROVIDER_CLOSED' });
  });
});
