// What open change streams cost everybody's writes: the server looks at every write for every stream.
import { BareWrite } from '../floor.js';
import type { StreamDuties } from '../processes/stream-process.js';
import { RemoteProcess } from '../remote-process.js';
import { defineScenario } from '../scenario.js';
import { distributionOf, median } from '../statistics.js';

/** None is the floor. */
const COUNTS = [0, 8, 32, 64] as const;

export const streams = defineScenario({
  name: 'streams',
  about: 'a write that has nothing to do with locks, while 0 to 64 change streams are open',
  parts: [],
  sizes: [1],
  settings: {
    rounds: { meaning: 'rounds; each is a block with every number of streams', usual: 3, thorough: 5 },
    blockMs: { meaning: 'how long a block is measured', usual: 1_500 },
  },
  async run({ settings: { rounds, blockMs }, report, open }) {
    await using bench = await open();
    const bare = new BareWrite(bench.client(), bench.dbName);
    await bare.prepare();
    await using listener = new RemoteProcess<StreamDuties>(
      new URL('../processes/stream-process.ts', import.meta.url),
    );
    const found = COUNTS.map(() => ({ tookMs: [] as number[], serverMs: [] as number[] }));
    await writeFor(bare, blockMs);
    for (let round = 0; round < rounds; round += 1) {
      for (const [index, count] of COUNTS.entries()) {
        await listener.ask('keepOpen', bench.uri, bench.dbName, count);
        let tookMs: readonly number[] = [];
        const serverMs = await bench.load.during(async () => {
          tookMs = await writeFor(bare, blockMs);
        });
        found[index]?.tookMs.push(...tookMs);
        found[index]?.serverMs.push(serverMs / tookMs.length);
      }
    }
    await listener.ask('close');
    const rows = found.map(({ tookMs, serverMs }) => ({
      ...distributionOf(tookMs),
      serverMs: median(serverMs),
    }));
    const [none = { p50: NaN, serverMs: NaN }] = rows;
    report.table(
      'A bare write beside open change streams',
      ['open streams', 'p50, ms', 'p99, ms', 'p50 / with none', 'server CPU per write, ms', '/ with none'],
      rows.map((row, index) => [
        ...[COUNTS[index] ?? NaN, row.p50, row.p99, row.p50 / none.p50],
        ...[row.serverMs, row.serverMs / none.serverMs],
      ]),
    );
    report.plot({
      title: 'What open change streams cost every write',
      kind: 'lines',
      x: { label: 'open change streams', values: [...COUNTS] },
      y: 'ms',
      series: [
        { name: 'server CPU per write', values: rows.map(({ serverMs }) => serverMs) },
        { name: 'a write, p50', values: rows.map(({ p50 }) => p50) },
      ],
    });
    if (Number.isNaN(none.serverMs)) report.note('server CPU', 'not known: the server was not started here');
  },
});

/** One after the other. */
async function writeFor(bare: BareWrite, blockMs: number): Promise<readonly number[]> {
  const tookMs: number[] = [];
  for (const endMs = performance.now() + blockMs; performance.now() < endMs;) {
    const startedMs = performance.now();
    await bare.run();
    tookMs.push(performance.now() - startedMs);
  }
  return tookMs;
}
