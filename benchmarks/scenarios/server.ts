// What an update costs the server itself: the time of its pipeline, the oplog, the bookkeeping of the driver's retries.
import type { Db, MongoClient } from 'mongodb';
import { LockProvider } from '../../src/index.js';
import type { LockHandle } from '../../src/index.js';
import type { Fields, Stage } from '../../src/protocol/expressions.js';
import { mutexSeats } from '../../src/protocol/kinds/mutex-seats.js';
import type { Demand, Operation } from '../../src/protocol/operation.js';
import { readerWriterSeats } from '../../src/protocol/kinds/reader-writer-seats.js';
import { LEAVE_PROJECTION, replyProjection } from '../../src/protocol/replies/reply.js';
import type { Seats } from '../../src/protocol/seats.js';
import { semaphoreSeats } from '../../src/protocol/kinds/semaphore-seats.js';
import { fastPath } from '../../src/protocol/pipeline/fast-path.js';
import { mayCreate, transition } from '../../src/protocol/pipeline/transition.js';
import { enqueue, leave } from '../../test/support/operations.js';
import { BareWrite } from '../floor.js';
import { Oplog } from '../oplog.js';
import type { OplogEntry } from '../oplog.js';
import type { Report } from '../report.js';
import { defineScenario } from '../scenario.js';
import { median } from '../statistics.js';
import type { Workbench } from '../workbench.js';

/** A kind of lock in one mode: as the protocol sees it, and as a caller does. */
interface Subject {
  readonly title: string;
  readonly seats: Seats;
  readonly demand: Demand;
  readonly take: (locks: LockProvider, name: string) => Promise<LockHandle>;
}

const SUBJECTS: readonly Subject[] = [
  {
    title: 'mutex',
    seats: mutexSeats,
    demand: {},
    take: (locks, name) => locks.acquireMutex(name),
  },
  {
    title: 'read',
    seats: readerWriterSeats,
    demand: { mode: 'read' },
    take: (locks, name) => locks.createReaderWriterLock(name).acquireRead(),
  },
  {
    title: 'write',
    seats: readerWriterSeats,
    demand: { mode: 'write' },
    take: (locks, name) => locks.createReaderWriterLock(name).acquireWrite(),
  },
  {
    title: 'one permit of 5',
    seats: semaphoreSeats,
    demand: { permits: 1, limit: 5, mustMatch: true },
    take: (locks, name) => locks.createSemaphore(name, 5).acquire(),
  },
];

const WARM_UP_ROUNDS = 100;
const COUNTED = 30;

export const server = defineScenario({
  name: 'server',
  about: 'what an acquire and a release cost the server: pipeline, oplog, bookkeeping of retries',
  parts: [],
  sizes: [1],
  settings: {
    rounds: { meaning: 'rounds; each sends every update once', usual: 400, thorough: 1_500 },
  },
  async run({ settings: { rounds }, report, open }) {
    await using bench = await open();
    await profilePipelines(bench, rounds, report);
    await measureOplog(bench, report);
    await countBookkeeping(bench, report);
  },
});

const FORMS = ['whole enter', 'whole leave', 'short enter', 'short leave'] as const;

/** Acknowledged by one member and not flushed to its disk: what is left is the server's own work, and the way there. */
async function profilePipelines(bench: Workbench, rounds: number, report: Report): Promise<void> {
  const db = bench.client({ w: 1, journal: false, retryWrites: false }).db(bench.dbName);
  const floorMs: number[] = [];
  const timed = SUBJECTS.map(() => FORMS.map((): number[] => []));
  for (let round = -WARM_UP_ROUNDS; round < rounds; round += 1) {
    const incMs = await timeOf(() => update(db, 'floor', { $inc: { n: 1 } }, { n: 1 }, true));
    if (round >= 0) floorMs.push(incMs);
    for (const [which, subject] of SUBJECTS.entries()) {
      const times = await enterAndLeave(db, subject, round + WARM_UP_ROUNDS);
      for (const [index, ms] of times.entries()) if (round >= 0) timed[which]?.[index]?.push(ms);
    }
  }
  const floor = median(floorMs);
  const rows = SUBJECTS.map(({ title }, which) => [
    title,
    ...(timed[which] ?? []).map((ms) => median(ms) - floor),
  ]);
  report.table(
    `One update with w: 1 and no journal: ms more than a bare $inc, which takes ${floor.toFixed(3)} (p50)`,
    ['', ...FORMS],
    rows,
  );
}

/** By the whole transition, and by the short form, in the order of `FORMS`. */
async function enterAndLeave(
  db: Db,
  { title, seats, demand }: Subject,
  round: number,
): Promise<readonly number[]> {
  const times: number[] = [];
  for (const form of ['whole', 'short'] as const) {
    const id = `w${round.toString(16).padStart(23, '0')}${form === 'whole' ? '0' : '1'}`;
    for (const operation of [enqueue(id, demand), leave(id)]) {
      const { pipeline, fields } = sent(seats, operation, form);
      times.push(await timeOf(() => update(db, title, pipeline, fields, mayCreate([operation]))));
    }
  }
  return times;
}

function sent(
  seats: Seats,
  operation: Operation,
  form: 'whole' | 'short',
): { readonly pipeline: readonly Stage[]; readonly fields: Fields } {
  if (form === 'short') {
    const short = fastPath(seats, operation);
    if (short === undefined) throw new Error(`there is no short form of ${operation.type}`);
    return short;
  }
  const fields = 'request' in operation ? replyProjection(seats, [operation.request.id]) : LEAVE_PROJECTION;
  return { pipeline: transition(seats, [operation]), fields };
}

const update = (
  db: Db,
  id: string,
  change: readonly Stage[] | Fields,
  fields: Fields,
  upsert: boolean,
): Promise<unknown> =>
  db.command({
    findAndModify: 'pipelines',
    query: { _id: id },
    update: change,
    new: true,
    upsert,
    fields,
    collation: { locale: 'simple' },
    writeConcern: { w: 1, j: false },
  });

async function timeOf(call: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await call();
  return performance.now() - startedMs;
}

/** Bytes of the entries that one acquire and one release write, each to a lock that nobody else wants. */
async function measureOplog(bench: Workbench, report: Report): Promise<void> {
  const client = bench.client();
  const oplog = new Oplog(client);
  await using locks = new LockProvider(client.db(bench.dbName));
  const bare = new BareWrite(client, bench.dbName);
  await bare.prepare();
  const rows: (readonly (string | number)[])[] = [];
  const start = await oplog.now();
  for (let count = 0; count < COUNTED; count += 1) await bare.run();
  const inc = bytesOf(await oplog.since(start, `${bench.dbName}.floor`, 'counter'));
  rows.push(['bare $inc', inc, NaN]);
  for (const { title, take } of SUBJECTS) {
    // The first time, there is no document.
    await (await take(locks, title)).release();
    const before = await oplog.now();
    for (let count = 0; count < COUNTED; count += 1) await (await take(locks, title)).release();
    const entries = await oplog.since(before, `${bench.dbName}.distributed.locks`, title);
    rows.push([title, ...[0, 1].map((turn) => bytesOf(entries.filter((_, index) => index % 2 === turn)))]);
  }
  report.table('Written to the oplog, bytes', ['', 'acquire', 'release'], rows);
}

const bytesOf = (entries: readonly OplogEntry[]): number => median(entries.map(({ bytes }) => bytes));

/** What the driver retries by itself, the server has to remember: a write to config.transactions for each. */
async function countBookkeeping(bench: Workbench, report: Report): Promise<void> {
  const client = bench.client();
  await using locks = new LockProvider(client.db(bench.dbName));
  const bare = new BareWrite(client, bench.dbName);
  const once = new BareWrite(bench.client({ retryWrites: false }), bench.dbName);
  const works: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['bare findOneAndUpdate', () => bare.run()],
    ['the same, retryWrites off', () => once.run()],
    ['acquire and release of a mutex', async () => (await locks.acquireMutex('counted')).release()],
  ];
  const rows: (readonly (string | number)[])[] = [];
  for (const [title, work] of works) {
    await work();
    const before = await bookkeepingWrites(client);
    for (let count = 0; count < COUNTED; count += 1) await work();
    const counted = ((await bookkeepingWrites(client)) - before) / COUNTED;
    rows.push([title, counted]);
    if (work === works.at(-1)?.[1]) {
      const name = 'writes to config.transactions per acquire + release';
      report.gate({ name, measured: counted, must: '=', bound: 0 });
    }
  }
  report.table('Writes to config.transactions', ['', 'each'], rows);
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
