import { readFileSync, readdirSync } from 'node:fs';

/** The unit in which Linux reports, whatever the tick of the kernel is. */
const MS_PER_TICK = 10;

interface Usage {
  readonly pid: number;
  readonly parent: number;
  readonly usedMs: number;
}

/** Processor time so far of a process and of all processes that it started; `undefined` except on Linux. */
export function processorMsOf(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined;
  const names = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const usages = names.map(usageOf).filter((usage) => usage !== undefined);
  const family = new Set([pid]);
  // A process can have a smaller number than its parent, so one pass may not be enough.
  for (let size = 0; size < family.size;) {
    size = family.size;
    for (const usage of usages) if (family.has(usage.parent)) family.add(usage.pid);
  }
  return usages.reduce((sum, usage) => sum + (family.has(usage.pid) ? usage.usedMs : 0), 0);
}

function usageOf(pid: string): Usage | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name is in brackets and may contain anything.
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    // Its own user and system time, then that of its children that have ended.
    const ticks = fields.slice(11, 15).reduce((sum, each) => sum + each, 0);
    return { pid: Number(pid), parent: fields[1] ?? 0, usedMs: ticks * MS_PER_TICK };
  } catch {
    // The process has ended meanwhile.
    return undefined;
  }
}
