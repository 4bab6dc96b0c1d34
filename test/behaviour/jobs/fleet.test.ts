import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { randomFrom } from '../../../lab/random.js';
import { Child } from '../../../lab/processes/child.js';
import { useProgram } from '../../support/built-program.js';
import { startReplicaSet } from '../../../lab/mongo-server/start.js';
import type { MongoServer } from '../../../lab/mongo-server/start.js';
import { eventually } from '../../../lab/patience.js';
import { drawSeed } from '../../support/seed.js';
import { randomName } from '../../support/test-provider.js';
import type { FleetLine, FleetOrder, FleetTask } from './fleet-lines.js';

const EVERY_MS = 120;
const LEASE_MS = 10_000;
const WORKERS = 5;
/** A fault follows after this many runs, three times. About one run in 20 is an overrun. */
const STARTS = 55;

let server: MongoServer;
const program = useProgram(new URL('fleet-worker.ts', import.meta.url));

beforeAll(async () => {
  server = await startReplicaSet({ members: 3, say: () => undefined });
});

afterAll(async () => {
  await server.stop();
});

type Worker = Child<FleetOrder, FleetLine>;

/** The processes of one job, and the log that they all append to. */
class Fleet implements AsyncDisposable {
  readonly #database = randomName('test');
  readonly #random = randomFrom(drawSeed('a fleet'));
  readonly #workers: Worker[] = [];

  /** The lines of the log, in the order of the clock that all processes share. */
  get lines(): readonly FleetLine[] {
    const lines = this.#workers.flatMap((worker) => worker.lines);
    return lines.sort((a, b) => Number(BigInt(a.atNs) - BigInt(b.atNs)));
  }

  get starts(): number {
    return this.lines.filter(({ says }) => says === 'start').length;
  }

  async hire(): Promise<void> {
    const task: FleetTask = {
      ...{ uri: server.uri, database: this.#database },
      ...{ everyMs: EVERY_MS, leaseMs: LEASE_MS, seed: this.#random.between(0, 1e9) },
    };
    const worker: Worker = new Child([program.path, JSON.stringify(task)]);
    this.#workers.push(worker);
    await worker.heard('ready');
  }

  async untilStarts(count: number): Promise<void> {
    await eventually(`${count} runs`, () => this.starts >= count, 180_000);
  }

  /** Makes the leader kill itself in the middle of its next run, and starts another worker. */
  async killLeader(): Promise<void> {
    const last = this.lines.findLast(({ says }) => says === 'start');
    const leader = this.#workers.find(({ lines }) => last !== undefined && lines.includes(last));
    leader?.order({ do: 'die' });
    await eventually('the death of the leader', () => leader?.hasEnded);
    await this.hire();
  }

  async stop(): Promise<void> {
    const living = this.#workers.filter(({ hasEnded }) => !hasEnded);
    for (const worker of living) worker.order({ do: 'stop' });
    await Promise.all(living.map((worker) => worker.endsByItself()));
    expect(this.#workers.map(({ stderr }) => stderr).join('')).toBe('');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker[Symbol.asyncDispose]()));
  }
}

async function stepDown(): Promise<void> {
  const client = new MongoClient(server.uri);
  try {
    await client.db('admin').command({ replSetStepDown: 20, secondaryCatchUpPeriodSecs: 10 });
  } finally {
    await client.close();
  }
}

/** Runs that started while another run went on. */
function overlaps(lines: readonly FleetLine[]): readonly FleetLine[] {
  const going = new Set<number>();
  return lines.filter((line) => {
    if (line.says === 'start') return going.add(line.firedAtMs).size > 1;
    if (line.says === 'end' || line.says === 'dies') going.delete(line.firedAtMs);
    return false;
  });
}

it('a job of five processes runs once at most for each instant and never twice at a time, over two dead leaders and a failover, and reports what it misses', async () => {
  await using fleet = new Fleet();
  await Promise.all(Array.from({ length: WORKERS }, () => fleet.hire()));
  await fleet.untilStarts(STARTS);
  await fleet.killLeader();
  await fleet.untilStarts(2 * STARTS);
  await stepDown();
  await fleet.untilStarts(3 * STARTS);
  await fleet.killLeader();
  await fleet.untilStarts(4 * STARTS);
  await fleet.stop();

  const { lines } = fleet;
  expect(overlaps(lines)).toEqual([]);
  const started = lines.flatMap((line) => (line.says === 'start' ? [line.firedAtMs] : []));
  expect(started).toEqual([...new Set(started)].sort((a, b) => a - b));
  const [firstMs = NaN, lastMs = NaN] = [started[0], started.at(-1)];
  const instants = (lastMs - firstMs) / EVERY_MS + 1;
  expect(instants).toBeGreaterThanOrEqual(4 * STARTS);
  const told = lines.flatMap((line) => (line.says === 'missed' && line.lastMs < lastMs ? [line] : []));
  const count = (why: string): number =>
    told.filter((line) => line.why === why).reduce((sum, line) => sum + line.count, 0);
  const [noLeader, overrun] = [count('no-leader'), count('overrun')];
  console.log(
    `${instants} instants: ${started.length} started, ${noLeader} missed without a leader, ${overrun} by an overrun`,
  );
  expect(instants - started.length).toBe(noLeader + overrun);
  expect([noLeader > 0, overrun > 0]).toEqual([true, true]);
  const isTold = (ms: number): boolean => told.some((line) => line.firstMs <= ms && ms <= line.lastMs);
  expect(started.filter(isTold)).toEqual([]);
  expect(lines.filter(({ says }) => says === 'dies')).toHaveLength(2);
});
