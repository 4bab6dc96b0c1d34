import { expect, it } from 'vitest';

import * as present from '../../src/index.js';
import { earlierBuild, hasCommit } from '../support/earlier-build.js';
import { drawPlan } from './plan/draw-plan.js';
import type { Wanted } from './plan/wanted.js';
import { inWords, Report } from './report.js';
import { runPlan } from './run-plan.js';

/** The first build that ran in these worlds. Its documents have the present version. */
const EARLIER = '8f56125';

const isThere = await hasCommit(EARLIER, 'mixed builds');

const RUNS = 8;

/**
 * All work in one replica set. No limit of a semaphore is changed, because the earlier build reports the wrong error for
 * an `acquireAll` of more permits than the new limit.
 */
const WANTED: Wanted = {
  work: ['actors', 'bursts', 'candidates', 'jobs', 'operators'],
  operations: ['ask all', 'ask one', 'evict all', 'evict one'],
};

it.skipIf(!isThere)(
  'no judge finds anything while faults happen to a fleet in which every other process has an earlier build',
  { timeout: 900_000 },
  async () => {
    await using earlier = await earlierBuild(EARLIER);
    const report = new Report();
    for (let seed = 1; seed <= RUNS; seed += 1) {
      const result = await runPlan(drawPlan(seed, WANTED), (process) =>
        process % 2 === 0 ? earlier.library : present,
      );
      report.take(result);
      expect(result.violations.map(inWords), `seed ${String(seed)}`).toEqual([]);
    }
    expect(report.grants).toBeGreaterThan(20 * RUNS);
  },
);
