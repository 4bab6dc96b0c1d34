// What a hundred callers of one process cost, whose requests go together into few updates.
import { LockProvider } from '../../src/index.js';
import type { LockHandle } from '../../src/index.js';
import { BareWrite } from '../floor.js';
import type { Report } from '../report.js';
import { defineScenario } from '../scenario.js';
import { median } from '../statistics.js';
import type { Workbench } from '../workbench.js';

const CALLERS = 100;
const WARM_UP_MS = 300;
const KEEP_MS = 1_000;

interface Subject {
  readonly title: string;
  /** Of the updates per grant. */
  readonly updatesBound?: number;
  /** Of the grants per second, as a multiple of the floor's. */
  readonly grantsBound?: number;
  take(locks: LockProvider): () => Promise<LockHandle>;
}

const SUBJECTS: Readonly<Record<string, Subject>> = {
  mutex: {
    title: 'a mutex',
    updatesBound: 1.1,
    take(locks) {
      const mutex = locks.createMutex('mutex');
      return () => mutex.acquire();
    },
  },
  kept: {
    title: 'a mutex that is kept',
    grantsBound: 3,
    take(locks) {
      const mutex = locks.createMutex('kept mutex', { keepMs: KEEP_MS });
      return () => mutex.acquire();
    },
  },
  semaphore: {
    title: 'a semaphore of 50',
    updatesBound: 0.3,
    take(locks) {
      const semaphore = locks.createSemaphore('semaphore', 50);
      return () => semaphore.acquire();
    },
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
    const subjects = Object.entries(SUBJECTS).filter(([name]) => wants(name));
    const bare = new BareWrite(bench.client(), bench.dbName);
    await bare.prepare();
    const floor: number[] = [];
    const rates = new Map<Subject, number[]>(subjects.map(([, subject]) => [subject, []]));
    for (let round = 0; round < rounds; round += 1) {
      floor.push(await pairsPerSecond(bare, blockMs));
      for (const [subject, found] of rates) found.push(await grantsPerSecond(bench, subject, blockMs));
    }
    const rows = [['one update for each, one after the other', median(floor), 2, 1]];
    for (const [subject, found] of rates) {
      const updates = await updatesPerGrant(bench, subject, blockMs);
      const multiple = median(found.map((rate, round) => rate / (floor[round] ?? NaN)));
      rows.push([subject.title, median(found), updates, multiple]);
      judge(report, subject, updates, multiple);
    }
    report.table(
      `${CALLERS} callers of one process; medians of ${rounds} blocks`,
      ['', 'grants/s', 'updates per grant', 'grants/s, multiple of the floor'],
      rows,
    );
  },
});

function judge(
  report: Report,
  { title, updatesBound, grantsBound }: Subject,
  updates: number,
  multiple: number,
): void {
  if (updatesBound !== undefined) {
    const name = `updates per grant, ${CALLERS} local callers of ${title}`;
    report.gate({ name, measured: updates, must: '≤', bound: updatesBound });
  }
  if (grantsBound !== undefined) {
    const name = `grants/s of ${CALLERS} local callers of ${title} / one update for each`;
    report.gate({ name, measured: multiple, must: '≥', bound: grantsBound });
  }
}

/** What one update for each acquire and each release would give. */
async function pairsPerSecond(bare: BareWrite, blockMs: number): Promise<number> {
  const startedMs = performance.now();
  let pairs = 0;
  while (performance.now() - startedMs < blockMs) {
    await bare.run();
    await bare.run();
    pairs += 1;
  }
  return pairs / ((performance.now() - startedMs) / 1_000);
}

async function grantsPerSecond(bench: Workbench, subject: Subject, blockMs: number): Promise<number> {
  await using locks = new LockProvider(bench.client().db(bench.dbName));
  const { grants, tookMs } = await crowd(subject.take(locks), blockMs, () => 0);
  return grants / (tookMs / 1_000);
}

/** By a connection of its own: listening to commands costs time. */
async function updatesPerGrant(bench: Workbench, subject: Subject, blockMs: number): Promise<number> {
  const client = bench.client({ monitorCommands: true });
  await using locks = new LockProvider(client.db(bench.dbName));
  let sent = 0;
  client.on('commandStarted', ({ commandName }) => {
    if (commandName === 'findAndModify' || commandName === 'update') sent += 1;
  });
  const { grants, updates } = await crowd(subject.take(locks), blockMs, () => sent);
  return updates / grants;
}

interface Count {
  readonly grants: number;
  readonly updates: number;
  readonly tookMs: number;
}

/** Everybody takes the lock and gives it back at once, again and again; what is counted begins after a warm-up. */
async function crowd(
  take: () => Promise<LockHandle>,
  blockMs: number,
  updatesSoFar: () => number,
): Promise<Count> {
  let grants = 0;
  const now = (): Count => ({ grants, updates: updatesSoFar(), tookMs: performance.now() });
  const fromMs = performance.now() + WARM_UP_MS;
  let began: Count | undefined;
  let ended: Count | undefined;
  const caller = async (): Promise<void> => {
    while (performance.now() < fromMs + blockMs) {
      const lock = await take();
      grants += 1;
      if (performance.now() > fromMs) began ??= now();
      await lock.release();
    }
    // What goes on while the others leave is not counted.
    ended ??= now();
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  if (began === undefined || ended === undefined) throw new Error('nobody was granted anything');
  return {
    grants: ended.grants - began.grants,
    updates: ended.updates - began.updates,
    tookMs: ended.tookMs - began.tookMs,
  };
}
