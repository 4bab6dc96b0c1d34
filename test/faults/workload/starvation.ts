import type { WorkerLine } from '../history.js';
import type { Journal } from './journal.js';
import type { WorkerTime } from './worker-time.js';

const BEAT_MS = 25;

/** A shorter delay is not worth a line: judges allow the report of a loss four times as much. */
const MIN_STARVATION_MS = 250;

/** The clock of a worker, and the processor time that its process has used. */
export interface Consumption extends Pick<WorkerTime, 'nowNs' | 'every'> {
  processorMs(): number;
}

export const processorMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

/**
 * Writes down when the machine gave this process too little time: a timer was late, and the process used the processor
 * for less than half of the time since the beat before. A loop that the process blocks by its own work is no such case.
 * Returns a function that ends the watch.
 */
export function watchStarvation(journal: Journal<WorkerLine>, time: Consumption): () => void {
  let [beatNs, usedMs] = [time.nowNs(), time.processorMs()];
  return time.every(BEAT_MS, () => {
    const [nowNs, nowUsedMs] = [time.nowNs(), time.processorMs()];
    const passedMs = Number(nowNs - beatNs) / 1e6;
    if (passedMs >= MIN_STARVATION_MS && nowUsedMs - usedMs < passedMs / 2) {
      journal.write({ type: 'starved', sinceNs: String(beatNs) }, String(nowNs));
    }
    [beatNs, usedMs] = [nowNs, nowUsedMs];
  });
}
