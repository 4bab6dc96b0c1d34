import { readFile, readdir } from 'node:fs/promises';

/** The unit in which Linux counts, whatever the kernel's own clock does. */
const MS_PER_TICK = 10;

interface Usage {
  readonly pid: number;
  readonly parent: number;
  readonly usedMs: number;
}

/** Processor time of a process and of all that it has started; `undefined` where nobody tells. */
export async function processorMsOfFamily(pid: number): Promise<number | undefined> {
  if (process.platform !== 'linux') return undefined;
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const usages = (await Promise.all(names.map(usageOf))).filter((usage) => usage !== undefined);
  const family = new Set([pid]);
  // A process can have a smaller number than its parent, so one pass may not be enough.
  for (let size = 0; size < family.size;) {
    size = family.size;
    for (const usage of usages) if (family.has(usage.parent)) family.add(usage.pid);
  }
  return usages.reduce((sum, usage) => sum + (family.has(usage.pid) ? usage.usedMs : 0), 0);
}

async function usageOf(pid: string): Promise<Usage | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  // The name stands in brackets and may contain anything.
  const fields = stat
    ?.slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  if (fields === undefined) return undefined;
  // User and system time of its own, then of its children that have ended.
  const ticks = fields.slice(11, 15).reduce((sum, each) => sum + each, 0);
  return { pid: Number(pid), parent: fields[1] ?? 0, usedMs: ticks * MS_PER_TICK };
}
