import { describe, expect, it } from 'vitest';

import { MAX_COUNTED, cronSchedule } from '../../../src/schedule/cron-schedule.js';
import { fixedDelay, fixedRate } from '../../../src/schedule/schedule.js';
import type { Schedule } from '../../../src/schedule/schedule.js';
import { thrown } from '../../../lab/patience.js';

const at = (text: string): number => Date.parse(text);

const text = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

/** The state of a job after this claim. */
const claimed = (lastMs: number, anchorMs = lastMs) => ({ lastMs, anchorMs });

/** The next instants after this one, each claimed in time. */
function series(schedule: Schedule, from: string, count: number): readonly (string | null)[] {
  const instants: (number | null)[] = [];
  for (let lastMs = at(from); instants.length < count; lastMs = instants.at(-1) ?? lastMs) {
    instants.push(schedule.next(claimed(lastMs), lastMs));
  }
  return instants.map(text);
}

describe('a fixed rate', () => {
  const schedule = fixedRate(100, 40);

  it('begins after its initial delay', () => {
    expect(schedule.first(1_000)).toBe(1_040);
  });

  it('counts from the first claimed instant, however late the later claims were', () => {
    expect(schedule.next(claimed(1_040), 1_041)).toBe(1_140);
    expect(schedule.next(claimed(1_140, 1_040), 1_239)).toBe(1_240);
    expect(schedule.next(claimed(1_140, 1_040), 1_240)).toBe(1_340);
    expect(schedule.overrunAt(claimed(1_140, 1_040), 1_150)).toBe(1_240);
  });

  it('waits for the instant after the last claim even if the clock of the server was set back', () => {
    expect(schedule.next(claimed(9_040, 1_040), 1_500)).toBe(9_140);
    expect(schedule.missed(claimed(9_040, 1_040), 1_500)).toBeUndefined();
  });

  it('has missed the instants after the last claim whose time has come', () => {
    expect(schedule.missed(claimed(1_040), 1_139)).toBeUndefined();
    expect(schedule.missed(claimed(1_040), 1_140)).toEqual({ count: 1, firstMs: 1_140, lastMs: 1_140 });
    expect(schedule.missed(claimed(1_040), 1_399)).toEqual({ count: 3, firstMs: 1_140, lastMs: 1_340 });
  });

  it('counts the missed instants of a year in one step', () => {
    const yearMs = 365 * 86_400_000;
    expect(schedule.missed(claimed(0), yearMs)).toEqual({
      ...{ count: yearMs / 100, firstMs: 100, lastMs: yearMs },
    });
  });

  it('uses the new rate after a change of the rate', () => {
    const slower = fixedRate(250, 0);
    expect(slower.next(claimed(1_140, 1_040), 1_150)).toBe(1_290);
    expect(slower.missed(claimed(1_140, 1_040), 1_560)).toEqual({ count: 2, firstMs: 1_290, lastMs: 1_540 });
  });
});

describe('a fixed delay', () => {
  const schedule = fixedDelay(100, 40);

  it('begins after its initial delay, and then counts from the end of each run', () => {
    expect(schedule.first(1_000)).toBe(1_040);
    expect(schedule.next({ ...claimed(1_040), endedMs: 1_500 }, 1_510)).toBe(1_600);
  });

  it('counts from the last claim if the end of the run is unknown, and is due at once if that is long ago', () => {
    expect(schedule.next(claimed(1_040), 1_050)).toBe(1_140);
    expect(schedule.next(claimed(1_040), 9_000)).toBe(1_140);
  });

  it('waits for the instant after the last claim even if the clock of the server was set back during the run', () => {
    expect(schedule.next({ ...claimed(9_040), endedMs: 1_500 }, 1_510)).toBe(9_140);
  });

  it('misses no instant, and has no overruns', () => {
    expect(schedule.missed(claimed(1_040), 9_000)).toBeUndefined();
    expect(schedule.overrunAt(claimed(1_040), 1_041)).toBeNull();
  });
});

describe('a cron expression', () => {
  it('is in the time zone that is given', () => {
    const noon = '2026-06-30T12:00:00.000Z';
    expect(series(cronSchedule('0 3 * * *', 'UTC'), noon, 1)).toEqual(['2026-07-01T03:00:00.000Z']);
    expect(series(cronSchedule('0 3 * * *', 'Asia/Kolkata'), noon, 1)).toEqual(['2026-06-30T21:30:00.000Z']);
    expect(series(cronSchedule('*/20 0 3 * * *', 'America/New_York'), noon, 2)).toEqual([
      '2026-07-01T07:00:00.000Z',
      '2026-07-01T07:00:20.000Z',
    ]);
  });

  it('fires once, right after the gap, for a time of day that a clock change skips', () => {
    expect(series(cronSchedule('30 2 * * *', 'Europe/Berlin'), '2026-03-28T00:00:00Z', 3)).toEqual([
      '2026-03-28T01:30:00.000Z',
      '2026-03-29T01:00:00.000Z',
      '2026-03-30T00:30:00.000Z',
    ]);
    expect(series(cronSchedule('0 2,14 * * *', 'Europe/Berlin'), '2026-03-28T14:00:00Z', 2)).toEqual([
      '2026-03-29T01:00:00.000Z',
      '2026-03-29T12:00:00.000Z',
    ]);
  });

  it('fires once, at the first, for a time of day that a clock change repeats', () => {
    expect(series(cronSchedule('30 2 * * *', 'Europe/Berlin'), '2026-10-24T12:00:00Z', 2)).toEqual([
      '2026-10-25T00:30:00.000Z',
      '2026-10-26T01:30:00.000Z',
    ]);
  });

  it('fires at even intervals across both clock changes if it repeats every hour or more often', () => {
    expect(series(cronSchedule('*/30 * * * *', 'Europe/Berlin'), '2026-03-29T00:10:00Z', 4)).toEqual([
      '2026-03-29T00:30:00.000Z',
      '2026-03-29T01:00:00.000Z',
      '2026-03-29T01:30:00.000Z',
      '2026-03-29T02:00:00.000Z',
    ]);
    expect(series(cronSchedule('0 * * * *', 'Europe/Berlin'), '2026-10-24T23:10:00Z', 4)).toEqual([
      '2026-10-25T00:00:00.000Z',
      '2026-10-25T01:00:00.000Z',
      '2026-10-25T02:00:00.000Z',
      '2026-10-25T03:00:00.000Z',
    ]);
  });

  it('has missed the instants between the last claim and now, to the millisecond at both ends', () => {
    const schedule = cronSchedule('0 * * * *', 'UTC');
    const last = claimed(at('2026-01-01T03:00:00Z'));
    expect(schedule.missed(last, at('2026-01-01T03:59:59.999Z'))).toBeUndefined();
    expect(schedule.missed(last, at('2026-01-01T04:00:00Z'))).toEqual({
      count: 1,
      firstMs: at('2026-01-01T04:00:00Z'),
      lastMs: at('2026-01-01T04:00:00Z'),
    });
    expect(schedule.missed(last, at('2026-01-01T07:30:00Z'))).toEqual({
      count: 4,
      firstMs: at('2026-01-01T04:00:00Z'),
      lastMs: at('2026-01-01T07:00:00Z'),
    });
  });

  it('counts missed instants up to a maximum, and still finds the newest one', () => {
    const schedule = cronSchedule('* * * * * *', 'UTC');
    const missed = schedule.missed(claimed(at('2020-01-01T00:00:00Z')), at('2026-01-01T00:00:00.500Z'));
    expect(missed).toEqual({
      count: MAX_COUNTED,
      firstMs: at('2020-01-01T00:00:01Z'),
      lastMs: at('2026-01-01T00:00:00Z'),
    });
  });

  it('can have a last instant', () => {
    const schedule = cronSchedule('0 0 0 1 1 * 2027', 'UTC');
    expect(text(schedule.first(at('2026-06-01T00:00:00Z')))).toBe('2027-01-01T00:00:00.000Z');
    expect(schedule.next(claimed(at('2027-01-01T00:00:00Z')), at('2027-01-01T00:00:01Z'))).toBeNull();
  });

  it('is refused if it is malformed, fits no instant, or has an unknown time zone', () => {
    for (const pattern of [1, null, {}]) {
      expect(thrown(() => cronSchedule(pattern, 'UTC'))).toBeInstanceOf(TypeError);
    }
    for (const pattern of ['', 'x', '61 * * * *', '* * * *', '0 0 30 2 *', '2026-01-01T00:00:00']) {
      const error = thrown(() => cronSchedule(pattern, 'UTC'));
      expect(error).toBeInstanceOf(RangeError);
      expect(error).toMatchObject({
        message: expect.stringMatching(/^cron must be an expression/) as string,
      });
    }
    expect(thrown(() => cronSchedule('* * * * *', 1))).toBeInstanceOf(TypeError);
    for (const timeZone of ['Mars/Olympus', '']) {
      expect(thrown(() => cronSchedule('* * * * *', timeZone))).toMatchObject({
        name: 'RangeError',
        message: `timeZone must be the name of a time zone, got "${timeZone}"`,
      });
    }
  });
});
