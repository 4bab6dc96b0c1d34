// For Vitest. A cron job at half past two in the night, on the two days of the year when the clocks change.
import { LockProvider } from 'leasehold';
import type { JobRun } from 'leasehold';
import { MemoryReplicaSet } from 'leasehold/testing';
import { expect, test } from 'vitest';

/** The code under test: a report of each night. */
const nightlyReport = (locks: LockProvider, run: (job: JobRun) => void) =>
  locks.createScheduledJob('report', { cron: '30 2 * * *', timeZone: 'Europe/Berlin', run });

const inBerlin = new Intl.DateTimeFormat('sv', {
  timeZone: 'Europe/Berlin',
  dateStyle: 'short',
  timeStyle: 'short',
});

test.each([
  [
    'in spring, when the clock skips half past two',
    '2031-03-29T12:00:00Z',
    ['2031-03-30 03:00', '2031-03-31 02:30'],
  ],
  ['in autumn, when it shows it twice', '2031-10-25T12:00:00Z', ['2031-10-26 02:30', '2031-10-27 02:30']],
])('the report runs once a night %s', async (_, noonBefore, expected) => {
  const set = new MemoryReplicaSet({ time: 'virtual', seed: 3 });
  // The clock of a set begins in 2030, at an instant that the seed decides.
  await set.advance(Date.parse(noonBefore) - set.now().getTime());
  const locks = new LockProvider(set.db('app'), { leaseMs: 3_600_000 });
  const nights: string[] = [];
  const job = nightlyReport(locks, ({ firedAt }) => nights.push(inBerlin.format(firedAt)));
  await job.start();
  await set.advance(2 * 86_400_000);
  expect(nights).toEqual(expected);
  await set.close();
});
