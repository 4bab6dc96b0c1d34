import type { Random } from '../../../lab/random.js';
import type { Plan } from './plan.js';
import type { Wanted } from './wanted.js';

/** So many of a hundred worlds with candidates have an observer. */
const OBSERVED_PERCENT = 40;

/** So many of a hundred worlds with jobs have another schedule than a fixed rate. */
const SCHEDULED_PERCENT = 50;

/** So many of a hundred worlds with operators or observers have no faults, because these excuse what comes late. */
const CALM_PERCENT = 25;

/** Gives some worlds an observer of the election, or another schedule, and leaves everything else as it was drawn. */
export function withVariants(random: Random, plan: Plan, wanted: Wanted): Plan {
  const [isObserved, isScheduled] = [random.percent(OBSERVED_PERCENT), random.percent(SCHEDULED_PERCENT)];
  const schedule = random.pick(['fixed-delay', 'cron']);
  const [first, second] = [random.between(0, 0x7f_ff), random.between(0, 0x7f_ff)];
  const seeds = plan.processes.map(() => random.between(0, 0x7f_ff_ff_ff));
  const hasCandidates = plan.processes.some(({ candidates }) => candidates > 0);
  const hasJobs = plan.processes.some(({ jobs }) => jobs > 0);
  const { work } = wanted;
  const drawn = isScheduled && work === undefined ? schedule : undefined;
  const chosen = wanted.schedule ?? drawn;
  const scheduled = hasJobs && chosen !== undefined ? { ...plan, schedule: chosen } : plan;
  if (!hasCandidates || !(work?.includes('observers') ?? isObserved)) return scheduled;
  const observers = [first % plan.processes.length, second % plan.processes.length];
  const processes = scheduled.processes.map((process, index) =>
    observers.includes(index) ? { ...process, observers: 1, observerSeed: seeds[index] ?? 0 } : process,
  );
  return { ...scheduled, processes };
}

/** Drops all faults of some worlds with operators or observers. */
export function sometimesCalm(random: Random, plan: Plan, { faults }: Wanted): Plan {
  const isCalm = random.percent(CALM_PERCENT) && faults === undefined;
  const isWatched = plan.processes.some(({ operators = 0, observers = 0 }) => operators + observers > 0);
  return isCalm && isWatched ? { ...plan, faults: [] } : plan;
}
