import { expect, test } from 'vitest';

import { CycleMeter } from '../processes/cycle-meter.js';

const noLook = (): void => undefined;

/** Callers that all need the same time for a cycle, so that their cycles end together. */
function inLockstep({ atOnce, forMs, cycleMs }: { atOnce: number; forMs: number; cycleMs: number }) {
  const looks: string[] = [];
  const meter = new CycleMeter(
    { atOnce, forMs },
    () => looks.push('begin'),
    () => looks.push('end'),
  );
  let turns = 0;
  for (let nowMs = 0; !meter.isOver; nowMs += cycleMs) {
    const begun = Array.from({ length: atOnce }, () => meter.started(nowMs));
    for (const cycle of begun) meter.ended(cycle, nowMs + cycleMs);
    turns += 1;
  }
  return { meter, looks, turns };
}

test('the rate is that of whole turns, however long a turn is', () => {
  for (const cycleMs of [10, 70, 300]) {
    const { meter } = inLockstep({ atOnce: 64, forMs: 100, cycleMs });
    expect(meter.count / meter.ms).toBeCloseTo(64 / cycleMs);
    expect(meter.ms).toBeGreaterThanOrEqual(100);
  }
});

test('the first turn is not measured', () => {
  const { meter, looks, turns } = inLockstep({ atOnce: 2, forMs: 20, cycleMs: 10 });
  const { count, ms, tookMs } = meter;
  expect({ count, ms, tookMs }).toEqual({ count: 4, ms: 20, tookMs: [10, 10, 10, 10] });
  expect({ looks, turns }).toEqual({ looks: ['begin', 'end'], turns: 3 });
});

test('a cycle counts in the rate if it ends during the measurement, and its time counts if it begins then', () => {
  const meter = new CycleMeter({ atOnce: 2, forMs: 5 }, noLook, noLook);
  const [a, b] = [meter.started(0), meter.started(0)];
  meter.ended(a, 10);
  const beganBefore = meter.started(10);
  meter.ended(b, 11);
  const within = meter.started(11);
  meter.ended(beganBefore, 13);
  const endsAfter = meter.started(13);
  meter.ended(within, 20);
  const beganAfter = meter.started(20);
  expect(meter.isOver).toBe(false);
  meter.ended(beganAfter, 25);
  expect(meter.isOver).toBe(false);
  meter.ended(endsAfter, 29);
  expect(meter.isOver).toBe(true);
  expect([meter.count, meter.ms, meter.tookMs]).toEqual([2, 9, [9, 16]]);
});
