import { expect, test } from 'vitest';

import { CycleMeter } from '../processes/cycle-meter.js';

/** Callers that all need the same time for a cycle, so that their cycles end together. */
function inLockstep({ atOnce, forMs, cycleMs }: { atOnce: number; forMs: number; cycleMs: number }) {
  const looks: string[] = [];
  const meter = new CycleMeter(
    { atOnce, forMs },
    () => looks.push('begin'),
    () => looks.push('end'),
  );
  for (let startedMs = 0; !meter.isOver; startedMs += cycleMs) {
    for (let caller = 0; caller < atOnce; caller += 1) meter.ended(startedMs, startedMs + cycleMs);
  }
  return { meter, looks };
}

test('the rate is that of whole turns, however long a turn is', () => {
  for (const cycleMs of [10, 70, 300]) {
    const { meter } = inLockstep({ atOnce: 64, forMs: 100, cycleMs });
    expect(meter.count / meter.ms).toBeCloseTo(64 / cycleMs);
    expect(meter.ms).toBeGreaterThanOrEqual(100);
  }
});

test('the first turn is not measured', () => {
  const { meter, looks } = inLockstep({ atOnce: 2, forMs: 20, cycleMs: 10 });
  expect({ count: meter.count, ms: meter.ms, looks }).toEqual({ count: 4, ms: 20, looks: ['begin', 'end'] });
});

test('a cycle counts in the rate if it ends during the measurement, and its time counts if it begins then', () => {
  const meter = new CycleMeter(
    { atOnce: 2, forMs: 5 },
    () => undefined,
    () => undefined,
  );
  meter.ended(0, 10);
  meter.ended(0, 11);
  meter.ended(10, 13); // began before the measurement
  meter.ended(11, 20);
  meter.ended(13, 29); // ends after it
  meter.ended(20, 30); // began after it
  expect({ count: meter.count, ms: meter.ms, tookMs: meter.tookMs }).toEqual({
    ...{ count: 2, ms: 9 },
    tookMs: [9, 16],
  });
});
