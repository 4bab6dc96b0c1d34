import { Cron } from 'croner';
import { outOfRange, wrongType } from '../options/checks.js';
import type { MissedInstants, Schedule } from './schedule.js';

/** So many missed instants are counted one by one: each takes up to a millisecond, in which nothing else goes on. */
export const MAX_COUNTED = 100;

/**
 * At the times of a cron expression, in a time zone. Only the instants are the library's; the waiting is ours.
 *
 * @throws `TypeError` or `RangeError` for what is no expression, fits no instant, or no time zone.
 */
export function cronSchedule(pattern: unknown, timeZone: unknown): Schedule {
  const cron = parseCron(pattern, parseTimeZone(timeZone));
  const after = (ms: number): number | null => cron.nextRun(new Date(ms))?.getTime() ?? null;
  // "Before" is what the library knows; instants are whole seconds.
  const upTo = (ms: number): number | null => cron.previousRuns(1, new Date(ms + 1))[0]?.getTime() ?? null;
  if (after(Date.now()) === null && upTo(Date.now()) === null) {
    throw outOfRange('cron', 'an expression that fits some instant', pattern);
  }
  const next: Schedule['next'] = ({ lastMs }, nowMs) => after(Math.max(lastMs, nowMs));
  return {
    first: after,
    next,
    expected: (claimed, nowMs) => after(Math.max(claimed?.lastMs ?? nowMs, nowMs)),
    overrunAt: next,
    missed: (claimed, nowMs) => missedBetween(claimed.lastMs, upTo(nowMs), after),
  };
}

function missedBetween(
  claimedMs: number,
  lastMs: number | null,
  after: (ms: number) => number | null,
): MissedInstants | undefined {
  if (lastMs === null || lastMs <= claimedMs) return undefined;
  const firstMs = after(claimedMs) ?? lastMs;
  let count = 1;
  for (let ms = firstMs; ms < lastMs && count < MAX_COUNTED; count += 1) ms = after(ms) ?? lastMs;
  return { count, firstMs, lastMs };
}

function parseCron(pattern: unknown, timezone: string): Cron {
  if (typeof pattern !== 'string') throw wrongType('cron', 'a string', pattern);
  let cron: Cron;
  try {
    // A time of day that the clocks leave out, or have twice, is to have one run also where it is one of several.
    cron = new Cron(pattern, { timezone, fixedTimeRule: 'no-wildcard' });
  } catch (error) {
    const why = error instanceof Error ? ` (${error.message})` : '';
    throw outOfRange('cron', `an expression of five to seven fields${why}`, pattern);
  }
  // The library takes a date, too, for one run.
  if (cron.getPattern() === undefined)
    throw outOfRange('cron', 'an expression of five to seven fields', pattern);
  return cron;
}

function parseTimeZone(timeZone: unknown): string {
  if (typeof timeZone !== 'string') throw wrongType('timeZone', 'a string', timeZone);
  try {
    new Intl.DateTimeFormat('en', { timeZone });
    return timeZone;
  } catch {
    throw outOfRange('timeZone', 'the name of a time zone', timeZone);
  }
}
