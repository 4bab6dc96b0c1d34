import type { History } from '../faults/history.js';
import { overlapNs } from './overlap.js';
import { starvationIn } from './standing.js';

/** For how long something was slow between two times of the monotonic clock, in ms. */
export type SlowTimes = (fromMs: number, untilMs: number, worker?: number) => number;

/** Returns for how long the store was slow. With a worker: or for how long the machine did not let this worker run. */
export function slowTimesIn({ run, workers }: Pick<History, 'run' | 'workers'>): SlowTimes {
  const slow = run.flatMap((line) =>
    line.type === 'store was slow' ? [{ fromNs: Number(line.sinceNs), untilNs: Number(line.atNs) }] : [],
  );
  const byWorker = workers.map((lines) => [...slow, ...starvationIn(lines, Number)]);
  return (fromMs, untilMs, worker) => {
    const spans = worker === undefined ? slow : (byWorker[worker] ?? slow);
    return overlapNs(spans, fromMs * 1e6, untilMs * 1e6) / 1e6;
  };
}
