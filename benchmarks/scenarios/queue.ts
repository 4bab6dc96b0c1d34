// What a long queue adds to a hand-over: the time of its update, and the bytes that it writes to the oplog.
import { setMaxListeners } from 'node:events';
import { LockProvider } from '../../src/index.js';
import type { LockHandle } from '../../src/index.js';
import { BareWrite } from '../floor.js';
import { sleep, timeOf } from '../measure.js';
import { Oplog } from '../oplog.js';
import type { Report } from '../report.js';
import { defineScenario } from '../scenario.js';
import { describeRatio, median, ratioOf } from '../../lab/statistics.js';
import type { Workbench } from '../workbench.js';

const LENGTHS = [8, 50, 200, 500] as const;
const PROVIDERS = 4;

/** After this time the event of a hand-over, and the new request of the previous holder, disturb no measurement. */
const QUIET_MS = 4;

export const queue = defineScenario({
  name: 'queue',
  about: 'a hand-over with 8 to 500 waiters behind it',
  parts: [],
  sizes: [1, 3],
  settings: {
    blocks: { meaning: 'blocks, which should agree', usual: 5, thorough: 9 },
    rounds: { meaning: 'rounds of a block; each is one hand-over of every lock', usual: 40, thorough: 80 },
  },
  async run({ settings: { blocks, rounds }, report, open }) {
    await using bench = await open();
    const bare = new BareWrite(bench.client(), bench.dbName);
    await bare.prepare();
    const providers = Array.from(
      { length: PROVIDERS },
      () => new LockProvider(bench.client().db(bench.dbName), { leaseMs: 60_000, createIndexes: false }),
    );
    const leaving = new AbortController();
    setMaxListeners(0, leaving.signal);
    const lines = LENGTHS.map((length) => new Line(`queue of ${length}`, providers, leaving.signal));
    for (const [index, line] of lines.entries()) await line.fill(LENGTHS[index] ?? 0);
    await goRound(20, bare, lines);
    const found: Round[] = [];
    for (let block = 0; block < blocks; block += 1) found.push(await goRound(rounds, bare, lines));
    const bytes = await bytesPerHandOver(bench, bare, lines);
    leaving.abort();
    await Promise.all(lines.map((line) => line.end()));
    await Promise.all(providers.map((locks) => locks.close()));
    describe(report, found, bytes);
  },
});

/** One block: the times of the floor, and those of each line. */
interface Round {
  readonly floorMs: readonly number[];
  readonly handOversMs: readonly (readonly number[])[];
}

/** Measures the floor and a hand-over of every lock, in turn. */
async function goRound(rounds: number, bare: BareWrite, lines: readonly Line[]): Promise<Round> {
  const floorMs: number[] = [];
  const handOversMs = lines.map((): number[] => []);
  for (let round = 0; round < rounds; round += 1) {
    floorMs.push(await timeOf(() => bare.run()));
    for (const [index, line] of lines.entries()) {
      handOversMs[index]?.push(await line.handOver());
      await sleep(QUIET_MS);
    }
  }
  return { floorMs, handOversMs };
}

async function bytesPerHandOver(
  bench: Workbench,
  bare: BareWrite,
  lines: readonly Line[],
): Promise<readonly number[]> {
  const oplog = new Oplog(bench.client());
  const before = await oplog.now();
  await goRound(10, bare, lines);
  return await Promise.all(
    lines.map(async ({ name }) => {
      const entries = await oplog.since(before, `${bench.dbName}.distributed.locks`, name);
      return median(entries.filter(({ entry }) => isHandOver(entry)).map(({ bytes }) => bytes));
    }),
  );
}

/** One lock and its queue, which keeps its length: every holder waits again after its release. */
class Line {
  readonly name: string;
  readonly #providers: readonly LockProvider[];
  readonly #leaving: AbortSignal;
  readonly #waits: Promise<unknown>[] = [];
  #holder: LockHandle | undefined;
  #next: (lock: LockHandle) => void = () => undefined;
  #joined = 0;

  constructor(name: string, providers: readonly LockProvider[], leaving: AbortSignal) {
    this.name = name;
    this.#providers = providers;
    this.#leaving = leaving;
  }

  async fill(length: number): Promise<void> {
    const granted = this.#granted();
    this.#join();
    await granted;
    for (let waiter = 0; waiter < length; waiter += 1) this.#join();
    while (((await this.#providers[0]?.inspect(this.name))?.waiters.length ?? 0) < length) await sleep(20);
  }

  /** Releases, which gives the lock to the next waiter. Returns the time of the release, after the grant. */
  async handOver(): Promise<number> {
    const granted = this.#granted();
    const tookMs = await timeOf(async () => this.#holder?.release());
    await granted;
    this.#join();
    return tookMs;
  }

  async end(): Promise<void> {
    await Promise.all(this.#waits);
    await this.#holder?.release();
  }

  async #granted(): Promise<void> {
    this.#holder = await new Promise<LockHandle>((resolve) => {
      this.#next = resolve;
    });
  }

  /** Providers take turns, so that the next holder belongs to another provider. */
  #join(): void {
    const locks = this.#providers[this.#joined % this.#providers.length];
    this.#joined += 1;
    const wait = locks?.acquireMutex(this.name, { signal: this.#leaving }).then(
      (lock) => {
        this.#next(lock);
      },
      () => undefined,
    );
    if (wait !== undefined) this.#waits.push(wait);
  }
}

/** True if the document or the difference names the released attempt and the attempt that got the lock. */
const isHandOver = (entry: unknown): boolean =>
  / -w[0-9a-f]+:\d+ \S+:w[0-9a-f]+:\d+"/.test(JSON.stringify(entry));

function describe(report: Report, found: readonly Round[], bytes: readonly number[]): void {
  const floorMs = found.flatMap((round) => round.floorMs);
  const floor = median(floorMs);
  report.timing('bare findOneAndUpdate', floorMs);
  const rows = LENGTHS.map((length, index) => {
    const blocks = found.map(({ handOversMs }) => ({
      lockMs: handOversMs[index] ?? [],
      floorMs: handOversMs[0] ?? [],
    }));
    const allMs = blocks.flatMap(({ lockMs }) => lockMs);
    report.timing(`hand-over with ${length} waiters`, allMs);
    return { length, ms: median(allMs), ratio: ratioOf(blocks), bytes: bytes[index] ?? NaN };
  });
  report.table(
    'The update that hands over',
    ['waiters', 'p50, ms', '/ bare write', '/ 8 waiters', 'oplog, bytes'],
    rows.map((row) => [row.length, row.ms, row.ms / floor, row.ratio.ofMedians, row.bytes]),
  );
  report.plot({
    title: 'The update that hands over',
    kind: 'lines',
    x: { label: 'waiters', values: [...LENGTHS] },
    y: 'ms, p50',
    series: [
      { name: 'hand-over', values: rows.map(({ ms }) => ms) },
      { name: 'bare write', values: rows.map(() => floor) },
    ],
  });
  const longest = rows.at(-1);
  if (longest === undefined) return;
  const { ratio } = longest;
  report.note('with 500 waiters / with 8', describeRatio(ratio));
  report.atMost('hand-over update p50, 500 waiters / 8', ratio.ofMedians, 1.5, ratio.isSteady);
  report.atMost('oplog bytes per hand-over, 500 waiters', longest.bytes, 1_024);
}
