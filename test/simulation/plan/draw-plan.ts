import { randomFrom } from '../../../lab/random.js';
import type { Random } from '../../../lab/random.js';
import { LOCK_NAMES } from '../../faults/workload/wishes.js';
import { FAULT_KINDS, QUORUM_SETS, setsOf, WORK } from './plan.js';
import type { FaultKind, FaultStep, Plan, ProcessPlan, Work } from './plan.js';

/** The words of `--only`, and the work that each of them leaves. */
export const PARTS = {
  mutex: ['actors'],
  'reader-writer': ['actors'],
  semaphore: ['actors'],
  groups: ['bursts'],
  elections: ['candidates'],
  jobs: ['jobs'],
  quorum: ['quorums'],
} as const satisfies Readonly<Record<string, readonly Work[]>>;

export type Part = keyof typeof PARTS;

export const isPart = (word: string): word is Part => word in PARTS;

/** What is fixed in advance; the seed decides the rest. */
export interface Wanted {
  /** Default: all parts. */
  readonly only?: readonly Part[] | undefined;
  /** The work of every process; the parts decide it otherwise. */
  readonly work?: readonly Work[] | undefined;
  readonly isStrict?: boolean | undefined;
  readonly leaseMs?: number | undefined;
  readonly clockAllowanceMs?: number | undefined;
  readonly durationMs?: number | undefined;
  readonly faults?: readonly FaultKind[] | undefined;
  /** The shortest and the longest time that a fault lasts. */
  readonly faultMs?: readonly [number, number] | undefined;
  /** The longest time from the beginning or from the last fault of a kind to its next one. */
  readonly pauseMs?: number | undefined;
  /** The names of the locks that actors want. */
  readonly locks?: readonly string[] | undefined;
  readonly idleMs?: number | undefined;
  /** As in `Stage`. */
  readonly paceMs?: number | undefined;
  readonly thinkMs?: number | undefined;
  readonly longHoldPercent?: number | undefined;
  readonly upgradesAgain?: boolean | undefined;
  /** The number of processes. */
  readonly count?: number | undefined;
}

const SECOND = 1_000;

/** No hold may be lost under these. */
const MILD: readonly FaultKind[] = ['the primary steps down', 'replies are lost', 'change streams break'];

/** A fault of this kind follows the last one after at most so long. */
const PAUSE_MS = 6 * SECOND;

/** A fault lasts no longer than some of these. */
const LONGEST_LEASE_MS = 2 * SECOND;

/** Draws everything from the seed. Swarm: each seed does without some kinds of faults, work and locks. */
export function drawPlan(seed: number, wanted: Wanted = {}): Plan {
  const random = randomFrom(scattered(seed));
  const draw = (): number => random.between(0, 0x7f_ff_ff_ff);
  // Each part has its own random numbers, so that what is wanted of one part does not change another one.
  const [ofFrame, ofWork, ofFaults] = [randomFrom(draw()), randomFrom(draw()), randomFrom(draw())];
  const frame = drawFrame(ofFrame, wanted);
  const work = drawWork(ofWork, wanted);
  const drawnCount = ofWork.between(2, 5);
  const processes = Array.from({ length: wanted.count ?? drawnCount }, (_, index) =>
    drawProcess(ofWork, work, index, wanted),
  );
  const { paceMs } = wanted;
  const pace = paceMs === undefined ? {} : { paceMs };
  const plan = { seed, ...frame, ...pace, locks: drawLocks(ofWork, wanted), processes };
  return { ...plan, faults: drawFaults(ofFaults, plan, wanted) };
}

/** Neighbouring seeds would otherwise begin with similar numbers. */
function scattered(seed: number): number {
  const mixed = Math.imul(seed ^ (seed >>> 15), 0x2c_1b_3c_6d);
  return Math.imul(mixed ^ (mixed >>> 12), 0x29_7a_2d_39) ^ (mixed >>> 15);
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

type Drawn = Omit<Plan, 'faults'>;

function drawFaults(random: Random, plan: Drawn, wanted: Wanted): readonly FaultStep[] {
  const allowed = plan.isStrict ? MILD : FAULT_KINDS;
  const kinds = wanted.faults ?? allowed.filter(() => random.percent(40));
  const steps = kinds.flatMap((kind) => drawSteps(kind, random, plan, wanted));
  return withinAllowance(steps, plan).toSorted((a, b) => a.atMs - b.atMs);
}

function drawSteps(
  kind: FaultKind,
  random: Random,
  plan: Drawn,
  { faultMs, pauseMs }: Wanted,
): readonly FaultStep[] {
  const steps: FaultStep[] = [];
  const [firstMs, leastMs, mostMs] = pauseMs === undefined ? [100, 200, PAUSE_MS] : [0, 1, pauseMs];
  for (let atMs = random.between(firstMs, mostMs); atMs < plan.durationMs;) {
    const set = random.percent(60) ? 0 : random.between(0, QUORUM_SETS - 1);
    const victim = random.between(0, plan.processes.length - 1);
    const forMs = faultMs === undefined ? drawLength(kind, random, plan) : random.between(...faultMs);
    steps.push({ kind, atMs, forMs, victim, set, amount: drawAmount(kind, random, plan) });
    atMs += forMs + random.between(leastMs, mostMs);
    if (kind === 'a process crashes' && steps.length >= plan.processes.length - 1) break;
  }
  return steps;
}

function drawLength(kind: FaultKind, random: Random, { isStrict, leaseMs }: Drawn): number {
  if (kind === 'the primary steps down' || kind === 'the primary is cut off from the other members') {
    return isStrict ? random.between(100, 1_200) : random.between(100, 4_000);
  }
  const ms = Math.min(leaseMs, LONGEST_LEASE_MS);
  return random.percent(50) ? random.between(20, ms / 2) : random.between(ms / 2, 2.5 * ms);
}

function drawAmount(kind: FaultKind, random: Random, { isStrict, clockAllowanceMs, leaseMs }: Drawn): number {
  if (COUNTED.includes(kind)) return random.between(1, 6);
  if (kind === 'replies are late') {
    return random.between(1, isStrict || random.percent(60) ? 200 : Math.floor(leaseMs / 2));
  }
  const isMoved = kind === 'the clock of the primary is moved';
  return isMoved ? random.between(1, Math.max(1, Math.floor(clockAllowanceMs / 2))) : 0;
}

/** Faults that befall so many messages. */
const COUNTED: readonly FaultKind[] = ['replies are lost', 'requests come late', 'requests are lost'];

/** The clocks of one set differ by at most the sum of all their moves, which stays within the allowance of holds. */
function withinAllowance(steps: readonly FaultStep[], plan: Drawn): readonly FaultStep[] {
  const { clockAllowanceMs } = plan;
  const movedMs = new Map<number, number>();
  return steps.filter(({ kind, set: drawn, amount }) => {
    if (kind !== 'the clock of the primary is moved') return true;
    const set = drawn % setsOf(plan);
    const sumMs = (movedMs.get(set) ?? 0) + amount;
    if (sumMs >= clockAllowanceMs) return false;
    movedMs.set(set, sumMs);
    return true;
  });
}
