import { describe, expect, it } from 'vitest';

import type { JobRun, LockProvider, ScheduledJob, ScheduledJobOptions } from '../../../src/index.js';
import { eventually, rejection, thrown } from '../../../lab/patience.js';
import { testProvider, twoProviders } from '../../support/test-provider.js';

const HOUR_MS = 3_600_000;

const NEVER = {
  ...{ nextFireAt: null, lastClaim: null, lastOutcome: null, lastDurationMs: null },
  ...{ runningSince: null, runningBy: null },
};

function made(
  locks: LockProvider,
  options: Partial<ScheduledJobOptions> = {},
): { readonly job: ScheduledJob; readonly runs: JobRun[] } {
  const runs: JobRun[] = [];
  const { run = () => undefined, ...rest } = options;
  const given = { everyMs: HOUR_MS, ...rest } as ScheduledJobOptions;
  const job = locks.createScheduledJob('job', {
    ...given,
    run: (each: JobRun) => {
      runs.push(each);
      return run(each);
    },
  });
  return { job, runs };
}

describe('the status of a job', () => {
  it('is empty before the first start, except for the next instant of a cron expression', async () => {
    const { locks } = await testProvider();
    expect(await made(locks).job.status()).toEqual(NEVER);
    const cron = locks.createScheduledJob('cron', { cron: '0 0 1 1 *', run: () => undefined });
    const { nextFireAt, ...rest } = await cron.status();
    expect(nextFireAt?.toISOString()).toMatch(/^\d{4}-01-01T00:00:00.000Z$/);
    expect({ ...rest, nextFireAt: null }).toEqual(NEVER);
  });

  it('shows in every process which leader runs the job and since when, and how the run ended', async () => {
    const [one, other] = await twoProviders();
    let finish!: () => void;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const a = made(one.locks, { run: () => finished });
    const b = made(other.locks);
    await a.job.start();
    const { firedAt } = await eventually('a run', () => a.runs[0]);
    const running = await b.job.status();
    expect(running).toMatchObject({
      lastClaim: { firedAt, processId: one.locks.processId, candidateId: one.locks.processId },
      ...{ lastOutcome: null, lastDurationMs: null },
      runningBy: { processId: one.locks.processId, candidateId: one.locks.processId },
      nextFireAt: new Date(firedAt.getTime() + HOUR_MS),
    });
    expect(running.runningSince).toEqual(running.lastClaim?.startedAt);
    finish();
    const ended = await eventually('its end', async () => {
      const status = await b.job.status();
      return status.lastOutcome === null ? null : status;
    });
    expect(ended).toMatchObject({ lastOutcome: 'completed', runningSince: null, runningBy: null });
    expect(ended.lastClaim).toEqual(running.lastClaim);
    expect(ended.lastDurationMs).toBeGreaterThanOrEqual(0);
  });

  it('shows that a run has failed', async () => {
    const { locks } = await testProvider();
    const { job } = made(locks, { run: () => Promise.reject(new Error('no mail today')) });
    job.on('failed', () => undefined);
    await job.start();
    await eventually('its outcome', async () => (await job.status()).lastOutcome === 'failed');
  });

  it('shows a run as ended with an unknown outcome once the lease of its leader is gone', async () => {
    const [one, other] = await twoProviders({ leaseMs: 1_000 });
    const a = made(one.locks, { run: () => new Promise(() => undefined) });
    const b = made(other.locks);
    await a.job.start();
    await eventually('a run', () => a.runs[0]);
    await one.locks.revoke('job', { force: true });
    expect(await b.job.status()).toMatchObject({
      ...{ lastOutcome: 'unknown', lastDurationMs: null, runningSince: null, runningBy: null },
    });
  });

  it('can be read from a document that an older release has stored', async () => {
    const one = await testProvider();
    const { job, runs } = made(one.locks);
    await job.start();
    const { firedAt } = await eventually('a run', () => runs[0]);
    await job.stop();
    await one.tamper('job', { $unset: { 'claims.0.run': '', calls: '' } });
    expect(await job.status()).toEqual({ ...NEVER, nextFireAt: new Date(firedAt.getTime() + HOUR_MS) });
    await job.start();
    await job.runNow();
    await eventually('another run', () => runs[1]);
  });

  it('rejects if the document is corrupt, or the provider is closed', async () => {
    const one = await testProvider();
    const { job, runs } = made(one.locks);
    await job.start();
    await eventually('a run', () => runs[0]);
    await job.stop();
    await one.tamper('job', { $set: { calls: 7 } });
    expect(await rejection(job.status())).toMatchObject({ code: 'CORRUPT_LOCK_DOCUMENT' });
    expect(await rejection(job.runNow())).toMatchObject({ code: 'CORRUPT_LOCK_DOCUMENT' });
    await one.locks.close();
    expect(await rejection(job.status())).toMatchObject({ code: 'PROVIDER_CLOSED' });
  });
});

describe('nextFireAt', () => {
  it('is known right after the start, on the leader and on standbys', async () => {
    const [one, other] = await twoProviders();
    const [a, b] = [made(one.locks), made(other.locks)];
    await a.job.start();
    const { firedAt } = await eventually('a run', () => a.runs[0]);
    await a.job.stop();
    expect(a.job.nextFireAt).toBeNull();
    const next = new Date(firedAt.getTime() + HOUR_MS);
    await a.job.start();
    expect(a.job.nextFireAt).toEqual(next);
    await b.job.start();
    expect(b.job.nextFireAt).toEqual(next);
  });

  it('becomes known on a standby that started before the first claim, and on the leader that resigned after it', async () => {
    const [one, other] = await twoProviders({ leaseMs: 6_000 });
    const options = { initialDelayMs: 1_000 };
    const [a, b] = [made(one.locks, options), made(other.locks, options)];
    await a.job.start();
    await a.job.election.untilElected();
    await b.job.start();
    const { firedAt } = await eventually('a run', () => a.runs[0]);
    const next = new Date(firedAt.getTime() + HOUR_MS);
    expect(await eventually('the standby knows', () => b.job.nextFireAt)).toEqual(next);
    const elected = b.job.election.untilElected();
    await a.job.election.resign();
    await elected;
    expect(await eventually('the last leader knows', () => a.job.nextFireAt)).toEqual(next);
  });

  it('is known only to the leader, and only between its runs, if the job has a fixed delay', async () => {
    const [one, other] = await twoProviders();
    let finish!: () => void;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const a = made(one.locks, { pace: 'fixed-delay', run: () => finished });
    const b = made(other.locks, { pace: 'fixed-delay' });
    await a.job.start();
    const { firedAt } = await eventually('a run', () => a.runs[0]);
    await b.job.start();
    expect([a.job.nextFireAt, b.job.nextFireAt]).toEqual([null, null]);
    finish();
    const next = await eventually('the end of the run', () => a.job.nextFireAt);
    expect(next.getTime()).toBeGreaterThanOrEqual(firedAt.getTime() + HOUR_MS);
    expect(await eventually('its status', async () => (await b.job.status()).nextFireAt)).toBeInstanceOf(
      Date,
    );
    expect(b.job.nextFireAt).toBeNull();
    await b.job.stop();
    await b.job.start();
    expect(b.job.nextFireAt).toBeNull();
  });

  it('is known before the first claim if the job has a cron expression', async () => {
    const { locks } = await testProvider();
    const job = locks.createScheduledJob('cron', { cron: '0 0 1 1 *', run: () => undefined });
    expect(job.nextFireAt).toBeNull();
    await job.start();
    expect(job.nextFireAt?.toISOString()).toMatch(/^\d{4}-01-01T00:00:00.000Z$/);
  });
});

it('the option maxRunMs must be a number of milliseconds, which is checked when the job is created', async () => {
  const { locks } = await testProvider();
  const making = (maxRunMs: unknown): string =>
    String(thrown(() => made(locks, { maxRunMs } as Partial<ScheduledJobOptions>)));
  expect(making(0)).toBe('RangeError: maxRunMs must be between 1 and 315360000000, got 0');
  expect(making(1.5)).toBe('RangeError: maxRunMs must be an integer, got 1.5');
  expect(making('1s')).toBe('TypeError: maxRunMs must be a number, got "1s"');
});
