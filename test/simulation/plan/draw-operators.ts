import type { Random } from '../../../lab/random.js';
import { LOCK_NAMES, SEMAPHORE } from '../../faults/workload/wishes.js';
import { OPERATIONS } from './plan.js';
import type { Operation, Plan } from './plan.js';
import type { Wanted } from './wanted.js';

/** So many of a hundred worlds have an operator, where nothing else is wanted. */
const OPERATED_PERCENT = 30;

/** Gives some processes an operator, and leaves everything else as it was drawn. */
export function withOperators(random: Random, plan: Plan, wanted: Wanted): Plan {
  const isDrawn = random.percent(OPERATED_PERCENT);
  const operations = drawOperations(random, plan, wanted);
  const [first, second] = [random.between(0, 0x7f_ff), random.between(0, 0x7f_ff)];
  const hasSecond = random.percent(25);
  const seeds = plan.processes.map(() => random.between(0, 0x7f_ff_ff_ff));
  if (operations.length === 0 || !(isWanted(wanted) ?? isDrawn)) return plan;
  const count = plan.processes.length;
  const chosen = [first % count, ...(hasSecond ? [second % count] : [])];
  const processes = plan.processes.map((process, index) => ({
    ...process,
    operators: chosen.includes(index) ? 1 : 0,
    operatorSeed: seeds[index] ?? 0,
  }));
  return { ...plan, processes, operations };
}

/** `undefined`: the seed decides. */
function isWanted({ only, work }: Wanted): boolean | undefined {
  if (work !== undefined) return work.includes('operators');
  return only?.includes('operations');
}

/** Swarm: operators of each seed do without some of their operations. */
function drawOperations(random: Random, plan: Plan, wanted: Wanted): readonly Operation[] {
  const drawn = OPERATIONS.filter(() => random.percent(60));
  const fallback = random.pick(OPERATIONS);
  const possible = possibleIn(plan);
  const chosen = (wanted.operations ?? drawn).filter((operation) => possible.includes(operation));
  if (chosen.length > 0 || wanted.operations !== undefined) return chosen;
  return possible.includes(fallback) ? [fallback] : possible.slice(0, 1);
}

/** In strict worlds no hold may be lost, so nothing is revoked there. */
function possibleIn(plan: Plan): readonly Operation[] {
  const hasSemaphore = semaphoreIn(plan);
  return OPERATIONS.filter((operation) =>
    operation === 'resize' ? hasSemaphore : !plan.isStrict && revocableIn(plan),
  );
}

const hasActors = ({ processes }: Plan): boolean => processes.some(({ actors }) => actors > 0);

/** The names that actors want. */
export const locksIn = (plan: Plan): readonly string[] => {
  if (!hasActors(plan)) return [];
  return plan.locks.length > 0 ? plan.locks : LOCK_NAMES;
};

const semaphoreIn = (plan: Plan): boolean => locksIn(plan).includes(SEMAPHORE);

const revocableIn = (plan: Plan): boolean =>
  hasActors(plan) || plan.processes.some(({ candidates, jobs }) => candidates + jobs > 0);
