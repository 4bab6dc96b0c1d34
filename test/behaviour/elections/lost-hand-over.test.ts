import { expect, it, onTestFinished } from 'vitest';
import { LockProvider } from '../../../src/index.js';
import type { LeaderElection } from '../../../src/index.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';
import { later } from '../../../lab/patience.js';

const LEASE_MS = 1_000;

/** Three candidates in processes of their own; `a` leads, and `c` stands before `b`. */
async function threeCandidates(): Promise<{
  readonly set: MemoryReplicaSet;
  readonly db: ReturnType<MemoryReplicaSet['db']>;
  readonly a: LeaderElection;
  readonly b: LeaderElection;
  readonly c: LeaderElection;
}> {
  const set = new MemoryReplicaSet({ time: 'virtual', seed: 3 });
  const providers: LockProvider[] = [];
  onTestFinished(async () => {
    const closed = Promise.all(providers.map((locks) => locks.close()));
    await set.advance(LEASE_MS);
    await closed;
    await set.close();
  });
  const standing = async (candidateId: string) => {
    const db = set.db('app');
    const locks = new LockProvider(db, { leaseMs: LEASE_MS });
    providers.push(locks);
    const election = locks.createLeaderElection('e', { candidateId });
    election.on('error', () => undefined);
    const started = later(election.start());
    await set.advance(100);
    await started;
    return { db, election };
  };
  const { db, election: a } = await standing('a');
  const { election: c } = await standing('c');
  const { election: b } = await standing('b');
  expect([a.isLeader, b.isLeader, c.isLeader]).toEqual([true, false, false]);
  return { set, db, a, b, c };
}

it('is not successful if another candidate has led before the named one', async () => {
  const { set, db, a, b, c } = await threeCandidates();
  // The question whether `b` waits is answered, and the hand-over itself reaches nobody.
  a.on('deposed', () => {
    set.cut(db);
  });
  const handed = later(a.handOverTo('b', { drainMs: 60_000 }));
  await set.advance(2 * LEASE_MS);
  expect([a.isLeader, b.isLeader, c.isLeader]).toEqual([false, false, true]);
  const resigned = later(c.resign());
  await set.advance(200);
  await resigned;
  expect(b.isLeader).toBe(true);
  set.heal(db);
  await set.advance(10_000);
  expect(await handed).toBe(false);
  expect(b.isLeader).toBe(true);
});

it('is not called successful if its answer is lost, although the named candidate leads', async () => {
  const { set, a, b } = await threeCandidates();
  a.on('deposed', () => {
    set.loseReplies(1);
  });
  const handed = later(a.handOverTo('b'));
  await set.advance(10_000);
  expect(await handed).toBe(false);
  expect(b.isLeader).toBe(true);
});

it('is successful at once if an answer shows it', async () => {
  const { set, a, b, c } = await threeCandidates();
  const handed = later(a.handOverTo('b'));
  await set.advance(500);
  expect(await handed).toBe(true);
  expect([a.isLeader, b.isLeader, c.isLeader]).toEqual([false, true, false]);
});
