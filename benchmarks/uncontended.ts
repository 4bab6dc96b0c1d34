// What an acquire and a release of a free lock cost, as ratios to a bare write, measured in turn.
import { Command } from 'commander';
import { LockProvider } from '../src/index.js';
import type { Mutex } from '../src/index.js';
import { memberCount, wholeNumber } from './arguments.js';
import { BareWrite } from './floor.js';
import { describeRatio, ratioOf } from './ratio.js';
import type { Ratio } from './ratio.js';
import { Report } from './report.js';
import { Workbench } from './workbench.js';

const WARM_UP_ROUNDS = 300;
const COUNTED_ROUNDS = 50;

/** Of one member and of three, where a write is slower, and what a lock adds to it weighs less. */
const ACQUIRE_BOUNDS = { 1: 1.2, 3: 1.15 } as const;
const RELEASE_BOUND = 1.15;

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

const { members, rounds, blocks } = new Command('npm run bench:uncontended --')
  .description('an acquire and a release of a free mutex, against a bare findOneAndUpdate')
  .option('--members <n>', 'members of the replica set, 1 or 3 (default: first 1, then 3)', memberCount)
  .option('--rounds <n>', 'rounds of a block; each round makes every call once', wholeNumber, 300)
  .option('--blocks <n>', 'blocks, which should agree', wholeNumber, 9)
  .parse()
  .opts<{ members?: 1 | 3; rounds: number; blocks: number }>();

// A server that runs already has the members that it has.
const sizes = members === undefined && !process.env['MONGODB_URI'] ? ([1, 3] as const) : [members ?? 1];
for (const size of sizes) await Workbench.with(size, (bench) => measure(bench, size));

async function measure(bench: Workbench, size: 1 | 3): Promise<void> {
  const report = new Report(`uncontended-${size}`, bench.server);
  const commands = await countCommands(bench);
  const locks = new LockProvider(bench.client().db(bench.dbName));
  try {
    const calls = await callsOn(bench, locks.createMutex('free'));
    await runBlock(calls, WARM_UP_ROUNDS);
    const measured: Times[] = [];
    for (let block = 0; block < blocks; block += 1) measured.push(await runBlock(calls, rounds));
    describe(report, measured);
    gate(report, measured, commands, size);
  } finally {
    await locks.close();
  }
  await report.publish();
}

async function callsOn(bench: Workbench, mutex: Mutex): Promise<Calls> {
  const bare = new BareWrite(bench.client(), bench.dbName);
  const bareOnce = new BareWrite(bench.client({ retryWrites: false }), bench.dbName);
  await bare.prepare();
  let release = (): Promise<boolean> => Promise.reject(new Error('not acquired yet'));
  return {
    bare: () => bare.run(),
    bareOnce: () => bareOnce.run(),
    acquire: async () => {
      const lock = await mutex.acquire();
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
async function countCommands(bench: Workbench): Promise<number> {
  const client = bench.client({ monitorCommands: true });
  const locks = new LockProvider(client.db(bench.dbName));
  const mutex = locks.createMutex('counted');
  // The first contact also asks for the server's clock, and makes the index.
  await (await mutex.acquire()).release();
  await locks.ensureIndexes();
  let commands = 0;
  client.on('commandStarted', () => {
    commands += 1;
  });
  for (let round = 0; round < COUNTED_ROUNDS; round += 1) await (await mutex.acquire()).release();
  const counted = commands;
  await locks.close();
  return counted / COUNTED_ROUNDS;
}

function describe(report: Report, measured: readonly Times[]): void {
  const all = (name: CallName): number[] => measured.flatMap((times) => times[name]);
  report.timing('bare findOneAndUpdate', all('bare'));
  report.timing('the same, retryWrites off', all('bareOnce'));
  report.timing('mutex acquire', all('acquire'));
  report.timing('mutex release', all('release'));
  report.note('acquire / bare write', describeRatio(ratio(measured, 'acquire', 'bare')));
  report.note('release / bare write', describeRatio(ratio(measured, 'release', 'bare')));
  report.note('acquire / retryWrites off', describeRatio(ratio(measured, 'acquire', 'bareOnce')));
  report.note('release / retryWrites off', describeRatio(ratio(measured, 'release', 'bareOnce')));
}

function gate(report: Report, measured: readonly Times[], commands: number, size: 1 | 3): void {
  const acquire = ratio(measured, 'acquire', 'bare');
  report.gate({
    name: `acquire p50 / bare write p50, ${size === 1 ? 'one member' : 'three members'}`,
    measured: acquire.ofMedians,
    must: '≤',
    bound: ACQUIRE_BOUNDS[size],
    isSteady: acquire.isSteady,
  });
  const release = ratio(measured, 'release', 'bare');
  report.gate({
    name: 'release p50 / bare write p50',
    measured: release.ofMedians,
    must: '≤',
    bound: RELEASE_BOUND,
    isSteady: release.isSteady,
  });
  report.gate({ name: 'commands per acquire + release', measured: commands, must: '=', bound: 2 });
}

function ratio(measured: readonly Times[], lock: CallName, floor: CallName): Ratio {
  return ratioOf(measured.map((times) => ({ lockMs: times[lock], floorMs: times[floor] })));
}
