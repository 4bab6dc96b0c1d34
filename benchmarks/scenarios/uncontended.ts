// The cost of an acquire and of a release of a free lock, as ratios to a bare write, measured in turn.
import type { MongoClient } from 'mongodb';
import { LockProvider } from '../../src/index.js';
import type { LockHandle } from '../../src/index.js';
import type { Members } from '../findings.js';
import { BareWrite } from '../floor.js';
import { timeOf } from '../measure.js';
import type { Report } from '../report.js';
import { defineScenario } from '../scenario.js';
import { describeRatio, ratioOf } from '../../lab/statistics.js';
import type { Workbench } from '../workbench.js';

const WARM_UP_ROUNDS = 300;
const COUNTED_ROUNDS = 50;

/** On three members a write is slower, so the part that a lock adds to it is smaller. */
type Bounds = Readonly<Record<Members, number>>;

interface Subject {
  readonly acquireBounds: Bounds;
  take(locks: LockProvider): Promise<LockHandle>;
}

const OF_LISTS: Bounds = { 1: 1.35, 3: 1.2 };
const RELEASE_BOUND = 1.15;

const SUBJECTS: Readonly<Record<string, Subject>> = {
  mutex: { acquireBounds: { 1: 1.2, 3: 1.15 }, take: (locks) => locks.acquireMutex('mutex') },
  read: { acquireBounds: OF_LISTS, take: (locks) => locks.createReaderWriterLock('read').acquireRead() },
  write: { acquireBounds: OF_LISTS, take: (locks) => locks.createReaderWriterLock('write').acquireWrite() },
  semaphore: { acquireBounds: OF_LISTS, take: (locks) => locks.createSemaphore('semaphore', 5).acquire() },
};

export const uncontended = defineScenario({
  name: 'uncontended',
  about: 'an acquire and a release of a free lock, against a bare findOneAndUpdate',
  parts: Object.keys(SUBJECTS),
  sizes: [1, 3],
  settings: {
    blocks: { meaning: 'blocks, which should agree', usual: 6, thorough: 9 },
    rounds: { meaning: 'rounds of a block; each round makes every call once', usual: 200, thorough: 300 },
  },
  async run({ members, settings: { blocks, rounds }, report, wants, open }) {
    await using bench = await open();
    for (const [name, subject] of Object.entries(SUBJECTS)) {
      if (!wants(name)) continue;
      const commands = await countCommands(bench, subject);
      const measured = await measure(bench, subject, blocks, rounds);
      describe(report, name, measured, subject.acquireBounds[members]);
      report.exactly(`${name}: commands per acquire + release`, commands, 2);
    }
    if (wants('mutex')) {
      const name = 'writes to config.transactions per acquire + release';
      report.exactly(name, await bookkeepingPerHold(bench), 0);
    }
  },
});

type CallName = 'bare' | 'acquire' | 'release';

type Calls = Readonly<Record<CallName, () => Promise<unknown>>>;

/** How long each call took, in every round of a block. */
type Times = Readonly<Record<CallName, number[]>>;

/** The floor comes before an acquire as often as before a release. */
const ROUND: readonly CallName[] = ['bare', 'acquire', 'bare', 'release'];

async function measure(
  bench: Workbench,
  subject: Subject,
  blocks: number,
  rounds: number,
): Promise<readonly Times[]> {
  await using locks = new LockProvider(bench.client().db(bench.dbName));
  const bare = new BareWrite(bench.client(), bench.dbName);
  await bare.prepare();
  let lock: LockHandle | undefined;
  const calls: Calls = {
    bare: () => bare.run(),
    acquire: async () => {
      lock = await subject.take(locks);
    },
    release: async () => lock?.release(),
  };
  await runBlock(calls, WARM_UP_ROUNDS);
  const measured: Times[] = [];
  for (let block = 0; block < blocks; block += 1) measured.push(await runBlock(calls, rounds));
  return measured;
}

async function runBlock(calls: Calls, count: number): Promise<Times> {
  const times: Times = { bare: [], acquire: [], release: [] };
  for (let round = 0; round < count; round += 1) {
    for (const name of ROUND) times[name].push(await timeOf(calls[name]));
  }
  return times;
}

/** Counts on a connection of its own, because monitoring commands costs time. */
async function countCommands(bench: Workbench, subject: Subject): Promise<number> {
  const client = bench.client({ monitorCommands: true });
  await using locks = new LockProvider(client.db(bench.dbName));
  // The first contact also reads the server's clock, and creates the index.
  await (await subject.take(locks)).release();
  await locks.ensureIndexes();
  let commands = 0;
  client.on('commandStarted', () => {
    commands += 1;
  });
  for (let round = 0; round < COUNTED_ROUNDS; round += 1) await (await subject.take(locks)).release();
  return commands / COUNTED_ROUNDS;
}

/** For a write that the driver may repeat by itself, the server writes a record to config.transactions. */
async function bookkeepingPerHold(bench: Workbench): Promise<number> {
  const client = bench.client();
  await using locks = new LockProvider(client.db(bench.dbName));
  await (await locks.acquireMutex('mutex')).release();
  const before = await bookkeepingWrites(client);
  for (let round = 0; round < COUNTED_ROUNDS; round += 1) await (await locks.acquireMutex('mutex')).release();
  return ((await bookkeepingWrites(client)) - before) / COUNTED_ROUNDS;
}

async function bookkeepingWrites(client: MongoClient): Promise<number> {
  const [stats] = await client
    .db('config')
    .collection('transactions')
    .aggregate([{ $collStats: { storageStats: {} } }])
    .toArray();
  const { cursor } = (stats?.['storageStats'] as { wiredTiger: { cursor: Record<string, number> } })
    .wiredTiger;
  return ['insert calls', 'modify calls', 'update calls'].reduce((sum, name) => sum + (cursor[name] ?? 0), 0);
}

function describe(report: Report, lock: string, measured: readonly Times[], acquireBound: number): void {
  const all = (name: CallName): number[] => measured.flatMap((times) => times[name]);
  report.timing(`bare findOneAndUpdate, beside ${lock}`, all('bare'));
  report.timing(`${lock} acquire`, all('acquire'));
  report.timing(`${lock} release`, all('release'));
  for (const [call, bound] of [
    ['acquire', acquireBound],
    ['release', RELEASE_BOUND],
  ] as const) {
    const ratio = ratioOf(measured.map((times) => ({ lockMs: times[call], floorMs: times.bare })));
    report.note(`${lock}: ${call} / bare write`, describeRatio(ratio));
    report.atMost(`${lock}: ${call} p50 / bare write p50`, ratio.ofMedians, bound, ratio.isSteady);
  }
}
