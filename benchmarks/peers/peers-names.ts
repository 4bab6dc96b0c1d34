// The load of many new names, through other libraries on their own servers, in turn and in the same run.
import { median } from '../../lab/statistics.js';
import { blocksOf, CROWDS, CROWD_HEAD, FIGURES, ratiosOf, rowsOf } from '../crowd-figures.js';
import type { Crowded } from '../crowd-figures.js';
import { measureCrowds } from '../processes/crowds.js';
import type { ServedLoad } from '../processes/crowds.js';
import type { Report } from '../report.js';
import { defineScenario } from '../scenario.js';
import { LOADS } from './libraries.js';
import type { LoadName } from './libraries.js';
import { describePackages } from './packages.js';
import { Servers } from './servers.js';

const NAMES = Object.keys(LOADS) as LoadName[];
const OURS = 'leasehold';
const RIVAL = 'etcd3 lock';

const JUDGED = 64;
/** The cycles per second, as a multiple of the rival's, whose server keeps as much as MongoDB does. */
const RATE_BOUND = 3;

export const peersNames = defineScenario({
  name: 'peers-names',
  about:
    'a new lock for each cycle, many at once: this library, the bare driver, others on their own servers',
  sizes: [1],
  settings: {
    rounds: { meaning: 'rounds; each has a block of every load and crowd', usual: 3, thorough: 7 },
    blockMs: { meaning: 'how long a block is measured, at least', usual: 400, thorough: 1_000 },
  },
  async run({ settings: { rounds, blockMs }, report, bench }) {
    await using servers = await Servers.start(bench);
    const loads = NAMES.flatMap((load): readonly ServedLoad[] => {
      const server = servers.started.get(LOADS[load].server);
      return server === undefined ? [] : [{ load, place: server.place, serverPids: server.pids }];
    });
    const crowded = await measureCrowds(loads, { rounds, blockMs }, bench.place);
    describe(crowded, report);
    servers.describe(report);
    report.note('packages', describePackages());
    if (!crowded.has(RIVAL)) return;
    const ratios = ratiosOf(crowded, 'cycles per second', { of: OURS, to: RIVAL, atOnce: JUDGED });
    report.blockRatios(`new locks, ${JUDGED} at once: cycles/s / ${RIVAL}'s`, ratios, '≥', RATE_BOUND);
  },
});

function describe(crowded: Crowded, report: Report): void {
  const rateOf = (load: LoadName, atOnce: number): number =>
    median(blocksOf(crowded, load, atOnce).map(FIGURES['cycles per second']));
  const loads = [...crowded.keys()];
  report.table(
    'Cycles of new locks per second',
    ['at once', ...loads],
    CROWDS.map((atOnce) => [String(atOnce), ...loads.map((load) => rateOf(load, atOnce))]),
  );
  report.table('A new lock for each cycle', CROWD_HEAD, rowsOf(crowded));
  report.chart({
    ...{ title: 'Cycles of new locks per second', file: 'new-locks.svg', y: 'cycles per second' },
    x: { label: 'at once in one process', values: CROWDS },
    lines: [...loads]
      .sort((a, b) => Number(b === OURS) - Number(a === OURS))
      .map((load) => ({ name: load, values: CROWDS.map((atOnce) => rateOf(load, atOnce)) })),
  });
}
