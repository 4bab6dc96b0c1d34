import { describe, expect, it } from 'vitest';

import { cronSchedule } from '../../../src/schedule/cron-schedule.js';

/** The days on which the clocks of Berlin change: 02:00 becomes 03:00 in spring, 03:00 becomes 02:00 in autumn. */
const SPRING = ['2026-03-28T23:30:00Z', '2026-03-29T03:30:00Z'] as const;
const AUTUMN = ['2026-10-24T22:30:00Z', '2026-10-25T03:30:00Z'] as const;

const TIME = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'Europe/Berlin',
  ...{ hour: '2-digit', minute: '2-digit', timeZoneName: 'shortOffset' },
});

/** The local times at which the expression fires, with the offset from UTC: 00:30 to 05:30, or to 04:30 in autumn. */
function timesOf(cron: string, [from, to]: readonly [string, string]): string {
  const schedule = cronSchedule(cron, 'Europe/Berlin');
  const times: string[] = [];
  const endMs = Date.parse(to);
  for (let ms: number | null = Date.parse(from); ms !== null && ms < endMs;) {
    ms = schedule.next({ lastMs: ms, anchorMs: ms }, ms);
    if (ms !== null && ms < endMs) times.push(TIME.format(ms).replace(' GMT', ''));
  }
  return times.join(' ');
}

/** The table on the page about scheduled jobs. */
const TABLE: readonly (readonly [cron: string, spring: string, autumn: string])[] = [
  ['30 2 * * *', '03:00+2', '02:30+2'],
  ['0,30 2 * * *', '03:00+2', '02:00+2 02:30+2'],
  ['0 1-4 * * *', '01:00+1 03:00+2 04:00+2', '01:00+2 02:00+2 03:00+1 04:00+1'],
  ['0 * * * *', '01:00+1 03:00+2 04:00+2 05:00+2', '01:00+2 02:00+2 02:00+1 03:00+1 04:00+1'],
  ['*/20 2 * * *', '', '02:00+2 02:20+2 02:40+2 02:00+1 02:20+1 02:40+1'],
  ['0 */2 * * *', '04:00+2', '02:00+2 02:00+1 04:00+1'],
];

describe('on the days when the clocks change, the cron expression', () => {
  it.each(TABLE)('%s fires at the documented times', (cron, spring, autumn) => {
    expect([timesOf(cron, SPRING), timesOf(cron, AUTUMN)]).toEqual([spring, autumn]);
  });
});
