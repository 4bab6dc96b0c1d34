import type { Db } from 'mongodb';
import { afterEach, describe, expect, it } from 'vitest';
import { QuorumLockProvider } from '../../../src/quorum/index.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';
import { FAULTS } from './faults.js';
import { untilSettled } from './fleet.js';

let sets: readonly MemoryReplicaSet[] = [];
let providers: readonly QuorumLockProvider[] = [];

/** Three deployments that share the time of the first one, and the time itself. */
function deployments(seed: number): readonly MemoryReplicaSet[] {
  const first = new MemoryReplicaSet({ time: 'virtual', seed });
  sets = [first, ...[1, 2].map((more) => new MemoryReplicaSet({ time: first, seed: seed + more }))];
  return sets;
}

/** Two processes. Each has a database in each deployment. */
function processes(): readonly { readonly dbs: readonly Db[]; readonly locks: QuorumLockProvider }[] {
  const made = [1, 2].map(() => {
    const dbs = sets.map((set) => set.db('app'));
    const locks = new QuorumLockProvider(dbs, { leaseMs: 10_000 });
    for (const event of ['storeError', 'lost', 'wakeups'] as const) locks.on(event, () => undefined);
    return { dbs, locks };
  });
  providers = made.map(({ locks }) => locks);
  return made;
}

afterEach(async () => {
  const [time] = sets;
  if (time === undefined) return;
  await untilSettled(time, Promise.all(providers.map((each) => each.close({ drainMs: 0 }))));
  for (const set of [...sets].reverse()) await set.close();
});

describe.each(FAULTS)('a quorum under $what in one deployment, in virtual time', ({ begin, end }) => {
  it('passes its mutex on, one holder at a time', async () => {
    const [time, faulty] = deployments(31);
    if (time === undefined || faulty === undefined) throw new Error('no deployment');
    const members = processes();
    let inside = 0;
    let entered = 0;
    const working = Promise.all(
      members.map(async ({ dbs, locks }) => {
        for (let round = 0; round < 8; round += 1) {
          await locks.createMutex('a').use(async () => {
            inside += 1;
            entered += 1;
            expect(inside).toBe(1);
            await time.sleep(300, dbs[0]);
            inside -= 1;
          });
        }
      }),
    );
    await time.advance(1_000);
    const [db] = members[0]?.dbs.slice(1) ?? [];
    if (db === undefined) throw new Error('no database');
    begin(faulty, db);
    await time.advance(15_000);
    end?.(faulty, db);
    await untilSettled(time, working);
    expect(entered).toBe(16);
    for (const set of sets) expect(set.violations()).toEqual([]);
  });
});

describe('a quorum of replica sets in memory', () => {
  const newSets = (...times: readonly ('real' | 'virtual')[]): readonly Db[] => {
    sets = times.map((time, index) => new MemoryReplicaSet({ time, seed: 41 + index }));
    return sets.map((set) => set.db('app'));
  };

  it('is refused if their times differ', () => {
    const dbs = newSets('virtual', 'virtual', 'virtual');
    expect(() => new QuorumLockProvider(dbs)).toThrow(TypeError);
    expect(() => new QuorumLockProvider(dbs)).toThrow('dbs must share one time');
  });

  it('is refused if one of them has the time of the process, and the others have not', () => {
    expect(() => new QuorumLockProvider(newSets('real', 'virtual', 'real'))).toThrow(
      'dbs must share one time',
    );
  });

  it('takes sets that each have the time of the process', async () => {
    const locks = new QuorumLockProvider(newSets('real', 'real', 'real'));
    providers = [locks];
    const lock = await locks.createMutex('a').acquire();
    expect(lock.isHeld).toBe(true);
    await lock.release();
  });
});
