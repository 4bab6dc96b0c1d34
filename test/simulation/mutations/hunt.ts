// Runs seeds until a judge finds something. The library that is bundled into this program may have a bug.
import { drawPlan } from '../plan/draw-plan.js';
import type { Wanted } from '../plan/draw-plan.js';
import { runPlan } from '../run-plan.js';
import type { Violation } from '../../faults/verdict.js';

/** The one argument. */
export interface HuntTask {
  readonly wanted: Wanted;
  readonly firstSeed: number;
  readonly seeds: number;
  readonly boundMs: number;
}

/** The one line of output. */
export interface Catch {
  /** `undefined`: nothing was found. */
  readonly seed: number | undefined;
  readonly seeds: number;
  readonly seconds: number;
  readonly violations: readonly Violation[];
}

const { wanted, firstSeed, seeds, boundMs } = JSON.parse(process.argv[2] ?? '') as HuntTask;
const startMs = performance.now();
const elapsedMs = (): number => performance.now() - startMs;

async function hunt(): Promise<Catch> {
  let tried = 0;
  while (tried < seeds && elapsedMs() < boundMs) {
    const seed = firstSeed + tried;
    tried += 1;
    const { violations } = await runPlan(drawPlan(seed, wanted));
    if (violations.length > 0) return { seed, seeds: tried, seconds: elapsedMs() / 1_000, violations };
  }
  return { seed: undefined, seeds: tried, seconds: elapsedMs() / 1_000, violations: [] };
}

process.stdout.write(`${JSON.stringify(await hunt())}\n`, () => {
  process.exit();
});
