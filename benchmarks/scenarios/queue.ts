// The cost that a long queue adds to a hand-over: the time of its update, and the bytes that it writes to the oplog.
import { BSON } from 'mongodb';
import type { Timestamp } from 'mongodb';
import type { LockHandle, LockProvider } from '../../src/index.js';
import { inTurn, sleep, timeOf } from '../measure.js';
import { defineScenario } from '../scenario.js';
import { median, ratioOf } from '../../lab/statistics.js';
import type { Workbench } from '../workbench.js';

const LENGTHS = [8, 50, 200, 500] as const;
const PROVIDERS = 4;
const WARM_UP_ROUNDS = 20;

/** After this time the event of a hand-over, and the new request of the previous holder, disturb no measurement. */
const QUIET_MS = 4;

export const queue = defineScenario({
  name: 'queue',
  about: 'a hand-over with 8 to 500 waiters behind it',
  sizes: [1, 3],
  settings: {
    blocks: { meaning: 'blocks, which should agree', usual: 5, thorough: 9 },
    rounds: { meaning: 'rounds of a block; each is one hand-over of every lock', usual: 40, thorough: 80 },
  },
  async run({ settings: { blocks, rounds }, report, bench }) {
    const bare = await bench.bareWrite();
    const options = { leaseMs: 60_000, createIndexes: false };
    const providers = Array.from({ length: PROVIDERS }, () => bench.provider(options));
    const lines = LENGTHS.map((length) => new Line(length, providers));
    for (const line of lines) await line.fill();

    const calls = [() => timeOf(bare), ...lines.map((line) => () => line.handOver())];
    // These hand-overs are not measured: they compile the code.
    await inTurn(1, WARM_UP_ROUNDS, calls);
    const [floorMs = [], ...found] = await inTurn(blocks, rounds, calls);
    const bytes: number[] = [];
    for (const line of lines) bytes.push(await bytesPerHandOver(bench, line));
    await Promise.all(providers.map((locks) => locks.close({ drainMs: 0 })));

    report.timing('bare findOneAndUpdate', floorMs.flat());
    const floor = median(floorMs.flat());
    const rows = found.map((tookMs, index) => {
      const waiters = LENGTHS[index] ?? NaN;
      report.timing(`hand-over with ${waiters} waiters`, tookMs.flat());
      const toShortest = tookMs.map((lockMs, block) => ({ lockMs, floorMs: found[0]?.[block] ?? [] }));
      return { waiters, ms: median(tookMs.flat()), toShortest, bytes: bytes[index] ?? NaN };
    });
    report.table(
      'The update that hands over',
      ['waiters', 'p50, ms', '/ bare write', '/ 8 waiters', 'oplog, bytes'],
      rows.map(({ waiters, ms, toShortest, bytes }) => [
        ...[waiters, ms, ms / floor, ratioOf(toShortest).ofMedians, bytes],
      ]),
    );
    report.plot({
      ...{ title: 'The update that hands over, and a bare write', kind: 'line', y: 'ms, p50' },
      x: { label: 'waiters', values: LENGTHS },
      series: [rows.map(({ ms }) => ms), rows.map(() => floor)],
    });
    const longest = rows.at(-1);
    if (longest === undefined) return;
    report.ratio('hand-over update p50, 500 waiters / 8', longest.toShortest, 1.5);
    report.gate('oplog bytes per hand-over, 500 waiters', longest.bytes, '≤', 1_024);
  },
});

/** One lock and its queue, which keeps its length: every holder waits again after its release. */
class Line {
  readonly name: string;
  readonly #length: number;
  readonly #providers: readonly LockProvider[];
  #holder: LockHandle | undefined;
  #onGrant: (lock: LockHandle) => void = () => undefined;
  #joined = 0;

  constructor(length: number, providers: readonly LockProvider[]) {
    this.name = `queue of ${length}`;
    this.#length = length;
    this.#providers = providers;
  }

  async fill(): Promise<void> {
    const granted = this.#nextGrant();
    for (let member = 0; member <= this.#length; member += 1) this.#join();
    await granted;
    const [locks] = this.#providers;
    while (((await locks?.inspect(this.name))?.waiters.length ?? 0) < this.#length) await sleep(20);
  }

  /** Releases, which gives the lock to the next waiter. Returns the time of the release, after the grant. */
  async handOver(): Promise<number> {
    const granted = this.#nextGrant();
    const tookMs = await timeOf(async () => this.#holder?.release());
    await granted;
    this.#join();
    await sleep(QUIET_MS);
    return tookMs;
  }

  async #nextGrant(): Promise<void> {
    this.#holder = await new Promise<LockHandle>((resolve) => {
      this.#onGrant = resolve;
    });
  }

  /** Providers take turns, so that the next holder belongs to another provider. */
  #join(): void {
    const locks = this.#providers[this.#joined % this.#providers.length];
    this.#joined += 1;
    // At the end, closing the providers ends the waits.
    locks?.acquireMutex(this.name).then(
      (lock) => {
        this.#onGrant(lock);
      },
      () => undefined,
    );
  }
}

/** The median size of the oplog entries that hand the lock over. Every other member has to fetch and apply them. */
async function bytesPerHandOver(bench: Workbench, line: Line): Promise<number> {
  const oplog = bench.client().db('local').collection('oplog.rs');
  const [last] = await oplog.find().sort({ $natural: -1 }).limit(1).toArray();
  for (let round = 0; round < 10; round += 1) await line.handOver();
  const ns = `${bench.place.dbName}.distributed.locks`;
  const isOfLock = [{ 'o2._id': line.name }, { 'o._id': line.name }];
  const entries = await oplog.find({ ts: { $gt: last?.['ts'] as Timestamp }, ns, $or: isOfLock }).toArray();
  return median(entries.filter(isHandOver).map((entry) => BSON.calculateObjectSize(entry)));
}

/** True if the document or the difference names the released attempt and the attempt that got the lock. */
const isHandOver = (entry: unknown): boolean =>
  / -w[0-9a-f]+:\d+ \S+:w[0-9a-f]+:\d+"/.test(JSON.stringify(entry));
