import type { Evidence } from '../world/world.js';
import { setsOf } from '../plan/plan.js';

/** The instant of an update, in ms of the journals' clock. It lies between the two, which differ if clocks were moved. */
export interface When {
  readonly earliestMs: number;
  readonly latestMs: number;
}

export type WhenOf = (wallMs: number) => When;

/** Servers tell whole milliseconds. */
const WHOLE_MS = 1;

/** When updates of the first replica set happened, by the clock of its primary, which is never behind. */
export function whenIn({ plan, history, aheadMs }: Evidence): WhenOf {
  const kind = 'the clock of the primary is moved';
  const steps = plan.faults.filter((step) => step.kind === kind);
  const begun = history.run.filter((line) => line.type === 'fault begins' && line.what === kind);
  const moves = begun.flatMap(({ atNs }, index) => {
    const step = steps[index];
    const isHere = step !== undefined && step.set % setsOf(plan) === 0;
    return isHere ? [{ ms: Number(atNs) / 1e6, byMs: step.amount }] : [];
  });
  return (wallMs) => {
    const latestMs = wallMs - aheadMs;
    const movedMs = moves.reduce((sum, { ms, byMs }) => (ms <= latestMs ? sum + byMs : sum), 0);
    return { earliestMs: latestMs - movedMs, latestMs: latestMs + WHOLE_MS };
  };
}
