// The cost of one waiter, reader or hold, when one process has thousands of them: it must not grow with their number.
import type { LockHandle, LockProvider } from '../../src/index.js';
import { sleep, timeOf } from '../measure.js';
import { defineScenario } from '../scenario.js';
import type { Workbench } from '../workbench.js';

const COUNTS = [1_000, 3_000, 10_000] as const;

/** So many requests are in flight at once. The next ones follow when these are answered, as in a working process. */
const AT_ONCE = 500;

/** The number of waiters that are granted the mutex, one after the other. */
const GRANTS = 100;

/** The providers of one measurement. */
interface Parties {
  readonly crowd: LockProvider;
  /** Holds the lock for which the crowd waits. */
  readonly holder: LockProvider;
  readonly count: number;
}

interface Part {
  readonly unit: string;
  /** Returns the work, which alone is measured. */
  readonly prepare: (parties: Parties) => Promise<() => Promise<void>>;
}

const PARTS: Readonly<Record<string, Part>> = {
  waiters: {
    unit: 'A waiter of one lock: queued, granted in its turn, released',
    async prepare({ crowd, holder, count }) {
      const held = await holder.acquireMutex('one');
      const granted: LockHandle[] = [];
      return async () => {
        for (let waiter = 0; waiter < count; waiter += 1) {
          // At the end, closing the provider ends the other waits.
          crowd.acquireMutex('one').then(
            (lock) => granted.push(lock),
            () => undefined,
          );
        }
        await untilQueued(holder, count);
        await held.release();
        for (let turn = 1; turn <= GRANTS; turn += 1) {
          while (granted.length < turn) await sleep(1);
          await granted.at(-1)?.release();
        }
      };
    },
  },
  readers: {
    unit: 'A reader, let in with all the others by one release',
    async prepare({ crowd, holder, count }) {
      const held = await holder.createReaderWriterLock('one').acquireWrite();
      const lock = crowd.createReaderWriterLock('one');
      return async () => {
        const reads = Array.from({ length: count }, () => lock.acquireRead());
        await untilQueued(holder, count);
        await held.release();
        await Promise.all(reads);
      };
    },
  },
  holds: {
    unit: 'A hold of a lock of its own, acquired and released',
    async prepare({ crowd, count }) {
      return Promise.resolve(async () => {
        const held: LockHandle[] = [];
        while (held.length < count) {
          const names = Array.from({ length: AT_ONCE }, (_, index) => `name ${held.length + index}`);
          held.push(...(await Promise.all(names.map((name) => crowd.acquireMutex(name)))));
        }
        while (held.length > 0) await Promise.all(held.splice(0, AT_ONCE).map((lock) => lock.release()));
      });
    },
  },
};

export const scale = defineScenario({
  name: 'scale',
  about: '1,000 to 10,000 waiters of one lock, readers, and holds of one process: what one of them costs',
  parts: Object.keys(PARTS),
  sizes: [1],
  settings: {
    most: { meaning: 'the largest number of them', usual: 3_000, thorough: 10_000 },
  },
  async run({ settings: { most }, report, bench, wants }) {
    const counts = COUNTS.filter((count) => count <= most);
    const [few, many] = [counts[0], counts.at(-1)].map((count) => count?.toLocaleString('en') ?? '');
    for (const [name, part] of Object.entries(PARTS)) {
      if (!wants(name)) continue;
      const costs: Cost[] = [];
      // The first one is not measured: it compiles the code.
      await measure(bench, name, part, AT_ONCE);
      for (const count of counts) costs.push(await measure(bench, name, part, count));
      const least = costs[0]?.eachMs ?? NaN;
      report.table(
        part.unit,
        [name, 'all granted after, ms', 'client CPU of one, ms', `/ of one of ${few ?? ''}`],
        costs.map(({ count, tookMs, eachMs }) => [count, tookMs, eachMs, eachMs / least]),
      );
      const ratio = (costs.at(-1)?.eachMs ?? NaN) / least;
      report.gate(`client CPU of one of ${many ?? ''} ${name} / of one of ${few ?? ''}`, ratio, '≤', 2);
    }
  },
});

interface Cost {
  readonly count: number;
  readonly tookMs: number;
  /** Processor time of this process, which runs the crowd and its holder, divided by the count. */
  readonly eachMs: number;
}

/** One crowd in a collection of its own. */
async function measure(bench: Workbench, name: string, { prepare }: Part, count: number): Promise<Cost> {
  const collectionName = `${name}.${count}`;
  const settings = {
    ...{ collectionName, leaseMs: 60_000, createIndexes: false, storeTimeoutMs: 30_000 },
    // The holder counts as a member, too.
    maxMembers: count + 1,
  };
  const [crowd, holder] = [bench.provider(settings), bench.provider(settings)];
  const lockDocuments = bench.client().db(bench.place.dbName).collection<{ _id: string }>(collectionName);
  try {
    const work = await prepare({ crowd, holder, count });
    const before = process.cpuUsage();
    const tookMs = await timeOf(work);
    const { user, system } = process.cpuUsage(before);
    return { count, tookMs, eachMs: (user + system) / 1_000 / count };
  } finally {
    // Cancelling thousands of places one by one would cost the server as much as queueing them did.
    await lockDocuments.deleteOne({ _id: 'one' });
    await Promise.all([crowd.close({ drainMs: 0 }), holder.close({ drainMs: 0 })]);
  }
}

async function untilQueued(locks: LockProvider, count: number): Promise<void> {
  // Reading a long queue costs processor time of the measured process, so the pause grows with the queue.
  while (((await locks.inspect('one'))?.waiters.length ?? 0) < count) await sleep(Math.max(5, count / 10));
}
