import { expect, it } from 'vitest';

import { byBreadth } from '../support/breadth.js';
import { drawPlan } from './plan/draw-plan.js';
import { inWords, Report } from './report.js';
import { runPlan } from './run-plan.js';

/** The quick run is short of time, so its runs are short, too. */
const [RUNS, DURATION_MS] = byBreadth([60, 2_000] as const, [1_000, undefined] as const);

/** Seen in few runs, and only in long ones. */
const FIRST_SEED = 1;

it('no judge finds anything in a swarm of seeds, and everything that should happen sometimes does', async () => {
  const report = new Report();
  for (let seed = FIRST_SEED; seed < FIRST_SEED + RUNS; seed += 1) {
    const result = await runPlan(drawPlan(seed, { durationMs: DURATION_MS }));
    report.take(result);
    const again = `npm run simulate -- --seed ${seed}`;
    expect(result.violations.map(inWords), again).toEqual([]);
  }
  expect(report.grants).toBeGreaterThan(RUNS);
});
