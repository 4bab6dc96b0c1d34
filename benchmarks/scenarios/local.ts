// The cost of a hundred callers in one process, whose requests share a few updates.
import { LockProvider } from '../../src/index.js';
import type { LockHandle } from '../../src/index.js';
import type { Cell } from '../findings.js';
import { BareWrite } from '../floor.js';
import { timesFor } from '../measure.js';
import { defineScenario } from '../scenario.js';
import { median } from '../../lab/statistics.js';
import type { Workbench } from '../workbench.js';

const CALLERS = 100;
const WARM_UP_MS = 300;
const KEEP_MS = 1_000;

interface Subject {
  readonly title: string;
  /** The bound of the updates per grant. */
  readonly updatesBound?: number;
  /** The bound of the grants per second, as a multiple of the floor's. */
  readonly grantsBound?: number;
  lockOf(locks: LockProvider): { acquire(): Promise<LockHandle> };
}

const SUBJECTS: Readonly<Record<string, Subject>> = {
  mutex: { title: 'a mutex', updatesBound: 1.1, lockOf: (locks) => locks.createMutex('mutex') },
  kept: {
    title: 'a mutex that is kept',
    grantsBound: 3,
    lockOf: (locks) => locks.createMutex('kept mutex', { keepMs: KEEP_MS }),
  },
  semaphore: {
    title: 'a semaphore of 50',
    updatesBound: 0.3,
    lockOf: (locks) => locks.createSemaphore('semaphore', 50),
  },
};

export const local = defineScenario({
  name: 'local',
  about: '100 callers of one process on one lock, against one bare update for each acquire and each release',
  parts: Object.keys(SUBJECTS),
  sizes: [1, 3],
  settings: {
    rounds: { meaning: 'rounds; each is a block of the floor and one of every lock', usual: 5, thorough: 9 },
    blockMs: { meaning: 'how long a block is measured', usual: 1_000 },
  },
  async run({ settings: { rounds, blockMs }, report, wants, open }) {
    await using bench = await open();
    const subjects = Object.entries(SUBJECTS).flatMap(([name, subject]) => (wants(name) ? [subject] : []));
    const bare = new BareWrite(bench.client(), bench.dbName);
    await bare.prepare();
    const floor: number[] = [];
    const rates = new Map<Subject, number[]>(subjects.map((subject) => [subject, []]));
    for (let round = 0; round < rounds; round += 1) {
      floor.push(await pairsPerSecond(bare, blockMs));
      for (const [subject, found] of rates) found.push(await grantsPerSecond(bench, subject, blockMs));
    }
    const rows: Cell[][] = [['one update for each, one after the other', median(floor), 2, 1]];
    for (const [subject, found] of rates) {
      const { title, updatesBound, grantsBound } = subject;
      const updates = await updatesPerGrant(bench, subject, blockMs);
      const multiple = median(found.map((rate, round) => rate / (floor[round] ?? NaN)));
      rows.push([title, median(found), updates, multiple]);
      if (updatesBound !== undefined) {
        report.atMost(`updates per grant, ${CALLERS} local callers of ${title}`, updates, updatesBound);
      }
      if (grantsBound !== undefined) {
        const name = `grants/s of ${CALLERS} local callers of ${title} / one update for each`;
        report.atLeast(name, multiple, grantsBound);
      }
    }
    report.table(
      `${CALLERS} callers of one process; medians of the blocks`,
      ['', 'grants/s', 'updates per grant', 'grants/s, multiple of the floor'],
      rows,
    );
  },
});

/** The rate of one update for each acquire and one for each release. */
async function pairsPerSecond(bare: BareWrite, blockMs: number): Promise<number> {
  const tookMs = await timesFor(blockMs, async () => {
    await bare.run();
    await bare.run();
  });
  return (1_000 * tookMs.length) / tookMs.reduce((sum, ms) => sum + ms, 0);
}

async function grantsPerSecond(bench: Workbench, subject: Subject, blockMs: number): Promise<number> {
  await using locks = new LockProvider(bench.client().db(bench.dbName));
  const { grants, tookMs } = await crowd(subject, locks, blockMs, () => 0);
  return grants / (tookMs / 1_000);
}

/** Counts on a connection of its own, because monitoring commands costs time. */
async function updatesPerGrant(bench: Workbench, subject: Subject, blockMs: number): Promise<number> {
  const client = bench.client({ monitorCommands: true });
  await using locks = new LockProvider(client.db(bench.dbName));
  let sent = 0;
  client.on('commandStarted', ({ commandName }) => {
    if (commandName === 'findAndModify' || commandName === 'update') sent += 1;
  });
  const { grants, updates } = await crowd(subject, locks, blockMs, () => sent);
  return updates / grants;
}

interface Count {
  readonly grants: number;
  readonly updates: number;
  readonly tookMs: number;
}

/** All callers acquire the lock and release it at once, again and again. Counting begins after a warm-up. */
async function crowd(
  subject: Subject,
  locks: LockProvider,
  blockMs: number,
  updatesSoFar: () => number,
): Promise<Count> {
  const shared = subject.lockOf(locks);
  let grants = 0;
  const now = (): Count => ({ grants, updates: updatesSoFar(), tookMs: performance.now() });
  const fromMs = performance.now() + WARM_UP_MS;
  let began: Count | undefined;
  let ended: Count | undefined;
  const caller = async (): Promise<void> => {
    while (performance.now() < fromMs + blockMs) {
      const lock = await shared.acquire();
      grants += 1;
      if (performance.now() > fromMs) began ??= now();
      await lock.release();
    }
    // Counting ends with the first caller: the others only drain the queue.
    ended ??= now();
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  if (began === undefined || ended === undefined) throw new Error('no caller was granted the lock');
  return {
    grants: ended.grants - began.grants,
    updates: ended.updates - began.updates,
    tookMs: ended.tookMs - began.tookMs,
  };
}
