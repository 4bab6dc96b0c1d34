import { Cron } from 'croner';
import { outOfRange, wrongType } from '../options/checks.js';
import type { MissedInstants, Schedule } from './schedule.js';

/** The most missed instants that are counted: counting one blocks the event loop for up to 1 ms. */
export const MAX_COUNTED = 100;

/**
 * The times of a cron expression in a time zone. The croner package computes the instants; this library does the
 * waiting.
 *
 * @throws `TypeError` or `RangeError` for an invalid expression, an expression without an instant, or an unknown time
 *   zone.
 */
export function cronSchedule(pattern: unknown, timeZone: unknown): Schedule {
  const cron = parseCron(pattern, parseTimeZone(timeZone));
  const after = (ms: number): number | null => cron.nextRun(new Date(ms))?.getTime() ?? null;
  // `previousRuns` returns only instants before the time that it gets, so one ms is added to count an instant at `ms`.
  const upTo = (ms: number): number | null => cron.previousRuns(1, new Date(ms + 1))[0]?.getTime() ?? null;
  if (after(0) === null) {
    throw outOfRange('cron', 'an expression that has at least one instant', pattern);
  }
  const next: Schedule['next'] = ({ lastMs }, nowMs) => after(Math.max(lastMs, nowMs));
  return {
    isSeries: true,
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
    // `no-wildcard` sets two rules for an expression without a wildcard or a step in its seconds, minutes and hours:
    // at the end of summer time, a time of day that comes twice has one run; at the beginning of summer time, all
    // skipped times have one run together.
    cron = new Cron(pattern, { timezone, fixedTimeRule: 'no-wildcard' });
  } catch (error) {
    const why = error instanceof Error ? ` (${error.message})` : '';
    throw outOfRange('cron', `an expression of five to seven fields${why}`, pattern);
  }
  // croner also accepts a date, for a single run. A date has no pattern, and is refused here.
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
