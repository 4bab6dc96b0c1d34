// The cost of holding many locks and doing nothing with them.
import type { Cell } from '../findings.js';
import { RemoteProcess } from '../processes/remote-process.js';
import { defineScenario } from '../scenario.js';

/** The step without holds is the floor: the cost of a connected process. */
const STEPS = [0, 100, 1_000, 10_000] as const;

/** One batch extends up to this many leases, and takes one update and one read. */
const LEASES_PER_BATCH = 256;

export const idle = defineScenario({
  name: 'idle',
  about: '100 to 10,000 locks held by one process that does nothing else',
  sizes: [1, 3],
  settings: {
    leaseMs: { meaning: 'lease of all of them', usual: 15_000, thorough: 30_000 },
    ticks: { meaning: 'thirds of a lease that are measured', usual: 1, thorough: 3 },
    most: { meaning: 'the largest number of locks', usual: 10_000 },
  },
  async run({ settings: { leaseMs, ticks, most }, report, bench }) {
    await using holder = await RemoteProcess.start(bench.place);
    await holder.ask('prepare', leaseMs);
    const seconds = (ticks * leaseMs) / 3_000;
    const rows: Cell[][] = [];
    let emptyBytes = NaN;
    const steps = STEPS.filter((step) => step <= most);
    for (const holds of steps) {
      await holder.ask('hold', holds);
      const before = bench.serverMs();
      const found = await holder.ask('idle', seconds * 1_000);
      const serverMs = bench.serverMs() - before;
      if (holds === 0) emptyBytes = found.heapBytes;
      // With fewer holds, the rest of the heap varies by more than the holds take.
      const kilobytes = holds < 1_000 ? NaN : (found.heapBytes - emptyBytes) / holds / 1_024;
      rows.push([
        ...[holds, found.commands / ticks, 2 * Math.ceil(holds / LEASES_PER_BATCH), kilobytes],
        ...[found.processorMs / seconds, serverMs / seconds, found.leastLeftMs / leaseMs],
      ]);
      if (holds === 0 || holds !== steps.at(-1)) continue;
      const title = `${holds.toLocaleString('en')} holds`;
      report.gate(`${title}: commands per third of a lease`, found.commands / ticks, '≤', 100);
      report.gate(`${title}: heap per hold, KB`, kilobytes, '≤', 2);
      // An extension is due when two thirds of a lease are left. If only one third is left, it came a whole period late.
      report.gate(`${title}: least left / lease`, found.leastLeftMs / leaseMs, '≥', 1 / 3);
      report.gate(`${title}: lost`, found.lost, '=', 0);
    }
    await holder.ask('giveBack');
    report.table(
      `Held by one process, lease ${leaseMs / 1_000} s`,
      [
        ...['locks held', 'commands per third of a lease', 'at least', 'heap per hold, KB'],
        ...['client CPU, ms/s', 'server CPU, ms/s', 'least left / lease'],
      ],
      rows,
    );
  },
});
