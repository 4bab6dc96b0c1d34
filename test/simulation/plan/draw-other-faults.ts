import type { Random } from '../../../lab/random.js';
import { drawSteps } from './draw-faults.js';
import { OTHER_FAULT_KINDS } from './plan.js';
import type { FaultKind, OtherFaultKind, Plan } from './plan.js';
import type { Wanted } from './wanted.js';

/** So many of a hundred worlds have one of these faults at least, where no other faults are wanted. */
const SHARE_PERCENT = 20;

/** No hold may be lost under these. */
const MILD: readonly OtherFaultKind[] = ['requests come twice', 'change streams are silent'];

/** Adds the faults that are drawn by themselves, and leaves everything else as it was drawn. */
export function withOtherFaults(random: Random, plan: Plan, wanted: Wanted): Plan {
  const isDrawn = random.percent(SHARE_PERCENT) && wanted.faults === undefined;
  const possible = OTHER_FAULT_KINDS.filter((kind) => isPossible(kind, plan));
  const first = possible[random.between(0, possible.length - 1)];
  const drawn = possible.filter((kind) => random.percent(45) || kind === first);
  const beside = wanted.beside?.filter((kind) => possible.includes(kind));
  const kinds = beside ?? (isDrawn ? drawn : []);
  const steps = kinds.flatMap((kind) => drawSteps(kind, random, plan, wanted));
  if (steps.length === 0) return plan;
  return { ...plan, faults: [...plan.faults, ...steps].toSorted((a, b) => a.atMs - b.atMs) };
}

function isPossible(kind: OtherFaultKind, { isStrict, faults }: Plan): boolean {
  if (isStrict) return MILD.includes(kind);
  // After a restore, tokens rise only if the clock of the server does not fall behind them.
  return kind !== 'an old copy is restored' || !faults.some((step) => step.kind === CLOCK_MOVES);
}

const CLOCK_MOVES: FaultKind = 'the clock of the primary is moved';
