// How a contended mutex behaves as more and more processes want it all the time.
import { Ring } from '../processes/ring.js';
import type { Contention } from '../processes/ring.js';
import type { Report } from '../report.js';
import { defineScenario } from '../scenario.js';
import { distributionOf, jainIndex, median } from '../statistics.js';

const SIZES = [2, 4, 8, 16, 32] as const;

interface Row {
  readonly processes: number;
  readonly floorsMs: readonly number[];
  readonly contentions: readonly Contention[];
}

export const contention = defineScenario({
  name: 'contention',
  about: '2 to 32 processes that hold a mutex for 5 ms and think for 5 ms',
  parts: [],
  sizes: [1],
  settings: {
    rounds: { meaning: 'rounds; each is a block of the floor and one of the lock', usual: 2, thorough: 4 },
    blockMs: { meaning: 'how long a block of the lock is measured', usual: 2_500 },
    most: { meaning: 'how many processes at most', usual: 32 },
  },
  async run({ settings: { rounds, blockMs, most }, report, open }) {
    await using bench = await open();
    const sizes = SIZES.filter((processes) => processes <= most);
    await using ring = await Ring.start(Math.max(...sizes), bench);
    const rows: Row[] = [];
    for (const processes of sizes) rows.push(await measure(ring, processes, rounds, blockMs));
    describe(report, rows);
  },
});

async function measure(ring: Ring, processes: number, rounds: number, blockMs: number): Promise<Row> {
  const pace = { processes, holdMs: 5, thinkMs: 5 };
  const floorsMs: number[] = [];
  const contentions: Contention[] = [];
  for (let round = 0; round < rounds; round += 1) {
    floorsMs.push(...(await ring.bounce({ ...pace, blockMs: 1_000 })).tookMs);
    contentions.push(await ring.contend({ ...pace, blockMs }));
  }
  return { processes, floorsMs, contentions };
}

function describe(report: Report, rows: readonly Row[]): void {
  const figures = rows.map(({ processes, floorsMs, contentions }) => ({
    processes,
    floor: median(floorsMs),
    handOver: distributionOf(contentions.flatMap(({ handOversMs }) => handOversMs)),
    wait: distributionOf(contentions.flatMap(({ waitsMs }) => waitsMs)),
    grants: contentions.flatMap(({ grantsEach }) => grantsEach).reduce((sum, count) => sum + count, 0),
    fairness: Math.min(...contentions.map(({ grantsEach }) => jainIndex(grantsEach))),
  }));
  report.table(
    'One mutex, hold 5 ms, think 5 ms; times in ms',
    [
      ...['processes', 'floor p50', 'hand-over p50', 'p99', '/ floor'],
      ...['wait p50', 'p99', 'max', 'grants', "Jain's index"],
    ],
    figures.map(({ processes, floor, handOver, wait, grants, fairness }) => [
      ...[processes, floor, handOver.p50, handOver.p99, handOver.p50 / floor],
      ...[wait.p50, wait.p99, wait.max, grants, fairness],
    ]),
  );
  const x = { label: 'processes', values: rows.map(({ processes }) => processes) };
  report.plot({
    title: 'Hand-over among processes',
    kind: 'lines',
    x,
    y: 'ms',
    series: [
      { name: 'hand-over p50', values: figures.map(({ handOver }) => handOver.p50) },
      { name: 'hand-over p99', values: figures.map(({ handOver }) => handOver.p99) },
      { name: 'floor p50', values: figures.map(({ floor }) => floor) },
    ],
  });
  report.plot({
    title: 'Wait for the lock',
    kind: 'lines',
    x,
    y: 'ms',
    series: [
      { name: 'p50', values: figures.map(({ wait }) => wait.p50) },
      { name: 'p99', values: figures.map(({ wait }) => wait.p99) },
      { name: 'longest', values: figures.map(({ wait }) => wait.max) },
    ],
  });
}
