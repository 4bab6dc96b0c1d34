import { describe, expect, it } from 'vitest';
import { LeaderIterator } from '../../../src/election/leader-iterator.js';
import type { LeaderInfo } from '../../../src/index.js';
import { eventually, within } from '../../../lab/patience.js';
import { ownDatabase, twoProviders } from '../../support/test-provider.js';
import { countStreams } from './streams.js';

describe.concurrent.each(['change-stream', 'polling'] as const)(
  'an observer of an election, by %s',
  (wakeups) => {
    it('sees the current leader, and then each next one', async () => {
      const [one, other] = await twoProviders({ wakeups, pollMs: { max: 50 } });
      const spectator = other.locks.createLeaderElection('e');
      const seen: (string | null)[] = [];
      const end = new AbortController();
      const watching = (async () => {
        for await (const leader of spectator.observe({ signal: end.signal })) {
          seen.push(leader === null ? null : `${leader.candidateId} at ${leader.value}`);
        }
      })();
      await eventually('no leader', () => seen.length === 1);
      const [a, b] = ['a', 'b'].map((candidateId) =>
        one.locks.createLeaderElection('e', { candidateId, value: `${candidateId}:80`, transitionMs: 500 }),
      );
      if (a === undefined || b === undefined) throw new Error('there are two');
      expect(await spectator.leader()).toBeNull();
      await a.start();
      await eventually('a', () => seen.length === 2);
      await b.start();
      const now: LeaderInfo | null = await spectator.leader();
      expect(now).toMatchObject({
        candidateId: 'a',
        processId: one.locks.processId,
        token: a.term?.fencingToken,
      });
      expect((now?.transitionUntil?.getTime() ?? 0) - (now?.expiresAt.getTime() ?? 0)).toBe(500);
      await a.stop();
      await eventually('b', () => seen.length === 3);
      await b.stop();
      await eventually('no leader', () => seen.length === 4);
      expect(seen).toEqual([null, 'a at a:80', 'b at b:80', null]);
      end.abort();
      await within(5_000, 'the end', watching);
    });

    it('sees that the lease of a silent leader has expired, although nothing is written', async () => {
      const database = ownDatabase();
      const other = await database.connected({ wakeups, pollMs: { max: 50 } });
      const victim = await database.connected({ leaseMs: 1_000 });
      const a = victim.locks.createLeaderElection('e');
      await a.start();
      await a.untilElected();
      const seen: unknown[] = [];
      const end = new AbortController();
      const watching = (async () => {
        for await (const leader of other.locks.createLeaderElection('e').observe({ signal: end.signal })) {
          seen.push(leader);
        }
      })();
      await eventually('a', (see) => see(seen).length > 0 && seen.at(-1) !== null);
      await victim.die();
      await eventually('no leader', (see) => see(seen).at(-1) === null);
      end.abort();
      await within(5_000, 'the end', watching);
    });
  },
);

describe.concurrent('observers of one provider', () => {
  it('share one stream, which closes with the last of them', async () => {
    const [one] = await twoProviders();
    const ends = [new AbortController(), new AbortController(), new AbortController()];
    let seen = 0;
    const watching = ends.map(async ({ signal }, index) => {
      const election = one.locks.createLeaderElection(index === 0 ? 'other' : 'e');
      for await (const leader of election.observe({ signal })) {
        expect(leader).toBeNull();
        seen += 1;
      }
    });
    await eventually('all of them', () => seen === 3);
    await eventually('one stream', async () => (await countStreams(one, one.appName)) === 1);
    for (const end of ends) end.abort();
    await within(5_000, 'the ends', Promise.all(watching));
    await eventually('no stream', async () => (await countStreams(one, one.appName)) === 0);
  });

  it('do not read the election again for every claim of a job', async () => {
    const [one, other] = await twoProviders();
    let runs = 0;
    const job = one.locks.createScheduledJob('e', { everyMs: 20, run: () => (runs += 1) });
    await job.start();
    const seen: unknown[] = [];
    const end = new AbortController();
    const watching = (async () => {
      for await (const leader of other.locks.createLeaderElection('e').observe({ signal: end.signal })) {
        seen.push(leader);
      }
    })();
    await eventually('the leader', () => seen.length === 1);
    await eventually('a stream', async () => (await countStreams(other, other.appName)) === 1);
    const looks = (): number => other.count('find');
    const looksBefore = looks();
    const runsBefore = runs;
    await eventually('thirty runs', () => runs >= runsBefore + 30);
    expect(looks() - looksBefore).toBeLessThan(10);
    end.abort();
    await within(5_000, 'the end', watching);
    await job.stop();
  });

  it('can end by a break, which closes their stream', async () => {
    const [one] = await twoProviders();
    const election = one.locks.createLeaderElection('e');
    for await (const leader of election.observe()) {
      expect(leader).toBeNull();
      break;
    }
    await eventually('no stream', async () => (await countStreams(one, one.appName)) === 0);
  });

  it('can be candidates themselves, and see each leader by the leader event', async () => {
    const [one, other] = await twoProviders();
    const a = one.locks.createLeaderElection('e', { candidateId: 'a' });
    const b = other.locks.createLeaderElection('e', { candidateId: 'b' });
    const told: (string | null)[] = [];
    b.on('leader', (leader) => told.push(leader?.candidateId ?? null));
    await a.start();
    await b.start();
    await eventually('a', () => told.includes('a'));
    await a.stop();
    await eventually('b', () => told.at(-1) === 'b');
    await b.stop();
    await eventually('no stream of its own', async () => (await countStreams(other, other.appName)) <= 1);
  });
});

it('an observer that reads more slowly than leaders change is shown the last hundred changes', async () => {
  const observer = new LeaderIterator(
    false,
    () => undefined,
    () => undefined,
  );
  for (let token = 1; token <= 250; token += 1) observer.show({ token } as LeaderInfo);
  observer.show(null);
  const first = await observer.next();
  expect(first.value).toMatchObject({ token: 152 });
  for (let token = 153; token <= 250; token += 1) await observer.next();
  expect(await observer.next()).toEqual({ done: false, value: null });
});
