import { describe, expect, it } from 'vitest';

import { judge, RAN, REFUSED, summaryOf } from './crontab-judge.js';
import type { Run } from './crontab-judge.js';
import type { Attempt } from './crontab.js';

const TIMES = { holdMs: 15_000, leaseMs: 30_000 };

const attempt = (instant: number, startedMs: number, endedMs: number, code: number | null): Attempt => ({
  ...{ instant, startedMs, endedMs, code },
});

/** Two machines at one instant: the first runs the command, the second is refused. */
const first = [attempt(0, 0, 15_500, RAN), attempt(0, 100, 700, REFUSED)];
const runAt = (ranMs: number, acquiredMs?: number): Run => ({ instant: 0, ranMs, acquiredMs });
const run = runAt(500, 400);

describe('one instant of a crontab', () => {
  it.each([
    ['ran once, in the bounds', first, [run], 1, 'kept', 'kept'],
    ['ran again while its lock was held', first, [run, runAt(9_100, 9_000)], 2, 'broken', 'kept'],
    ['ran again after its lock was held', first, [run, runAt(15_700, 15_600)], 2, 'not judged', 'kept'],
    ['ran once, unseen', first, [runAt(500)], 1, 'kept', 'kept'],
    ['ran again soon, unseen', first, [run, runAt(9_100)], 2, 'broken', 'kept'],
    ['ran again late, unseen', first, [runAt(500), runAt(15_100)], 2, 'not judged', 'kept'],
    ['did not run', [attempt(0, 0, 600, REFUSED)], [], 0, 'not judged', 'broken'],
    [
      'did not run, and one attempt had no answer',
      [attempt(0, 0, 600, REFUSED), attempt(0, 0, 9_000, 69)],
      [],
      0,
      'not judged',
      'not judged',
    ],
    [
      'ran, and one attempt had no answer',
      [...first, attempt(0, 0, 9_000, 69)],
      [run],
      1,
      'kept',
      'not judged',
    ],
    [
      'ran, and one attempt was refused too late',
      [...first, attempt(0, 0, 16_000, REFUSED)],
      [run],
      1,
      'not judged',
      'kept',
    ],
    [
      'ran again after its lock was lost',
      [...first, attempt(0, 0, 9_000, 76)],
      [run, runAt(9_100, 9_000)],
      2,
      'not judged',
      'not judged',
    ],
  ] as const)('that %s', (_, attempts, runs, count, atMostOnce, atLeastOnce) => {
    expect(judge(attempts, runs, TIMES)).toEqual([{ instant: 0, runs: count, atMostOnce, atLeastOnce }]);
  });
});

describe('an instant that did not run', () => {
  const verdictWith = (second: readonly Attempt[], before = first): unknown =>
    judge([...before, ...second], [run], TIMES)[1]?.atLeastOnce;

  it('is a violation if the lock was free', () => {
    expect(verdictWith([attempt(1, 30_000, 31_000, REFUSED)])).toBe('broken');
  });

  it('is none if the lock may have been held for an earlier instant, also by an attempt without an answer', () => {
    expect(verdictWith([attempt(1, 15_400, 16_000, REFUSED)])).toBe('not judged');
    expect(verdictWith([attempt(1, 30_000, 31_000, REFUSED)], [...first, attempt(0, 0, 12_000, 69)])).toBe(
      'not judged',
    );
  });

  it('is none if its attempts may have come after those of the next instant', () => {
    const late = [attempt(1, 30_000, 61_000, REFUSED), attempt(2, 60_000, 75_000, RAN)];
    expect(verdictWith(late)).toBe('not judged');
  });
});

it('the summary names the instants that could not be judged', () => {
  const attempts = [...first, attempt(1, 15_400, 16_000, REFUSED), attempt(1, 15_400, 28_000, 69)];
  expect(summaryOf(judge(attempts, [run], TIMES), attempts)).toBe(
    'crontab: 2 instants; runs of each: 1 0; at most once: kept at 1 of them, not judged at 1; ' +
      'at least once: kept at 1 of them, not judged at 1; 4 attempts, 2 refused, 1 without an answer',
  );
});
