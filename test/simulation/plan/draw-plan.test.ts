import { expect, test } from 'vitest';

import { drawPlan } from './draw-plan.js';
import { setsOf } from './plan.js';

test('the clocks of one replica set are moved by less than the allowance, also in worlds with one set only', () => {
  let moves = 0;
  for (let seed = 1; seed <= 100; seed += 1) {
    const plan = drawPlan(seed, { durationMs: 360_000, faults: ['the clock of the primary is moved'] });
    const movedMs = new Map<number, number>();
    for (const { set, amount } of plan.faults) {
      const moved = set % setsOf(plan);
      movedMs.set(moved, (movedMs.get(moved) ?? 0) + amount);
      moves += 1;
    }
    for (const sumMs of movedMs.values()) expect(sumMs).toBeLessThan(plan.clockAllowanceMs);
  }
  expect(moves).toBeGreaterThan(100);
});
