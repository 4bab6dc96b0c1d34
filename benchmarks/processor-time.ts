import { readFileSync, readdirSync } from 'node:fs';
import { sum } from '../lab/statistics.js';

/** The unit in which Linux reports, whatever the tick of the kernel is. */
const MS_PER_TICK = 10;

/** Processor time so far of a process and of its children that have ended; NaN if it has ended, or if this is not Linux. */
export function processorMsOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the process is in brackets and may contain anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return MS_PER_TICK * fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0);
  } catch {
    return NaN;
  }
}

/** The time that each thread of some processes has run so far, in ms. Linux counts it in nanoseconds. */
export type ThreadTimes = ReadonlyMap<string, number>;

/** Empty if this is not Linux. */
export function threadTimesOf(pids: readonly number[]): ThreadTimes {
  return new Map(pids.flatMap((pid) => threadsOf(`/proc/${pid}/task`)));
}

/** The processor time between two looks; NaN if nothing was seen. A thread that ended in between is left out. */
export function processorMsBetween(before: ThreadTimes, after: ThreadTimes): number {
  if (before.size === 0 || after.size === 0) return NaN;
  return sum([...after].map(([thread, ms]) => ms - (before.get(thread) ?? 0)));
}

function threadsOf(folder: string): readonly (readonly [string, number])[] {
  try {
    return readdirSync(folder).flatMap((thread) => timeOfThread(`${folder}/${thread}/schedstat`));
  } catch {
    return [];
  }
}

/** The first number of the file; nothing if the thread has just ended. */
function timeOfThread(file: string): readonly (readonly [string, number])[] {
  try {
    return [[file, Number(readFileSync(file, 'utf8').split(' ')[0]) / 1e6]];
  } catch {
    return [];
  }
}
