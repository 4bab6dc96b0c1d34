import type { Random } from '../../../lab/random.js';
import type { Operation, Plan } from './plan.js';
import type { Wanted } from './wanted.js';

/** So many of a hundred operators that could revoke the holds of bursts do so. */
const REACHING_PERCENT = 60;

/**
 * Lets operators of some worlds with bursts revoke the holds of new names, too, and leaves everything else as it was
 * drawn.
 */
export function withReach(random: Random, plan: Plan, { reachesNewNames }: Wanted): Plan {
  const isDrawn = random.percent(REACHING_PERCENT);
  const seeds = plan.processes.map(() => random.between(0, 0x7f_ff_ff_ff));
  const hasBursts = plan.processes.some(({ bursts }) => bursts > 0);
  const revokes = (plan.operations ?? []).some(isRevocation);
  if (!hasBursts || !revokes || !(reachesNewNames ?? isDrawn)) return plan;
  const processes = plan.processes.map((process, index) =>
    process.operators === 1 ? { ...process, reachSeed: seeds[index] ?? 0 } : process,
  );
  return { ...plan, processes };
}

export const isRevocation = (operation: Operation): boolean => operation !== 'resize';
