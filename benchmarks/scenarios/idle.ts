// The cost of holding many locks and doing nothing with them.
import { built } from '../built.js';
import type { Cell } from '../findings.js';
import type { HolderDuties, Idle } from '../processes/holder-process.js';
import { RemoteProcess } from '../remote-process.js';
import { defineScenario } from '../scenario.js';

/** The step without holds is the floor: the cost of a connected process. */
const STEPS = [0, 100, 1_000, 10_000] as const;

/** One batch extends up to this many leases, and takes one update and one read. */
const LEASES_PER_BATCH = 256;

export const idle = defineScenario({
  name: 'idle',
  about: '100 to 10,000 locks held by one process that does nothing else',
  parts: [],
  sizes: [1, 3],
  settings: {
    leaseMs: { meaning: 'lease of all of them', usual: 15_000, thorough: 30_000 },
    ticks: { meaning: 'thirds of a lease that are measured', usual: 1, thorough: 3 },
    most: { meaning: 'the largest number of locks', usual: 10_000 },
  },
  async run({ settings: { leaseMs, ticks, most }, report, open }) {
    await using bench = await open();
    const file = new URL('../processes/holder-process.ts', import.meta.url);
    await using holder = new RemoteProcess<HolderDuties>(await built(file), ['--expose-gc']);
    await holder.ask('connect', bench.uri, bench.dbName, leaseMs);
    const seconds = (ticks * leaseMs) / 3_000;
    const rows: Cell[][] = [];
    let emptyBytes = NaN;
    let last: (Idle & { readonly kilobytes: number; readonly holds: number }) | undefined;
    for (const holds of STEPS.filter((step) => step <= most)) {
      await holder.ask('hold', holds);
      let found: Idle | undefined;
      const serverMs = await bench.serverMsDuring(async () => {
        found = await holder.ask('idle', seconds * 1_000);
      });
      if (found === undefined) throw new Error('nothing was measured');
      if (holds === 0) emptyBytes = found.heapBytes;
      // With fewer holds, the rest of the heap varies by more than the holds take.
      const kilobytes = holds < 1_000 ? NaN : (found.heapBytes - emptyBytes) / holds / 1_024;
      last = { ...found, kilobytes, holds };
      rows.push([
        ...[holds, found.commands / ticks, 2 * Math.ceil(holds / LEASES_PER_BATCH), kilobytes],
        ...[found.processorMs / seconds, serverMs / seconds, holds === 0 ? NaN : found.leastLeftMs / leaseMs],
      ]);
    }
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
    report.atMost(`${title}: commands per third of a lease`, last.commands / ticks, 100);
    report.atMost(`${title}: heap per hold, KB`, last.kilobytes, 2);
    // An extension is due when two thirds of a lease are left. If only one third is left, it came a whole period late.
    report.atLeast(`${title}: least left / lease`, last.leastLeftMs / leaseMs, 1 / 3);
    report.exactly(`${title}: lost`, last.lost, 0);
  },
});
