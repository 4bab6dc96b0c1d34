// What a long queue adds to a hand-over: the time of its update, and what that writes to the oplog.
import { setMaxListeners } from 'node:events';
import { LockProvider } from '../../src/index.js';
import type { LockHandle } from '../../src/index.js';
import { BareWrite } from '../floor.js';
import { Oplog } from '../oplog.js';
import { describeRatio, ratioOf } from '../ratio.js';
import type { Report } from '../report.js';
import { defineScenario } from '../scenario.js';
import { median } from '../statistics.js';
import type { Workbench } from '../workbench.js';
import { sleep } from '../worker-process.js';

const LENGTHS = [8, 50, 200, 500] as const;
const PROVIDERS = 4;

/** So that the event of a hand-over, and the request of whoever has left, are over before the next is measured. */
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
    const crowds = await Crowds.gather(bench);
    const timed = LENGTHS.map((): number[][] => []);
    const floors: number[][] = [];
    await crowds.goRound(20, bare);
    for (let block = 0; block < blocks; block += 1) {
      const { floorMs, handOversMs } = await crowds.goRound(rounds, bare);
      floors.push(floorMs);
      for (const [index, ms] of handOversMs.entries()) timed[index]?.push(ms);
    }
    const bytes = await crowds.bytesPerHandOver(bench, bare);
    await crowds.disperse();
    describe(report, floors.flat(), timed, bytes);
  },
});

/** For each length of queue a lock with that many waiters, all in this process. */
class Crowds {
  readonly #providers: readonly LockProvider[];
  readonly #leaving: AbortController;
  readonly #lines: readonly Line[];

  private constructor(providers: readonly LockProvider[], leaving: AbortController, lines: readonly Line[]) {
    this.#providers = providers;
    this.#leaving = leaving;
    this.#lines = lines;
  }

  static async gather(bench: Workbench): Promise<Crowds> {
    const providers = Array.from(
      { length: PROVIDERS },
      () => new LockProvider(bench.client().db(bench.dbName), { leaseMs: 60_000, createIndexes: false }),
    );
    const leaving = new AbortController();
    setMaxListeners(0, leaving.signal);
    const lines = LENGTHS.map((length) => new Line(`queue of ${length}`, providers, leaving.signal));
    for (const [index, length] of LENGTHS.entries()) await lines[index]?.fill(length);
    return new Crowds(providers, leaving, lines);
  }

  /** The floor and a hand-over of every lock, in turn. */
  async goRound(
    rounds: number,
    bare: BareWrite,
  ): Promise<{ readonly floorMs: number[]; readonly handOversMs: readonly number[][] }> {
    const floorMs: number[] = [];
    const handOversMs = this.#lines.map((): number[] => []);
    for (let round = 0; round < rounds; round += 1) {
      const startedMs = performance.now();
      await bare.run();
      floorMs.push(performance.now() - startedMs);
      for (const [index, line] of this.#lines.entries()) {
        handOversMs[index]?.push(await line.handOver());
        await sleep(QUIET_MS);
      }
    }
    return { floorMs, handOversMs };
  }

  async bytesPerHandOver(bench: Workbench, bare: BareWrite): Promise<readonly number[]> {
    const oplog = new Oplog(bench.client());
    const before = await oplog.now();
    await this.goRound(10, bare);
    const namespace = `${bench.dbName}.distributed.locks`;
    return await Promise.all(
      this.#lines.map(async ({ name }) => {
        const entries = await oplog.since(before, namespace, name);
        return median(entries.filter(({ entry }) => isHandOver(entry)).map(({ bytes }) => bytes));
      }),
    );
  }

  async disperse(): Promise<void> {
    this.#leaving.abort();
    await Promise.all(this.#lines.map((line) => line.end()));
    await Promise.all(this.#providers.map((locks) => locks.close()));
  }
}

/** One lock and its queue, which stays as long as it is: whoever has left waits again. */
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

  /** How long the release took, which gives the lock to the next; returns when that one has it. */
  async handOver(): Promise<number> {
    const granted = this.#granted();
    const startedMs = performance.now();
    await this.#holder?.release();
    const tookMs = performance.now() - startedMs;
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

  /** Providers take turns, so that the next holder is of another one. */
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

/** In the whole document or in the difference stands what was given back, and to whom it was given. */
const isHandOver = (entry: unknown): boolean =>
  / -w[0-9a-f]+:\d+ \S+:w[0-9a-f]+:\d+"/.test(JSON.stringify(entry));

function describe(
  report: Report,
  floorMs: readonly number[],
  timed: readonly (readonly number[][])[],
  bytes: readonly number[],
): void {
  report.timing('bare findOneAndUpdate', floorMs);
  const shortest = timed[0] ?? [];
  const rows = LENGTHS.map((length, index) => {
    const blocks = timed[index] ?? [];
    report.timing(`hand-over with ${length} waiters`, blocks.flat());
    const ratio = ratioOf(blocks.map((lockMs, block) => ({ lockMs, floorMs: shortest[block] ?? [] })));
    return { length, ms: median(blocks.flat()), ratio, bytes: bytes[index] ?? NaN };
  });
  report.table(
    'The update that hands over',
    ['waiters', 'p50, ms', '/ bare write', '/ 8 waiters', 'oplog, bytes'],
    rows.map((row) => [row.length, row.ms, row.ms / median(floorMs), row.ratio.ofMedians, row.bytes]),
  );
  report.plot({
    title: 'The update that hands over',
    kind: 'lines',
    x: { label: 'waiters', values: [...LENGTHS] },
    y: 'ms, p50',
    series: [
      { name: 'hand-over', values: rows.map(({ ms }) => ms) },
      { name: 'bare write', values: rows.map(() => median(floorMs)) },
    ],
  });
  const longest = rows.at(-1);
  if (longest === undefined) return;
  report.note('with 500 waiters / with 8', describeRatio(longest.ratio));
  report.gate({
    name: 'hand-over update p50, 500 waiters / 8',
    measured: longest.ratio.ofMedians,
    must: '≤',
    bound: 1.5,
    isSteady: longest.ratio.isSteady,
  });
  report.gate({
    name: 'oplog bytes per hand-over, 500 waiters',
    measured: longest.bytes,
    must: '≤',
    bound: 1_024,
  });
}
