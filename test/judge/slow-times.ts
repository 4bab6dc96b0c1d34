import type { RunLine } from '../faults/history.js';
import { overlapNs } from './overlap.js';

/** Returns how long the store was slow between two times of the monotonic clock, in ms. */
export function slowTimesIn(run: readonly RunLine[]): (fromMs: number, untilMs: number) => number {
  const spans = run.flatMap((line) =>
    line.type === 'store was slow' ? [{ fromNs: Number(line.sinceNs), untilNs: Number(line.atNs) }] : [],
  );
  return (fromMs, untilMs) => overlapNs(spans, fromMs * 1e6, untilMs * 1e6) / 1e6;
}
