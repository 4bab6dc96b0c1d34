import { expect, it } from 'vitest';

import { byBreadth } from '../support/breadth.js';
import { drawPlan } from './plan/draw-plan.js';
import { hashOf, runPlan } from './run-plan.js';

const SEEDS = byBreadth(2, 10);

it('the same seed gives the same trace, byte for byte, and another seed gives another one', async () => {
  const hashes = new Set<string>();
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const plan = drawPlan(seed, { durationMs: 2_000 });
    const once = hashOf((await runPlan(plan)).evidence);
    const again = hashOf((await runPlan(plan)).evidence);
    expect(again, `seed ${seed}`).toBe(once);
    hashes.add(once);
  }
  expect(hashes.size).toBe(SEEDS);
});
