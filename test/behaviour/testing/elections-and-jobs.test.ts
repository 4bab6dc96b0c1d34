import { afterEach, describe, expect, it } from 'vitest';
import type { LockHandle } from '../../../src/index.js';
import { FAULTS } from './faults.js';
import { Fleet } from './fleet.js';

let fleet: Fleet | undefined;

afterEach(async () => {
  await fleet?.close();
  fleet = undefined;
});

/** The member at this index. */
function memberAt(index: number): Fleet['members'][number] {
  const member = fleet?.members[index];
  if (member === undefined) throw new Error('no such process');
  return member;
}

describe.each(FAULTS)('under $what, in virtual time', ({ begin, end }) => {
  it('an election has a leader again, and terms do not overlap', async () => {
    fleet = new Fleet(21);
    const { set } = fleet;
    const terms: LockHandle[] = [];
    for (const { locks } of fleet.members) {
      const election = locks.createLeaderElection('leader', {
        onElected: (term) => {
          expect(terms.filter(({ isHeld }) => isHeld)).toEqual([]);
          terms.push(term);
        },
      });
      election.on('error', () => undefined);
      await fleet.until(election.start());
    }
    await set.advance(1_000);
    begin(set, memberAt(0).db);
    await set.advance(20_000);
    end?.(set, memberAt(0).db);
    await set.advance(40_000);
    expect(terms.at(-1)?.isHeld).toBe(true);
    expect(set.violations()).toEqual([]);
  });

  it('a job runs once at most for each instant', async () => {
    fleet = new Fleet(22);
    const { set } = fleet;
    const runs: number[] = [];
    for (const { locks } of fleet.members) {
      const election = locks.createLeaderElection('report');
      election.on('error', () => undefined);
      const job = locks.createScheduledJob('report', {
        election,
        everyMs: 1_000,
        run: ({ firedAt }) => void runs.push(firedAt.getTime()),
      });
      for (const event of ['failed', 'missed'] as const) job.on(event, () => undefined);
      await fleet.until(job.start());
    }
    await set.advance(3_000);
    begin(set, memberAt(0).db);
    await set.advance(20_000);
    end?.(set, memberAt(0).db);
    const before = runs.length;
    await set.advance(60_000);
    expect(new Set(runs).size).toBe(runs.length);
    expect(runs.length - before).toBeGreaterThan(30);
  });
});

describe('a cron job, in virtual time', () => {
  it('runs at midnight of each day, also a week later', async () => {
    fleet = new Fleet(23, 86_400_000);
    const { set } = fleet;
    const runs: string[] = [];
    const job = memberAt(1).locks.createScheduledJob('nightly', {
      cron: '0 0 * * *',
      run: ({ firedAt }) => void runs.push(firedAt.toISOString().slice(10)),
    });
    await fleet.until(job.start());
    for (let day = 0; day < 7; day += 1) await set.advance(86_400_000);
    expect(runs).toEqual(Array.from({ length: 7 }, () => 'T00:00:00.000Z'));
  });
});
