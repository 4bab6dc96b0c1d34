// What an acquire and a release of a free lock cost, as ratios to a bare write, measured in turn.
import { LockProvider } from '../../src/index.js';
import type { LockHandle } from '../../src/index.js';
import { BareWrite } from '../floor.js';
import { describeRatio, ratioOf } from '../ratio.js';
import type { Ratio } from '../ratio.js';
import type { Report } from '../report.js';
import { defineScenario } from '../scenario.js';
import type { Members } from '../scenario.js';
import type { Workbench } from '../workbench.js';

const WARM_UP_ROUNDS = 300;
const COUNTED_ROUNDS = 50;

/** Of one member and of three, where a write is slower, and what a lock adds to it weighs less. */
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
      describe(report, name, measured);
      judge(report, name, measured, subject.acquireBounds[members]);
      report.gate({
        name: `${name}: commands per acquire + release`,
        measured: commands,
        must: '=',
        bound: 2,
      });
    }
  },
});

/** The calls of a round. */
interface Calls {
  bare(): Promise<unknown>;
  bareOnce(): Promise<unknown>;
  acquire(): Promise<unknown>;
  release(): Promise<unknown>;
}

type CallName = keyof Calls;

/** How long each call took, in every round of a block. */
type Times = Readonly<Record<CallName, number[]>>;

/** Every call comes once, the floor as often before an acquire as before a release. */
const ORDERS: readonly (readonly CallName[])[] = [
  ['bare', 'acquire', 'bareOnce', 'release'],
  ['bareOnce', 'acquire', 'bare', 'release'],
];

async function measure(
  bench: Workbench,
  subject: Subject,
  blocks: number,
  rounds: number,
): Promise<readonly Times[]> {
  await using locks = new LockProvider(bench.client().db(bench.dbName));
  const calls = await callsOn(bench, () => subject.take(locks));
  await runBlock(calls, WARM_UP_ROUNDS);
  const measured: Times[] = [];
  for (let block = 0; block < blocks; block += 1) measured.push(await runBlock(calls, rounds));
  return measured;
}

async function callsOn(bench: Workbench, take: () => Promise<LockHandle>): Promise<Calls> {
  const bare = new BareWrite(bench.client(), bench.dbName);
  const bareOnce = new BareWrite(bench.client({ retryWrites: false }), bench.dbName);
  await bare.prepare();
  let release = (): Promise<boolean> => Promise.reject(new Error('not acquired yet'));
  return {
    bare: () => bare.run(),
    bareOnce: () => bareOnce.run(),
    acquire: async () => {
      const lock = await take();
      release = () => lock.release();
    },
    release: () => release(),
  };
}

async function runBlock(calls: Calls, count: number): Promise<Times> {
  const times: Times = { bare: [], bareOnce: [], acquire: [], release: [] };
  for (let round = 0; round < count; round += 1) {
    for (const name of ORDERS[round % ORDERS.length] ?? []) {
      const startedMs = performance.now();
      await calls[name]();
      times[name].push(performance.now() - startedMs);
    }
  }
  return times;
}

/** By a connection of its own: listening to commands costs time. */
async function countCommands(bench: Workbench, subject: Subject): Promise<number> {
  const client = bench.client({ monitorCommands: true });
  await using locks = new LockProvider(client.db(bench.dbName));
  // The first contact also asks for the server's clock, and makes the index.
  await (await subject.take(locks)).release();
  await locks.ensureIndexes();
  let commands = 0;
  client.on('commandStarted', () => {
    commands += 1;
  });
  for (let round = 0; round < COUNTED_ROUNDS; round += 1) await (await subject.take(locks)).release();
  return commands / COUNTED_ROUNDS;
}

function describe(report: Report, lock: string, measured: readonly Times[]): void {
  const all = (name: CallName): number[] => measured.flatMap((times) => times[name]);
  report.timing(`bare findOneAndUpdate, beside ${lock}`, all('bare'));
  report.timing('the same, retryWrites off', all('bareOnce'));
  report.timing(`${lock} acquire`, all('acquire'));
  report.timing(`${lock} release`, all('release'));
  for (const call of ['acquire', 'release'] as const) {
    report.note(`${lock}: ${call} / bare write`, describeRatio(ratio(measured, call, 'bare')));
    report.note(`${lock}: ${call} / retryWrites off`, describeRatio(ratio(measured, call, 'bareOnce')));
  }
}

function judge(report: Report, lock: string, measured: readonly Times[], acquireBound: number): void {
  for (const [call, bound] of [
    ['acquire', acquireBound],
    ['release', RELEASE_BOUND],
  ] as const) {
    const { ofMedians, isSteady } = ratio(measured, call, 'bare');
    report.gate({
      name: `${lock}: ${call} p50 / bare write p50`,
      measured: ofMedians,
      must: '≤',
      bound,
      isSteady,
    });
  }
}

function ratio(measured: readonly Times[], lock: CallName, floor: CallName): Ratio {
  return ratioOf(measured.map((times) => ({ lockMs: times[lock], floorMs: times[floor] })));
}
