import type { Random } from '../../../lab/random.js';
import { FAULT_KINDS, QUORUM_SETS, setsOf } from './plan.js';
import type { FaultKind, FaultStep, Plan } from './plan.js';
import type { Wanted } from './wanted.js';

const SECOND = 1_000;

/** No hold may be lost under these. */
const MILD: readonly FaultKind[] = ['the primary steps down', 'replies are lost', 'change streams break'];

/** A fault of this kind follows the last one after at most so long. */
const PAUSE_MS = 6 * SECOND;

/** A fault lasts no longer than some of these. */
const LONGEST_LEASE_MS = 2 * SECOND;

const OLDEST_COPY_MS = 5 * SECOND;

export type Drawn = Omit<Plan, 'faults'>;

export function drawFaults(random: Random, plan: Drawn, wanted: Wanted): readonly FaultStep[] {
  const allowed = plan.isStrict ? MILD : FAULT_KINDS;
  const kinds = wanted.faults ?? allowed.filter(() => random.percent(40));
  const steps = kinds.flatMap((kind) => drawSteps(kind, random, plan, wanted));
  return withinAllowance(steps, plan).toSorted((a, b) => a.atMs - b.atMs);
}

export function drawSteps(
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
  if (kind === 'an old copy is restored') return random.between(1, 300);
  const ms = Math.min(leaseMs, LONGEST_LEASE_MS);
  return random.percent(50) ? random.between(20, ms / 2) : random.between(ms / 2, 2.5 * ms);
}

function drawAmount(kind: FaultKind, random: Random, { isStrict, clockAllowanceMs, leaseMs }: Drawn): number {
  if (COUNTED.includes(kind)) return random.between(1, 6);
  if (kind === 'replies are late') {
    return random.between(1, isStrict || random.percent(60) ? 200 : Math.floor(leaseMs / 2));
  }
  if (kind === 'an old copy is restored') return random.between(1, OLDEST_COPY_MS);
  const isMoved = kind === 'the clock of the primary is moved';
  return isMoved ? random.between(1, Math.max(1, Math.floor(clockAllowanceMs / 2))) : 0;
}

/** Faults that befall so many messages. */
const COUNTED: readonly FaultKind[] = [
  ...(['replies are lost', 'requests come late', 'requests are lost'] as const),
  'requests come twice',
];

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
