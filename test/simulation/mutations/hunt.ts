// Runs seeds until a judge finds something. The library that is bundled into this program may have a bug.
import { drawPlan } from '../plan/draw-plan.js';
import type { Wanted } from '../plan/wanted.js';
import { runPlan } from '../run-plan.js';
import type { Violation } from '../../faults/verdict.js';

/** The one argument is a list of these. */
export interface HuntTask {
  readonly wanted: Wanted;
  readonly firstSeed: number;
  readonly seeds: number;
  readonly boundMs: number;
}

/** The one line of output is a list of these. */
export interface Catch {
  /** `undefined`: nothing was found. */
  readonly seed?: number;
  readonly seeds: number;
  /** The time of the processor, which other work on the machine does not change. */
  readonly seconds: number;
  readonly violations: readonly Violation[];
}

/** Enough to name the judges. A bug that breaks everything is found a thousand times. */
const MOST_VIOLATIONS = 200;

async function hunt({ wanted, firstSeed, seeds, boundMs }: HuntTask): Promise<Catch> {
  const startMs = performance.now();
  const start = process.cpuUsage();
  const seconds = (): number => {
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1e6;
  };
  let tried = 0;
  while (tried < seeds && performance.now() - startMs < boundMs) {
    const seed = firstSeed + tried;
    tried += 1;
    const { violations } = await runPlan(drawPlan(seed, wanted));
    if (violations.length === 0) continue;
    return { seed, seeds: tried, seconds: seconds(), violations: violations.slice(0, MOST_VIOLATIONS) };
  }
  return { seeds: tried, seconds: seconds(), violations: [] };
}

const results: Catch[] = [];
for (const task of JSON.parse(process.argv[2] ?? '[]') as readonly HuntTask[]) results.push(await hunt(task));

process.stdout.write(`${JSON.stringify(results)}\n`);
