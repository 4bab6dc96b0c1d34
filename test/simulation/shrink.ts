import type { Violation } from '../faults/verdict.js';
import type { Plan, ProcessPlan } from './plan/plan.js';
import { OTHER_WORK, WORK } from './plan/plan.js';
import { runPlan } from './run-plan.js';

/** What a smaller plan has to show again: the same judge, and the same invariant. */
const keyOf = ({ checker, invariant }: Violation): string => `${checker} ${invariant}`;

export interface Shrunk {
  readonly plan: Plan;
  readonly violations: readonly Violation[];
  readonly runs: number;
}

/** Drops faults, processes, work and time as long as a plan without them fails alike. */
export async function shrink(plan: Plan, violations: readonly Violation[], boundMs: number): Promise<Shrunk> {
  const endMs = performance.now() + boundMs;
  const keys = new Set(violations.map(keyOf));
  let best: Shrunk = { plan, violations, runs: 0 };
  const isBetter = async (smaller: Plan): Promise<boolean> => {
    const found = await runPlan(smaller);
    best = { ...best, runs: best.runs + 1 };
    if (!found.violations.some((each) => keys.has(keyOf(each)))) return false;
    best = { ...best, plan: smaller, violations: found.violations };
    return true;
  };
  for (let isSmaller = true; isSmaller;) {
    isSmaller = false;
    const { plan: from } = best;
    for (const smaller of smallerThan(from)) {
      if (performance.now() > endMs) return best;
      if (!(await isBetter(smaller))) continue;
      isSmaller = true;
      break;
    }
  }
  return best;
}

/** Plans that lack something of this one; those that lack most come first. */
export function* smallerThan(plan: Plan): Iterable<Plan> {
  const { faults, processes, durationMs } = plan;
  for (let size = Math.ceil(faults.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < faults.length; from += size) {
      yield { ...plan, faults: faults.toSpliced(from, size) };
    }
  }
  for (const index of processes.keys()) if (processes.length > 1) yield withoutProcess(plan, index);
  for (const [index, process] of processes.entries()) {
    for (const smaller of lessWork(process)) {
      yield { ...plan, processes: processes.with(index, smaller) };
    }
  }
  if (plan.locks.length > 1) {
    for (const index of plan.locks.keys()) yield { ...plan, locks: plan.locks.toSpliced(index, 1) };
  }
  const { operations = [], schedule, ...others } = plan;
  if (schedule !== undefined) yield { ...others, ...(plan.operations === undefined ? {} : { operations }) };
  if (operations.length > 1) {
    for (const index of operations.keys()) yield { ...plan, operations: operations.toSpliced(index, 1) };
  }
  for (const share of [0.5, 0.8]) {
    const shorterMs = Math.floor(durationMs * share);
    if (shorterMs < 200) continue;
    yield { ...plan, durationMs: shorterMs, faults: faults.filter(({ atMs }) => atMs < shorterMs) };
  }
}

function withoutProcess(plan: Plan, gone: number): Plan {
  const faults = plan.faults
    .filter(({ kind, victim }) => !kind.startsWith('a process') || victim !== gone)
    .map((step) => ({ ...step, victim: step.victim > gone ? step.victim - 1 : step.victim }));
  return { ...plan, faults, processes: plan.processes.toSpliced(gone, 1) };
}

function* lessWork(process: ProcessPlan): Iterable<ProcessPlan> {
  for (const work of [...WORK, ...OTHER_WORK]) {
    const count = process[work] ?? 0;
    if (count > 0) yield { ...process, [work]: 0 };
    if (count > 1) yield { ...process, [work]: count - 1 };
  }
}
