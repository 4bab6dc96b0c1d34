import { readFileSync } from 'node:fs';

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
