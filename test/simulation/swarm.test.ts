import { expect, it } from 'vitest';

import { byBreadth } from '../support/breadth.js';
import { drawSeed } from '../support/seed.js';
import { SOMETIMES } from './judges/sometimes-list.js';
import { drawPlan } from './plan/draw-plan.js';
import { inWords, Report } from './report.js';
import { runPlan } from './run-plan.js';

/** The quick run is short of time: its worlds are, too, and show less. */
const [RUNS, DURATION_MS, LEAST_SEEN] = byBreadth(
  [6, 1_500, SOMETIMES.length / 3] as const,
  [100, undefined, SOMETIMES.length] as const,
);

it(
  'no judge finds anything in a swarm of seeds, and what should happen sometimes does',
  { timeout: 900_000 },
  async () => {
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
  },
);

const NEW_SEEDS = byBreadth(1, 10);

it('no judge finds anything in seeds that no run has had before', { timeout: 120_000 }, async () => {
  const first = drawSeed('new seeds of the simulation');
  for (let seed = first; seed < first + NEW_SEEDS; seed += 1) {
    const { violations, evidence } = await runPlan(drawPlan(seed, { durationMs: DURATION_MS }));
    const plan = JSON.stringify(evidence.plan);
    expect(violations.map(inWords), `seed ${seed}, plan ${plan}`).toEqual([]);
  }
});
