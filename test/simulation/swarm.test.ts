import { expect, it } from 'vitest';

import { byBreadth } from '../support/breadth.js';
import { SOMETIMES } from './judges/sometimes-list.js';
import { drawPlan } from './plan/draw-plan.js';
import { inWords, Report } from './report.js';
import { runPlan } from './run-plan.js';

/** The quick run is short of time: its worlds are, too, and do not show everything. */
const [RUNS, DURATION_MS, LEAST_SEEN] = byBreadth(
  [40, 1_500, 20] as const,
  [1_000, undefined, SOMETIMES.length] as const,
);

it('no judge finds anything in a swarm of seeds, and what should happen sometimes does', async () => {
  const report = new Report();
  for (let seed = 1; seed <= RUNS; seed += 1) {
    const result = await runPlan(drawPlan(seed, { durationMs: DURATION_MS }));
    report.take(result);
    const plan = JSON.stringify(result.evidence.plan);
    expect(result.violations.map(inWords), `seed ${seed}, plan ${plan}`).toEqual([]);
  }
  expect(report.grants).toBeGreaterThan(20 * RUNS);
  const seen = SOMETIMES.length - report.neverSeen.length;
  expect(seen, `never: ${report.neverSeen.join(', ')}`).toBeGreaterThanOrEqual(LEAST_SEEN);
});
