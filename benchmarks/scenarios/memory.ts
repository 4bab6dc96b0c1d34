// What a process keeps of the names that it has locked once, such as one for each invoice: nothing.
import type { Cell } from '../findings.js';
import { RemoteProcess } from '../processes/remote-process.js';
import { defineScenario } from '../scenario.js';

/** The first step is the floor: the same process after fewer names. */
const STEPS = [10_000, 100_000, 200_000, 500_000, 1_000_000] as const;

const FLOOR: number = STEPS[0];

/**
 * The bound is for the heap without compiled code: V8 goes on compiling functions that run often, whatever the names.
 * One byte for each name would be 8 % of the rest at the last step.
 */
const BOUND = 1.05;

const MEGABYTE = 2 ** 20;

export const memory = defineScenario({
  name: 'memory',
  about: '10,000 to 1,000,000 different names, each locked once by one process: its heap afterwards',
  sizes: [1],
  settings: {
    most: { meaning: 'the largest number of names', usual: 100_000, thorough: 1_000_000 },
    warmUp: { meaning: 'cycles of the first 10,000 names before the first look', usual: 100_000 },
    atOnce: { meaning: 'how many names are locked at the same time', usual: 256 },
  },
  async run({ settings: { most, warmUp, atOnce }, report, bench }) {
    await using user = await RemoteProcess.start(bench.place);
    await user.ask('warmUp', FLOOR, warmUp, atOnce);
    const rows: Cell[][] = [];
    let floorBytes = NaN;
    let before = FLOOR;
    for (const count of STEPS.filter((step) => step <= most)) {
      const { heapBytes, codeBytes, tookMs } = await user.ask('lockNewNames', count, atOnce);
      const dataBytes = heapBytes - codeBytes;
      if (count === FLOOR) floorBytes = dataBytes;
      const ratio = dataBytes / floorBytes;
      const perSecond = (1_000 * (count - before)) / tookMs;
      rows.push([count, dataBytes / MEGABYTE, codeBytes / MEGABYTE, ratio, perSecond || NaN]);
      before = count;
      if (count > FLOOR)
        report.gate(
          `heap without code after ${shown(count)} names / after ${FLOOR_NAMES}`,
          ratio,
          '≤',
          BOUND,
        );
    }
    report.table(
      `Names locked once each, ${String(atOnce)} at once`,
      ['names', 'heap without code, MB', 'compiled code, MB', `/ after ${FLOOR_NAMES}`, 'names per second'],
      rows,
    );
  },
});

const shown = (count: number): string => count.toLocaleString('en');
const FLOOR_NAMES = shown(FLOOR);
