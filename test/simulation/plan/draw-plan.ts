import { randomFrom } from '../../../lab/random.js';
import type { Random } from '../../../lab/random.js';
import { LOCK_NAMES } from '../../faults/workload/wishes.js';
import { drawFaults } from './draw-faults.js';
import { withOperators } from './draw-operators.js';
import { withOtherFaults } from './draw-other-faults.js';
import { withReach } from './draw-reach.js';
import { sometimesCalm, withVariants } from './draw-variants.js';
import { WORK } from './plan.js';
import type { Plan, ProcessPlan, Work } from './plan.js';
import { scattered } from './scattered.js';
import { PARTS } from './wanted.js';
import type { Part, Wanted } from './wanted.js';

const SECOND = 1_000;

/** Draws everything from the seed. Swarm: each seed does without some kinds of faults, work and locks. */
export function drawPlan(seed: number, wanted: Wanted = {}): Plan {
  const random = randomFrom(scattered(seed));
  const draw = (): number => random.between(0, 0x7f_ff_ff_ff);
  // Each part has its own random numbers, so that what is wanted of one part does not change another one.
  const [ofFrame, ofWork, ofFaults] = [randomFrom(draw()), randomFrom(draw()), randomFrom(draw())];
  const [ofOperators, ofVariants, ofCalm] = [randomFrom(draw()), randomFrom(draw()), randomFrom(draw())];
  const [ofOtherFaults, ofReach] = [randomFrom(draw()), randomFrom(draw())];
  const frame = drawFrame(ofFrame, wanted);
  const work = drawWork(ofWork, wanted);
  const drawnCount = ofWork.between(2, 5);
  const processes = Array.from({ length: wanted.count ?? drawnCount }, (_, index) =>
    drawProcess(ofWork, work, index, wanted),
  );
  const { paceMs } = wanted;
  const pace = paceMs === undefined ? {} : { paceMs };
  const plan = { seed, ...frame, ...pace, locks: drawLocks(ofWork, wanted), processes };
  const withFaults = { ...plan, faults: drawFaults(ofFaults, plan, wanted) };
  const operated = withReach(ofReach, withOperators(ofOperators, withFaults, wanted), wanted);
  const varied = withVariants(ofVariants, operated, wanted);
  return sometimesCalm(ofCalm, withOtherFaults(ofOtherFaults, varied, wanted), wanted);
}

type Frame = Pick<Plan, 'durationMs' | 'leaseMs' | 'clockAllowanceMs' | 'isStrict'>;

function drawFrame(random: Random, wanted: Wanted): Frame {
  const isStrict = wanted.isStrict ?? random.percent(25);
  const drawnMs = isStrict ? random.pick([15_000, 24_000]) : random.pick([700, 2_000, 2_000, 5_000]);
  const leaseMs = wanted.leaseMs ?? drawnMs;
  const allowanceMs = random.pick([leaseMs / 10, leaseMs / 10, leaseMs / 4]);
  return {
    isStrict,
    leaseMs,
    clockAllowanceMs: wanted.clockAllowanceMs ?? allowanceMs,
    durationMs: wanted.durationMs ?? random.between(4, 12) * SECOND,
  };
}

/** The work that the processes of this plan do: at least one kind of it. */
function drawWork(random: Random, { only, work }: Wanted): readonly Work[] {
  if (work !== undefined) return work;
  const allowed = only === undefined ? WORK : WORK.filter((work) => only.some((part) => uses(part, work)));
  const drawn = allowed.filter((work) => random.percent(work === 'actors' ? 70 : 30));
  const fallback = random.between(0, allowed.length - 1);
  return drawn.length > 0 ? drawn : allowed.slice(fallback, fallback + 1);
}

const uses = (part: Part, work: Work): boolean => PARTS[part].some((each) => each === work);

function drawLocks(random: Random, { only, locks }: Wanted): readonly string[] {
  if (locks !== undefined) return locks;
  const named = LOCK_NAMES.filter(
    (name) => only === undefined || only.some((part) => name.startsWith(part) || part === PART_OF[name]),
  );
  const drawn = named.filter(() => random.percent(50));
  return drawn.length > 0 ? drawn : named;
}

/** The locks whose names do not begin with the name of their part. */
const PART_OF: Readonly<Record<string, Part>> = { 'read-mostly': 'reader-writer' };

function drawProcess(
  random: Random,
  work: readonly Work[],
  index: number,
  { idleMs, thinkMs, longHoldPercent, upgradesAgain }: Wanted,
): ProcessPlan {
  const count = (kind: Work, most: number): number =>
    work.includes(kind) && (index < 2 || random.percent(60)) ? random.between(1, most) : 0;
  return {
    seed: random.between(0, 0x7f_ff_ff_ff),
    isPolling: random.percent(20),
    thinkMs: thinkMs ?? random.pick([5, 40]),
    idleMs: idleMs ?? random.pick([20, 60, 300]),
    longHoldPercent: longHoldPercent ?? random.pick([2, 2, 25]),
    ...(upgradesAgain === undefined ? {} : { upgradesAgain }),
    actors: count('actors', 3),
    bursts: count('bursts', 1),
    candidates: count('candidates', 1),
    jobs: count('jobs', 1),
    quorums: count('quorums', 2),
  };
}
