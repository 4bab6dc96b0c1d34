// Whether ten times as many waiters, readers, names or holds of one process cost ten times as much, and not a hundred.
import { setMaxListeners } from 'node:events';
import { LockProvider } from '../../src/index.js';
import type { LockHandle } from '../../src/index.js';
import { sleep } from '../measure.js';
import type { Report } from '../report.js';
import { defineScenario } from '../scenario.js';
import type { Workbench } from '../workbench.js';

const COUNTS = [1_000, 3_000, 10_000] as const;

/** How many requests are in flight at once. The next ones follow when these are answered, as in a working process. */
const AT_ONCE = 500;

const PARTS = ['waiters', 'readers', 'names', 'holds'] as const;

type Part = (typeof PARTS)[number];

/** What one unit of each part is. */
const UNITS: Readonly<Record<Part, string>> = {
  waiters: 'A waiter of one lock: queued, granted in its turn, released',
  readers: 'A reader, let in with all the others by one release',
  names: 'A name waited for, its lock granted by its holder',
  holds: 'A hold of a lock of its own, acquired and released',
};

/** The cost of a number of units. */
interface Cost {
  readonly count: number;
  readonly processorMs: number;
  readonly tookMs: number;
}

export const scale = defineScenario({
  name: 'scale',
  about:
    '1,000 to 10,000 waiters of one lock, names waited for, and holds of one process: what one of them costs',
  parts: PARTS,
  sizes: [1],
  settings: {
    most: { meaning: 'the largest number of them', usual: 3_000, thorough: 10_000 },
    grants: { meaning: 'waiters of a mutex that are granted one after the other', usual: 100, thorough: 500 },
  },
  async run({ settings: { most, grants }, report, open, wants }) {
    await using bench = await open();
    const counts = COUNTS.filter((count) => count <= most);
    for (const part of PARTS.filter((each) => wants(each))) {
      const costs: Cost[] = [];
      await measure(bench, part, 100, 10);
      for (const count of counts) costs.push(await measure(bench, part, count, grants));
      describe(report, part, costs);
    }
  },
});

/** One crowd in a collection of its own, and one provider that holds the locks for which the crowd waits. */
async function measure(bench: Workbench, part: Part, count: number, grants: number): Promise<Cost> {
  const collectionName = `${part}.${String(count)}`;
  const settings = {
    ...{ collectionName, leaseMs: 60_000, createIndexes: false, storeTimeoutMs: 30_000 },
    // The holder counts as a member, too.
    maxMembers: count + 1,
  };
  const [crowd, holder] = [bench, bench].map(
    (each) => new LockProvider(each.client().db(each.dbName), settings),
  );
  if (crowd === undefined || holder === undefined) throw new Error('two providers were made');
  try {
    const drop = (): Promise<unknown> => bench.client().db(bench.dbName).dropCollection(collectionName);
    return await DUTIES[part](crowd, holder, count, { grants, drop });
  } finally {
    await Promise.all([crowd.close({ drainMs: 0 }), holder.close({ drainMs: 0 })]);
  }
}

/** How many waiters of a mutex are granted it, and a function that drops the collection. */
interface Ways {
  readonly grants: number;
  readonly drop: () => Promise<unknown>;
}

/** The measured work of each part. Only the work of the crowd lies between the two readings of the clocks. */
const DUTIES: Readonly<
  Record<Part, (crowd: LockProvider, holder: LockProvider, count: number, ways: Ways) => Promise<Cost>>
> = {
  async waiters(crowd, holder, count, { grants, drop }) {
    const held = await holder.acquireMutex('one');
    const leaving = new AbortController();
    setMaxListeners(0, leaving.signal);
    const [granted, waits]: [LockHandle[], Promise<unknown>[]] = [[], []];
    const measured = stopwatch(count);
    for (let index = 0; index < count; index += 1) {
      const wait = crowd.acquireMutex('one', { signal: leaving.signal }).then((lock) => granted.push(lock));
      waits.push(wait.catch(() => undefined));
    }
    await queued(holder, 'one', count);
    await held.release();
    for (let turn = 1; turn <= grants; turn += 1) {
      while (granted.length < turn) await sleep(1);
      await granted.at(-1)?.release();
    }
    const cost = measured();
    leaving.abort();
    // Cancelling thousands of places one by one would cost the server as much as queueing them did.
    await drop();
    await Promise.all(waits);
    return cost;
  },
  async readers(crowd, holder, count) {
    const held = await holder.createReaderWriterLock('one').acquireWrite();
    const lock = crowd.createReaderWriterLock('one');
    const measured = stopwatch(count);
    const reads = Array.from({ length: count }, () => lock.acquireRead());
    await queued(holder, 'one', count);
    await held.release();
    await Promise.all(reads);
    return measured();
  },
  async names(crowd, holder, count) {
    const held = await inTurns(count, (index) => holder.acquireMutex(`name ${String(index)}`));
    const measured = stopwatch(count);
    const waits: Promise<LockHandle>[] = [];
    await inTurns(count, (index) => {
      const name = `name ${String(index)}`;
      waits.push(crowd.acquireMutex(name));
      return queued(holder, name, 1);
    });
    await inTurns(count, (index) => held[index]?.release() ?? Promise.resolve(false));
    await Promise.all(waits);
    return measured();
  },
  async holds(crowd, _, count) {
    const measured = stopwatch(count);
    const held = await inTurns(count, (index) => crowd.acquireMutex(`name ${String(index)}`));
    await inTurns(count, (index) => held[index]?.release() ?? Promise.resolve(false));
    return measured();
  },
};

/** Returns the function that ends the measurement. Processor time is that of this process: the crowd and its holder. */
function stopwatch(count: number): () => Cost {
  const [startedMs, before] = [performance.now(), process.cpuUsage()];
  return () => {
    const { user, system } = process.cpuUsage(before);
    return { count, processorMs: (user + system) / 1_000, tookMs: performance.now() - startedMs };
  };
}

async function queued(locks: LockProvider, name: string, count: number): Promise<void> {
  // Reading a long queue costs processor time of the measured process, so the pause grows with the queue.
  while (((await locks.inspect(name))?.waiters.length ?? 0) < count) await sleep(Math.max(5, count / 10));
}

async function inTurns<T>(count: number, run: (index: number) => Promise<T>): Promise<readonly T[]> {
  const results: T[] = [];
  for (let from = 0; from < count; from += AT_ONCE) {
    const length = Math.min(AT_ONCE, count - from);
    results.push(...(await Promise.all(Array.from({ length }, (_, index) => run(from + index)))));
  }
  return results;
}

function describe(report: Report, part: Part, costs: readonly Cost[]): void {
  const [least] = costs;
  if (least === undefined) return;
  const each = ({ count, processorMs }: Cost): number => processorMs / count;
  report.table(
    UNITS[part],
    [
      part,
      'all granted after, ms',
      'client CPU of one, ms',
      `/ of one of ${least.count.toLocaleString('en')}`,
    ],
    costs.map((cost) => [cost.count, cost.tookMs, each(cost), each(cost) / each(least)]),
  );
  const most = costs.at(-1);
  if (most === undefined || most === least) return;
  const [many, few] = [most, least].map(({ count }) => count.toLocaleString('en'));
  report.atMost(
    `client CPU of one of ${many ?? ''} ${part} / of one of ${few ?? ''}`,
    each(most) / each(least),
    2,
  );
}
