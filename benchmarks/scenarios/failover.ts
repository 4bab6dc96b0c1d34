// How long a lock is out of reach when the primary dies or steps down, beside a bare write that waits for the same.
import { MongoClient } from 'mongodb';
import { LockProvider } from '../../src/index.js';
import { startFaultCluster } from '../../test/faults/cluster/fault-cluster.js';
import type { FaultCluster } from '../../test/faults/cluster/fault-cluster.js';
import { BareWrite } from '../floor.js';
import type { Report } from '../report.js';
import { defineScenario } from '../scenario.js';
import { median } from '../statistics.js';
import { sleep } from '../worker-process.js';

const DB_NAME = 'failover';

/** How long one try of the bare write may take; then the next one begins. */
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

/** Everything connects before the primary goes, and all begin to wait at the same moment. */
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
  // A process that is killed is gone at once; one that steps down goes on until it has.
  if (end === 'is killed') await ending;
  const startedMs = performance.now();
  const sinceThen = async (work: Promise<unknown>): Promise<number> => {
    await work;
    return performance.now() - startedMs;
  };
  const [writeMs, freeMs, releaseMs, handOverMs] = await Promise.all([
    sinceThen(writeAgainAndAgain(bare)),
    sinceThen(waiter.acquireMutex('free').then((lock) => lock.release())),
    sinceThen(held.release()),
    sinceThen(next),
    ending,
  ]);
  await (await next).release();
  await holder.close();
  await waiter.close();
  await Promise.all(clients.map((client) => client.close()));
  await cluster.heal();
  return { end, writeMs, freeMs, releaseMs, handOverMs };
}

/** Until one has succeeded. */
async function writeAgainAndAgain(bare: BareWrite): Promise<void> {
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
  const rows = ends.map((end) => {
    const own = rounds.filter((round) => round.end === end);
    const middle = (of: (round: Round) => number): number => median(own.map(of));
    return {
      title: `the primary ${end}`,
      write: middle(({ writeMs }) => writeMs),
      free: middle(({ freeMs }) => freeMs),
      release: middle(({ releaseMs }) => releaseMs),
      handOver: middle(({ handOverMs }) => handOverMs),
      longestWrite: Math.max(...own.map(({ writeMs }) => writeMs)),
      longestGrant: Math.max(...own.map(({ freeMs, handOverMs }) => Math.max(freeMs, handOverMs))),
    };
  });
  report.table(
    `From the end of the primary; medians of ${rounds.length / ends.length} rounds, in ms`,
    [
      ...['', 'first bare write', 'a free lock, taken and given back'],
      ...['a held lock, released', 'its waiter has it', 'longest write', 'longest grant'],
    ],
    rows.map(({ title, write, free, release, handOver, longestWrite, longestGrant }) => [
      ...[title, write, free, release, handOver, longestWrite, longestGrant],
    ]),
  );
  report.plot({
    title: 'Until it works again after the end of the primary',
    kind: 'bars',
    x: { label: 'election timeout 2 s', values: rows.map(({ title }) => title) },
    y: 'ms',
    series: [
      { name: 'a bare write', values: rows.map(({ write }) => write) },
      { name: 'a free lock', values: rows.map(({ free }) => free) },
      { name: 'a hand-over', values: rows.map(({ handOver }) => handOver) },
    ],
  });
}
