// What it costs to hold many locks and to do nothing with them.
import { built } from '../built.js';
import type { Idle, IdleDuties } from '../processes/idle-process.js';
import { RemoteProcess } from '../remote-process.js';
import { defineScenario } from '../scenario.js';
import type { Cell } from '../table.js';

/** None is the floor: what a connected process costs anyway. */
const STEPS = [0, 100, 1_000, 10_000] as const;

/** What the extension of so many leases takes at least: an update and a read for as many as go into one batch. */
const LEASES_PER_BATCH = 256;

export const idle = defineScenario({
  name: 'idle',
  about: '100 to 10,000 locks held by one process that does nothing else',
  parts: [],
  sizes: [1, 3],
  settings: {
    leaseMs: { meaning: 'lease of all of them', usual: 15_000, thorough: 30_000 },
    ticks: { meaning: 'thirds of a lease that are measured', usual: 1, thorough: 3 },
    most: { meaning: 'how many locks at most', usual: 10_000 },
  },
  async run({ settings: { leaseMs, ticks, most }, report, open }) {
    await using bench = await open();
    const file = new URL('../processes/idle-process.ts', import.meta.url);
    await using holder = new RemoteProcess<IdleDuties>(await built(file), ['--expose-gc']);
    await holder.ask('connect', bench.uri, bench.dbName, leaseMs);
    const seconds = (ticks * leaseMs) / 3_000;
    const rows: Cell[][] = [];
    let emptyBytes = NaN;
    let last: (Idle & { readonly bytes: number; readonly holds: number }) | undefined;
    for (const holds of STEPS.filter((step) => step <= most)) {
      await holder.ask('hold', holds);
      let found: Idle | undefined;
      const serverMs = await bench.load.during(async () => {
        found = await holder.ask('idle', seconds * 1_000);
      });
      if (found === undefined) throw new Error('nothing was measured');
      if (holds === 0) emptyBytes = found.heapBytes;
      // Of fewer, the heap of everything else moves by more than they take.
      const bytes = holds < 1_000 ? NaN : (found.heapBytes - emptyBytes) / holds;
      last = { ...found, bytes, holds };
      rows.push([
        ...[holds, found.commands / ticks, 2 * Math.ceil(holds / LEASES_PER_BATCH), bytes / 1_024],
        ...[found.processorMs / seconds, serverMs / seconds, holds === 0 ? NaN : found.leastLeftMs / leaseMs],
      ]);
    }
    await holder.ask('letGo');
    report.table(
      `Held by one process, lease ${leaseMs / 1_000} s`,
      [
        ...['locks held', 'commands per third of a lease', 'at least', 'heap per hold, KB'],
        ...['client CPU, ms/s', 'server CPU, ms/s', 'least left / lease'],
      ],
      rows,
    );
    if (last === undefined || last.holds === 0) return;
    const title = `${last.holds.toLocaleString('en')} holds`;
    report.gate({
      name: `${title}: commands per third of a lease`,
      measured: last.commands / ticks,
      must: '≤',
      bound: 100,
    });
    report.gate({ name: `${title}: heap per hold, KB`, measured: last.bytes / 1_024, must: '≤', bound: 2 });
    // Two thirds are left when an extension is due; one third when the next one is, and then this one came late.
    report.gate({
      name: `${title}: least left / lease`,
      measured: last.leastLeftMs / leaseMs,
      must: '≥',
      bound: 1 / 3,
    });
    report.gate({ name: `${title}: lost`, measured: last.lost, must: '=', bound: 0 });
  },
});
