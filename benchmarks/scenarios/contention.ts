// How a contended mutex behaves as more and more processes want it all the time.
import { inTurn } from '../measure.js';
import { Ring } from '../processes/ring.js';
import type { Contention } from '../processes/ring.js';
import { defineScenario } from '../scenario.js';
import { distributionOf, jainIndex, median } from '../../lab/statistics.js';
import type { Distribution } from '../../lab/statistics.js';

const SIZES = [2, 4, 8, 16, 32] as const;

interface Row {
  readonly processes: number;
  readonly floor: number;
  readonly handOver: Distribution;
  readonly wait: Distribution;
  readonly grants: number;
  readonly fairness: number;
}

export const contention = defineScenario({
  name: 'contention',
  about: '2 to 32 processes that hold a mutex for 5 ms and think for 5 ms',
  parts: [],
  sizes: [1],
  settings: {
    rounds: { meaning: 'rounds; each is a block of the floor and one of the lock', usual: 2, thorough: 4 },
    blockMs: { meaning: 'how long a block of the lock is measured', usual: 2_500 },
    most: { meaning: 'the largest number of processes', usual: 32 },
  },
  async run({ settings: { rounds, blockMs, most }, report, open }) {
    await using bench = await open();
    const sizes = SIZES.filter((processes) => processes <= most);
    await using ring = await Ring.start(Math.max(...sizes), bench);
    const rows: Row[] = [];
    for (const processes of sizes) rows.push(await measure(ring, processes, rounds, blockMs));
    report.table(
      'One mutex, hold 5 ms, think 5 ms; times in ms',
      [
        ...['processes', 'floor p50', 'hand-over p50', 'p99', '/ floor'],
        ...['wait p50', 'p99', 'max', 'grants', "Jain's index"],
      ],
      rows.map(({ processes, floor, handOver, wait, grants, fairness }) => [
        ...[processes, floor, handOver.p50, handOver.p99, handOver.p50 / floor],
        ...[wait.p50, wait.p99, wait.max, grants, fairness],
      ]),
    );
    const x = { label: 'processes', values: sizes };
    const line = (name: string, of: (row: Row) => number) => ({ name, values: rows.map(of) });
    report.plot({
      ...{ title: 'Hand-over among processes', kind: 'lines', x, y: 'ms' },
      series: [
        line('hand-over p50', ({ handOver }) => handOver.p50),
        line('hand-over p99', ({ handOver }) => handOver.p99),
        line('floor p50', ({ floor }) => floor),
      ],
    });
    report.plot({
      ...{ title: 'Wait for the lock', kind: 'lines', x, y: 'ms' },
      series: [
        line('p50', ({ wait }) => wait.p50),
        line('p99', ({ wait }) => wait.p99),
        line('longest', ({ wait }) => wait.max),
      ],
    });
  },
});

async function measure(ring: Ring, processes: number, rounds: number, blockMs: number): Promise<Row> {
  const pace = { processes, holdMs: 5, thinkMs: 5 };
  const contentions: Contention[] = [];
  const blocks = await inTurn(rounds, {
    floorMs: () => ring.bounce({ ...pace, blockMs: 1_000 }),
    lockMs: async () => {
      const found = await ring.contend({ ...pace, blockMs });
      contentions.push(found);
      return found.handOversMs;
    },
  });
  return {
    processes,
    floor: median(blocks.flatMap(({ floorMs }) => floorMs)),
    handOver: distributionOf(blocks.flatMap(({ lockMs }) => lockMs)),
    wait: distributionOf(contentions.flatMap(({ waitsMs }) => waitsMs)),
    grants: contentions.flatMap(({ grantsEach }) => grantsEach).reduce((sum, count) => sum + count, 0),
    fairness: Math.min(...contentions.map(({ grantsEach }) => jainIndex(grantsEach))),
  };
}
