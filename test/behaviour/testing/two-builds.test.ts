import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import * as present from '../../../src/index.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';
import { pause, within } from '../../../lab/patience.js';
import { earlierBuild, hasCommit } from '../../support/earlier-build.js';

type Build = Pick<typeof present, 'LockProvider'>;

/**
 * A build before the kept reads of reader-writer locks, with the same version of the document. It does not know the
 * simulation, so time is real.
 */
const EARLIER = 'b8cb2aa';

const isThere = await hasCommit(EARLIER, 'two builds');

let set: MemoryReplicaSet | undefined;

afterEach(async () => {
  await set?.close();
  set = undefined;
});

/** What two builds did under the same locks. */
class Work {
  readonly tokens: number[] = [];
  writers = 0;
  readers = 0;
  permits = 0;
  done = 0;

  /** Takes each kind of lock once. Throws if another holder is inside that must not be. */
  async round(locks: present.LockProvider): Promise<void> {
    await locks.createMutex('m', { keepMs: 20 }).use(async ({ fencingToken }) => {
      expect(fencingToken).toBeGreaterThan(this.tokens.at(-1) ?? 0);
      this.tokens.push(fencingToken);
      await pause(2);
    });
    await locks.createReaderWriterLock('r').useRead(async () => {
      this.readers += 1;
      expect(this.writers).toBe(0);
      await pause(2);
      this.readers -= 1;
    });
    await locks.createReaderWriterLock('r').useWrite(async () => {
      this.writers += 1;
      expect([this.writers, this.readers]).toEqual([1, 0]);
      await pause(2);
      this.writers -= 1;
    });
    await locks.createSemaphore('s', 2).use(async () => {
      this.permits += 1;
      expect(this.permits).toBeLessThanOrEqual(2);
      await pause(2);
      this.permits -= 1;
    });
    this.done += 1;
  }
}

/** One process after the other is replaced by one of the next build, while all of them work. */
async function replaceEach(first: Build, second: Build): Promise<MemoryReplicaSet> {
  const store = new MemoryReplicaSet({ seed: 17 });
  set = store;
  const open = ({ LockProvider }: Build): present.LockProvider =>
    new LockProvider(store.db('app'), { leaseMs: 5_000, createIndexes: false });
  const work = new Work();
  const runs = [0, 1, 2].map(async (index) => {
    for (const [build, rounds] of [
      [first, 8 + 4 * index],
      [second, 20 - 4 * index],
    ] as const) {
      const locks = open(build);
      for (let round = 0; round < rounds; round += 1) await work.round(locks);
      await locks.close();
    }
  });
  await within(60_000, 'all rounds', Promise.all(runs));
  expect(work.done).toBe(3 * 28);
  expect(new Set(work.tokens).size).toBe(3 * 28);
  return store;
}

describe.skipIf(!isThere)('two builds that share a collection', () => {
  let earlier: Awaited<ReturnType<typeof earlierBuild>>;

  beforeAll(async () => {
    earlier = await earlierBuild(EARLIER);
  });

  afterAll(async () => {
    await earlier[Symbol.asyncDispose]();
  });

  it.each(['upgraded', 'downgraded'] as const)(
    'keep their locks exclusive while the fleet is %s, one process at a time',
    async (way) => {
      const { library } = earlier;
      const store = await (way === 'upgraded'
        ? replaceEach(library, present)
        : replaceEach(present, library));
      expect(store.violations()).toEqual([]);
      const [mutex] = store.documents().filter(({ _id }) => _id === 'm');
      expect(mutex).toMatchObject({ kind: 'mutex', holder: null, queue: {} });
    },
  );
});
