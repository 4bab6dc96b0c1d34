// The cost of an acquire and of a release of a free lock, as ratios to a bare write, measured in turn.
import type { MongoClient } from 'mongodb';
import type { LockHandle, LockProvider } from '../../src/index.js';
import type { Members } from '../findings.js';
import { inTurn, timeOf } from '../measure.js';
import { defineScenario } from '../scenario.js';
import type { Workbench } from '../workbench.js';

const WARM_UP_ROUNDS = 300;
const COUNTED_ROUNDS = 50;

/** On three members a write is slower, so the part that a lock adds to it is smaller. */
type Bounds = Readonly<Record<Members, number>>;

interface Subject {
  readonly acquireBounds: Bounds;
  readonly take: (locks: LockProvider) => Promise<LockHandle>;
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
  async run({ members, settings: { blocks, rounds }, report, wants, bench }) {
    for (const [name, { take, acquireBounds }] of Object.entries(SUBJECTS)) {
      if (!wants(name)) continue;
      const measured = await measure(bench, take, blocks, rounds);
      report.timing(`bare findOneAndUpdate, beside ${name}`, measured.bare.flat());
      for (const [call, bound] of [
        ['acquire', acquireBounds[members]],
        ['release', RELEASE_BOUND],
      ] as const) {
        report.timing(`${name} ${call}`, measured[call].flat());
        const pairs = measured[call].map((lockMs, block) => ({
          lockMs,
          floorMs: measured.bare[block] ?? [],
        }));
        report.ratio(`${name}: ${call} p50 / bare write p50`, pairs, bound);
      }
      const { commands, records } = await count(bench, take);
      report.gate(`${name}: commands per acquire + release`, commands, '=', 2);
      if (name === 'mutex')
        report.gate('writes to config.transactions per acquire + release', records, '=', 0);
    }
  },
});

async function measure(bench: Workbench, take: Subject['take'], blocks: number, rounds: number) {
  await using locks = bench.provider();
  const bare = await bench.bareWrite();
  let lock: LockHandle | undefined;
  const acquire = async (): Promise<void> => {
    lock = await take(locks);
  };
  const release = async (): Promise<unknown> => lock?.release();
  // The floor comes before an acquire as often as before a release.
  const calls = [bare, acquire, bare, release].map((call) => () => timeOf(call));
  await inTurn(1, WARM_UP_ROUNDS, calls);
  const [bares = [], acquires = [], others = [], releases = []] = await inTurn(blocks, rounds, calls);
  const both = bares.map((tookMs, block) => [...tookMs, ...(others[block] ?? [])]);
  return { bare: both, acquire: acquires, release: releases };
}

/** The commands of an acquire and a release, and the records of retries that the server writes for them. */
async function count(
  bench: Workbench,
  take: Subject['take'],
): Promise<{ readonly commands: number; readonly records: number }> {
  const { commands, ...monitored } = bench.monitoredProvider();
  await using locks = monitored.locks;
  // The first contact also reads the server's clock, and creates the index.
  await (await take(locks)).release();
  await locks.ensureIndexes();
  const observer = bench.client();
  const before = await retryRecords(observer);
  commands.length = 0;
  for (let round = 0; round < COUNTED_ROUNDS; round += 1) await (await take(locks)).release();
  const records = (await retryRecords(observer)) - before;
  return { commands: commands.length / COUNTED_ROUNDS, records: records / COUNTED_ROUNDS };
}

/** For a write that the driver may repeat by itself, the server writes a record to config.transactions. */
async function retryRecords(client: MongoClient): Promise<number> {
  const transactions = client.db('config').collection('transactions');
  const [stats] = await transactions.aggregate([{ $collStats: { storageStats: {} } }]).toArray();
  const { cursor } = (stats?.['storageStats'] as { wiredTiger: { cursor: Record<string, number> } })
    .wiredTiger;
  return ['insert calls', 'modify calls', 'update calls'].reduce((sum, name) => sum + (cursor[name] ?? 0), 0);
}
