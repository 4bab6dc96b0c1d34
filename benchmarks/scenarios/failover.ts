// How long a lock is out of reach when the primary dies or steps down, beside a bare write in the same outage.
import { MongoClient } from 'mongodb';
import { LockProvider } from '../../src/index.js';
import { startFaultCluster } from '../../lab/cluster/fault-cluster.js';
import type { FaultCluster } from '../../lab/cluster/fault-cluster.js';
import { BareWrite } from '../floor.js';
import { sleep, timeOf } from '../measure.js';
import type { Report } from '../report.js';
import { defineScenario } from '../scenario.js';
import { median } from '../../lab/statistics.js';

const DB_NAME = 'failover';

/** The longest wait for one try of the bare write, after which the next one begins. */
const TRY_MS = 1_000;

const ENDS = {
  'is killed': async (cluster: FaultCluster) => (await cluster.untilPrimary()).kill(),
  'steps down': async (cluster: FaultCluster) => (await cluster.untilPrimary()).stepDown(),
} as const;

type End = keyof typeof ENDS;

interface Round {
  readonly end: End;
  readonly writeMs: number;
  readonly freeMs: number;
  readonly releaseMs: number;
  readonly handOverMs: number;
}

export const failover = defineScenario({
  name: 'failover',
  about: 'the first grant after the primary is gone, against the first bare write that succeeds',
  parts: Object.keys(ENDS),
  sizes: [3],
  settings: {
    rounds: { meaning: 'how often the primary goes in each way', usual: 2, thorough: 5 },
  },
  async run({ settings: { rounds }, report, wants }) {
    await using cluster = await startFaultCluster();
    report.server = cluster.description;
    const found: Round[] = [];
    for (let round = 0; round < rounds; round += 1) {
      for (const end of Object.keys(ENDS) as End[]) {
        if (wants(end)) found.push(await endPrimary(cluster, end));
      }
    }
    describe(report, found);
  },
});

/** All clients connect before the primary goes, and all of them begin to wait at the same moment. */
async function endPrimary(cluster: FaultCluster, end: End): Promise<Round> {
  const clients = Array.from({ length: 3 }, () => new MongoClient(cluster.uri));
  const [forWrites, forHolder, forWaiter] = clients.map((client) => client.db(DB_NAME));
  if (forWrites === undefined || forHolder === undefined || forWaiter === undefined) throw new Error();
  const bare = new BareWrite(forWrites.client, DB_NAME);
  await bare.prepare();
  const holder = new LockProvider(forHolder);
  const waiter = new LockProvider(forWaiter);
  await (await waiter.acquireMutex('free')).release();
  const held = await holder.acquireMutex('held');
  const next = waiter.acquireMutex('held');
  while ((await holder.inspect('held'))?.waiters.length !== 1) await sleep(20);
  const ending = ENDS[end](cluster);
  // A killed process is gone at once; a primary that steps down serves until it has done so.
  if (end === 'is killed') await ending;
  const [writeMs, freeMs, releaseMs, handOverMs] = await Promise.all([
    timeOf(() => writeUntilDone(bare)),
    timeOf(async () => (await waiter.acquireMutex('free')).release()),
    timeOf(() => held.release()),
    timeOf(() => next),
    ending,
  ]);
  await (await next).release();
  await holder.close();
  await waiter.close();
  await Promise.all(clients.map((client) => client.close()));
  await cluster.heal();
  return { end, writeMs, freeMs, releaseMs, handOverMs };
}

/** Repeats the bare write until one try succeeds. */
async function writeUntilDone(bare: BareWrite): Promise<void> {
  for (;;) {
    const isWritten = await Promise.race([
      bare.run().then(
        () => true,
        () => false,
      ),
      sleep(TRY_MS).then(() => false),
    ]);
    if (isWritten) return;
    await sleep(10);
  }
}

function describe(report: Report, rounds: readonly Round[]): void {
  const ends = [...new Set(rounds.map(({ end }) => end))];
  const middle = (end: End, of: (round: Round) => number): number =>
    median(rounds.filter((round) => round.end === end).map(of));
  const longest = (end: End, of: (round: Round) => number): number =>
    Math.max(...rounds.filter((round) => round.end === end).map(of));
  report.table(
    'From the end of the primary; medians of the rounds, in ms',
    [
      ...['', 'first bare write', 'a free lock, acquired and released'],
      ...['a held lock, released', 'its waiter has it', 'longest write', 'longest grant'],
    ],
    ends.map((end) => [
      `the primary ${end}`,
      middle(end, ({ writeMs }) => writeMs),
      middle(end, ({ freeMs }) => freeMs),
      middle(end, ({ releaseMs }) => releaseMs),
      middle(end, ({ handOverMs }) => handOverMs),
      longest(end, ({ writeMs }) => writeMs),
      longest(end, ({ freeMs, handOverMs }) => Math.max(freeMs, handOverMs)),
    ]),
  );
  const bar = (name: string, of: (round: Round) => number) => ({
    name,
    values: ends.map((end) => middle(end, of)),
  });
  report.plot({
    title: 'Until it works again after the end of the primary',
    kind: 'bars',
    x: { label: 'election timeout 2 s', values: ends.map((end) => `the primary ${end}`) },
    y: 'ms',
    series: [
      bar('a bare write', ({ writeMs }) => writeMs),
      bar('a free lock', ({ freeMs }) => freeMs),
      bar('a hand-over', ({ handOverMs }) => handOverMs),
    ],
  });
}
