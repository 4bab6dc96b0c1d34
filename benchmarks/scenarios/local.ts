// The cost of a hundred callers in one process, whose requests share a few updates.
import type { LockHandle, LockProvider } from '../../src/index.js';
import { timesFor } from '../measure.js';
import { defineScenario } from '../scenario.js';
import { median, sum } from '../../lab/statistics.js';

const CALLERS = 100;
/** In the warm-up, the connections and the stream are opened. */
const WARM_UP_MS = 300;

interface Lock {
  acquire(): Promise<LockHandle>;
}

interface Subject {
  readonly title: string;
  /** The bound of the updates per grant. */
  readonly updatesBound?: number;
  /** The bound of the grants per second, as a multiple of the floor's. */
  readonly grantsBound?: number;
  readonly lockOf: (locks: LockProvider) => Lock;
}

const SUBJECTS: Readonly<Record<string, Subject>> = {
  mutex: { title: 'a mutex', updatesBound: 1.1, lockOf: (locks) => locks.createMutex('mutex') },
  kept: {
    title: 'a mutex that is kept',
    grantsBound: 3,
    lockOf: (locks) => locks.createMutex('kept mutex', { keepMs: 1_000 }),
  },
  semaphore: {
    title: 'a semaphore of 50',
    updatesBound: 0.3,
    lockOf: (locks) => locks.createSemaphore('semaphore', 50),
  },
};

const UPDATES: ReadonlySet<string> = new Set(['findAndModify', 'update']);

export const local = defineScenario({
  name: 'local',
  about: '100 callers of one process on one lock, against one bare update for each acquire and each release',
  parts: Object.keys(SUBJECTS),
  sizes: [1, 3],
  settings: {
    rounds: { meaning: 'rounds; each is a block of the floor and one of every lock', usual: 5, thorough: 9 },
    blockMs: { meaning: 'how long a block is measured', usual: 1_000 },
  },
  async run({ settings: { rounds, blockMs }, report, wants, bench }) {
    const subjects = Object.entries(SUBJECTS).filter(([name]) => wants(name));
    const bare = await bench.bareWrite();
    const floor: number[] = [];
    const rates = subjects.map((): number[] => []);
    for (let round = 0; round < rounds; round += 1) {
      const tookMs = await timesFor(blockMs, bare);
      floor.push((1_000 * tookMs.length) / 2 / sum(tookMs));
      for (const [index, [, { lockOf }]] of subjects.entries()) {
        await using locks = bench.provider();
        const lock = lockOf(locks);
        await callersUse(lock, WARM_UP_MS);
        rates[index]?.push((await callersUse(lock, blockMs)).perSecond);
      }
    }
    const rows = [['one update for each, one after the other', median(floor), 2, 1]];
    for (const [index, [, { title, updatesBound, grantsBound, lockOf }]] of subjects.entries()) {
      const { commands, ...monitored } = bench.monitoredProvider();
      await using locks = monitored.locks;
      const lock = lockOf(locks);
      await callersUse(lock, WARM_UP_MS);
      commands.length = 0;
      const { grants } = await callersUse(lock, blockMs);
      const updates = commands.filter((name) => UPDATES.has(name)).length / grants;
      const found = rates[index] ?? [];
      const multiple = median(found.map((rate, round) => rate / (floor[round] ?? NaN)));
      rows.push([title, median(found), updates, multiple]);
      if (updatesBound !== undefined) {
        report.gate(`updates per grant, ${CALLERS} local callers of ${title}`, updates, '≤', updatesBound);
      }
      if (grantsBound !== undefined) {
        const name = `grants/s of ${CALLERS} local callers of ${title} / one update for each`;
        report.gate(name, multiple, '≥', grantsBound);
      }
    }
    report.table(
      `${CALLERS} callers of one process; medians of the blocks`,
      ['', 'grants/s', 'updates per grant', 'grants/s, multiple of the floor'],
      rows,
    );
  },
});

interface Count {
  readonly grants: number;
  readonly perSecond: number;
}

/** All callers acquire the lock and release it at once, again and again. */
async function callersUse(lock: Lock, forMs: number): Promise<Count> {
  const startedMs = performance.now();
  let grants = 0;
  const caller = async (): Promise<void> => {
    while (performance.now() < startedMs + forMs) {
      const held = await lock.acquire();
      grants += 1;
      await held.release();
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return { grants, perSecond: (1_000 * grants) / (performance.now() - startedMs) };
}
