// A process that takes locks one at a time, each call in turn with its floor.
import type { LockProvider } from '../../src/index.js';
import { bareLocks } from '../floor.js';
import type { BareTake } from '../floor.js';
import { inTurn, sleep, timeOf } from '../measure.js';
import type { Blocks } from '../measure.js';
import { connectedPlace, newClient, newProvider } from './connections.js';
import { newName } from './many-names.js';

const SAME = 'the same lock';

interface Subjects {
  readonly locks: LockProvider;
  readonly bare: BareTake;
}

/** Each call returns the time of its measured part, in ms. */
type Call = (subjects: Subjects) => Promise<number>;

const cycle = async (locks: LockProvider, name: string): Promise<void> => {
  await (await locks.createMutex(name).acquire()).release();
};
const bareCycle = async (bare: BareTake, name: string): Promise<void> => {
  await (
    await bare(name)
  )();
};

const CALLS = {
  'cycle of a new lock': ({ locks }) => timeOf(() => cycle(locks, newName())),
  'cycle of the same lock': ({ locks }) => timeOf(() => cycle(locks, SAME)),
  'two bare writes of a new document': ({ bare }) => timeOf(() => bareCycle(bare, newName())),
  'two bare writes of the same document': ({ bare }) => timeOf(() => bareCycle(bare, SAME)),
  'bare insert by upsert': ({ bare }) => timeOf(() => bare(newName())),
  'acquire of a new lock': ({ locks }) => thenReleased(() => locks.createMutex(newName()).acquire()),
  'acquireAll of 5 new locks': ({ locks }) => allOf(locks, 5),
  'acquireAll of 20 new locks': ({ locks }) => allOf(locks, 20),
} as const satisfies Readonly<Record<string, Call>>;

export type CallName = keyof typeof CALLS;

export interface Turns {
  readonly blocks: number;
  /** The rounds of a block; each round makes every call once. */
  readonly rounds: number;
  /** The pause before each call. */
  readonly pauseMs: number;
}

let subjects: Subjects | undefined;

export const singleCalls = {
  /** The times of each call, by block, in the order of the names. */
  async callInTurn(
    names: readonly CallName[],
    { blocks, rounds, pauseMs }: Turns,
  ): Promise<readonly Blocks[]> {
    const using = (subjects ??= newSubjects());
    const calls = names.map((name) => async () => {
      if (pauseMs > 0) await sleep(pauseMs);
      return await CALLS[name](using);
    });
    return await inTurn(blocks, rounds, calls);
  },
};

function newSubjects(): Subjects {
  const { uri, dbName } = connectedPlace();
  return { locks: newProvider(), bare: bareLocks(newClient(uri).db(dbName)) };
}

/** The release is not measured. */
async function thenReleased(acquire: () => Promise<{ release(): Promise<unknown> }>): Promise<number> {
  const startedMs = performance.now();
  const held = await acquire();
  const tookMs = performance.now() - startedMs;
  await held.release();
  return tookMs;
}

function allOf(locks: LockProvider, count: number): Promise<number> {
  const requests = Array.from({ length: count }, () => ({ mutex: locks.createMutex(newName()) }));
  return thenReleased(() => locks.acquireAll(requests));
}
