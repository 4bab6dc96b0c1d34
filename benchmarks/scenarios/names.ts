// The cost of locks that nobody has used before, such as one for each invoice: one at a time, and many at once.
import { median, percentile } from '../../lab/statistics.js';
import type { Blocks } from '../measure.js';
import { blocksOf, CROWDS, CROWD_HEAD, FIGURES, ratiosOf, rowsOf } from '../crowd-figures.js';
import type { Crowded } from '../crowd-figures.js';
import { measureCrowds } from '../processes/crowds.js';
import type { CrowdPace } from '../processes/crowds.js';
import { RemoteProcess } from '../processes/remote-process.js';
import type { CallName, Turns } from '../processes/single-calls.js';
import type { Report } from '../report.js';
import { defineScenario } from '../scenario.js';
import type { Workbench } from '../workbench.js';

const FLOOR = 'bare driver';
const OURS = 'leasehold';

/** A call beside its floor, both one at a time. */
interface Pair {
  readonly lock: CallName;
  readonly floor: CallName;
  readonly gate: string;
  readonly bound: number;
}

const CYCLES: readonly Pair[] = [
  {
    ...{ lock: 'cycle of a new lock', floor: 'two bare writes of a new document' },
    ...{ gate: 'cycle of a new lock p50 / two bare writes p50', bound: 1.3 },
  },
  {
    ...{ lock: 'cycle of the same lock', floor: 'two bare writes of the same document' },
    ...{ gate: 'cycle of the same lock p50 / two bare writes p50', bound: 1.25 },
  },
];

/**
 * The bound is the figure of a build that sent the update of each lock alone: a lonely acquire must not wait for company.
 */
const LONELY: readonly Pair[] = [
  {
    ...{ lock: 'acquire of a new lock', floor: 'bare insert by upsert' },
    ...{ gate: 'lonely acquire of a new lock p50 / bare upsert p50', bound: 1.8 },
  },
];

const TOGETHER: readonly Pair[] = [
  {
    ...{ lock: 'acquireAll of 5 new locks', floor: 'acquire of a new lock' },
    ...{ gate: 'acquireAll of 5 new locks p50 / one acquire p50', bound: 1.5 },
  },
  {
    ...{ lock: 'acquireAll of 20 new locks', floor: 'acquire of a new lock' },
    ...{ gate: 'acquireAll of 20 new locks p50 / one acquire p50', bound: 2.5 },
  },
];

/** The bounds of the cycles per second, as multiples of the floor's. */
const RATE_BOUNDS = { 16: 1.5, 64: 3, 256: 4 } as const;

/** The crowd in which processor time and the slowest cycles are judged. */
const JUDGED = 64;
const PROCESSOR_TIME_BOUND = 0.4;
const SLOWEST_BOUND = 2;

/** Before a lonely call, the process and its server have been idle for this time. */
const LONELY_MS = 5;

const WARM_UP_ROUNDS = 100;

export const names = defineScenario({
  name: 'names',
  about:
    'locks that nobody has used before, one at a time and many at once, against two bare writes for each',
  parts: ['cycle', 'lonely', 'together', 'crowd'],
  sizes: [1, 3],
  settings: {
    blocks: { meaning: 'blocks of single calls, which should agree', usual: 4, thorough: 9 },
    rounds: { meaning: 'rounds of a block; each round makes every call once', usual: 50, thorough: 200 },
    togetherRounds: { meaning: 'the same for acquireAll', usual: 12, thorough: 60 },
    crowdRounds: { meaning: 'rounds; each has a block of every load and crowd', usual: 5, thorough: 9 },
    blockMs: { meaning: 'how long a block of a crowd is measured, at least', usual: 300, thorough: 1_000 },
  },
  async run({ settings, report, wants, bench }) {
    const { blocks, rounds, togetherRounds, crowdRounds, blockMs } = settings;
    {
      await using single = await RemoteProcess.start(bench.place);
      const turns = { blocks, rounds, pauseMs: 0 };
      if (wants('cycle')) await measurePairs(single, CYCLES, turns, report);
      if (wants('lonely')) await measurePairs(single, LONELY, { ...turns, pauseMs: LONELY_MS }, report);
      if (wants('together')) {
        await measurePairs(single, TOGETHER, { ...turns, rounds: togetherRounds }, report);
      }
    }
    if (wants('crowd')) await measureBoth(bench, { rounds: crowdRounds, blockMs }, report);
  },
});

/** Makes all calls of the pairs in turn. */
async function measurePairs(
  single: RemoteProcess,
  pairs: readonly Pair[],
  turns: Turns,
  report: Report,
): Promise<void> {
  const calls = [...new Set(pairs.flatMap(({ floor, lock }) => [floor, lock]))];
  const warmUpRounds = Math.min(WARM_UP_ROUNDS, turns.rounds);
  await single.ask('callInTurn', calls, { ...turns, blocks: 1, rounds: warmUpRounds });
  const found = await single.ask('callInTurn', calls, turns);
  const blocksOfCall = (call: CallName): Blocks => found[calls.indexOf(call)] ?? [];
  const title = turns.pauseMs === 0 ? '' : `, each after ${turns.pauseMs} ms of rest`;
  for (const call of calls) report.timing(`${call}${title}`, blocksOfCall(call).flat());
  for (const { lock, floor, gate, bound } of pairs) {
    const floors = blocksOfCall(floor);
    const both = blocksOfCall(lock).map((lockMs, block) => ({ lockMs, floorMs: floors[block] ?? [] }));
    report.ratio(gate, both, bound);
  }
}

async function measureBoth(bench: Workbench, pace: CrowdPace, report: Report): Promise<void> {
  const { place, serverPids } = bench;
  const loads = [FLOOR, OURS] as const;
  const crowded = await measureCrowds(
    loads.map((load) => ({ load, place, serverPids })),
    pace,
    place,
  );
  report.table('A new lock for each cycle', CROWD_HEAD, rowsOf(crowded));
  const rates = loads.map((load) =>
    CROWDS.map((atOnce) => median(blocksOf(crowded, load, atOnce).map(FIGURES['cycles per second']))),
  );
  report.plot({
    ...{ title: 'Cycles of new locks, and pairs of bare writes', kind: 'line', y: 'per second' },
    ...{ x: { label: 'at once', values: CROWDS }, series: rates.toReversed() },
  });
  judge(crowded, report);
}

function judge(crowded: Crowded, report: Report): void {
  for (const [atOnce, bound] of Object.entries(RATE_BOUNDS)) {
    const ratios = ratiosOf(crowded, 'cycles per second', { of: OURS, to: FLOOR, atOnce: Number(atOnce) });
    report.blockRatios(`new locks, ${atOnce} at once: cycles/s / bare driver's`, ratios, '≥', bound);
  }
  // The median of the blocks: over all blocks together, the cycles of a slow minute would be the slowest ones.
  const slowest = blocksOf(crowded, OURS, JUDGED).map(
    ({ tookMs }) => percentile(tookMs, 0.99) / median(tookMs),
  );
  report.blockRatios(`new locks, ${JUDGED} at once: cycle p99 / p50`, slowest, '≤', SLOWEST_BOUND);
  for (const figure of ['client CPU a cycle', 'server CPU a cycle'] as const) {
    const name = `new locks, ${JUDGED} at once: ${figure} / bare driver's`;
    const ratios = ratiosOf(crowded, figure, { of: OURS, to: FLOOR, atOnce: JUDGED });
    if (ratios.every(Number.isFinite)) report.blockRatios(name, ratios, '≤', PROCESSOR_TIME_BOUND);
    else report.note(name, 'unknown: the server was not started here, or this is not Linux');
  }
}
