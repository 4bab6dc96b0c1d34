import { describe, expect, it } from 'vitest';
import type { LeaderInfo } from '../../../src/index.js';
import { eventually, later, rejection, within } from '../../../lab/patience.js';
import { testProvider, twoProviders } from '../../support/test-provider.js';

const SOON_MS = 60_000;

describe('candidates()', () => {
  it('lists the leader, and then the standbys in the order of the queue', async () => {
    const [one, other] = await twoProviders();
    const spectator = other.locks.createLeaderElection('e');
    expect(await spectator.candidates()).toEqual([]);
    const all = ['a', 'b', 'c'].map((candidateId, index) =>
      (index === 1 ? other : one).locks.createLeaderElection('e', {
        candidateId,
        value: `${candidateId}:80`,
        transitionMs: 5_000,
      }),
    );
    for (const each of all) await each.start();
    const leader: LeaderInfo | null = await spectator.leader();
    const candidates = await spectator.candidates();
    const [p, q] = [one.locks.processId, other.locks.processId];
    expect(candidates).toEqual([
      { candidateId: 'a', processId: p, value: 'a:80', since: leader?.electedAt, isLeader: true },
      { candidateId: 'b', processId: q, value: 'b:80', since: expect.any(Date) as Date, isLeader: false },
      { candidateId: 'c', processId: p, value: 'c:80', since: expect.any(Date) as Date, isLeader: false },
    ]);
    const times = candidates.map(({ since }) => since.getTime());
    expect(times).toEqual([...times].sort((x, y) => x - y));
    // Each listed candidate can take over by a hand-over.
    expect(await all[0]?.handOverTo(candidates[2]?.candidateId ?? '')).toBe(true);
    await eventually('the new order', async () => {
      const ids = (await spectator.candidates()).map(({ candidateId }) => candidateId);
      return ids.join() === 'c,b,a';
    });
    expect(await one.locks.inspect('e')).toMatchObject({
      holders: [{ candidateId: 'c', value: 'c:80' }],
      waiters: [
        { candidateId: 'b', value: 'b:80' },
        { candidateId: 'a', value: 'a:80' },
      ],
    });
    await Promise.all(all.map((each) => each.stop()));
  });

  it('is empty for a lock of another kind, and rejects for a corrupt document or a closed provider', async () => {
    const one = await testProvider();
    const election = one.locks.createLeaderElection('e', { candidateId: 'a' });
    const hold = await one.locks.acquireMutex('e');
    expect(await election.candidates()).toEqual([]);
    await hold.release();
    await election.start();
    await one.tamper('e', { $set: { 'holder.value': 7 } });
    expect(await rejection(election.candidates())).toMatchObject({ code: 'CORRUPT_LOCK_DOCUMENT' });
    await one.tamper('e', { $set: { 'holder.value': '' } });
    await election.stop();
    await one.locks.close();
    expect(await rejection(election.candidates())).toMatchObject({ code: 'PROVIDER_CLOSED' });
  });
});

describe('the timeout error of untilElected()', () => {
  it('names the current leader by its candidate id, and not one that has stopped', async () => {
    const [one, other] = await twoProviders();
    const [a, b] = [
      one.locks.createLeaderElection('e', { candidateId: 'pod-a' }),
      other.locks.createLeaderElection('e', { candidateId: 'pod-b' }),
    ];
    const [c, d] = ['pod-c', 'pod-d'].map((candidateId) =>
      other.locks.createLeaderElection('e', { candidateId }),
    );
    for (const each of [a, b, c]) await each?.start();
    const late = async (candidate: typeof c): Promise<unknown> =>
      await rejection(candidate?.untilElected({ timeoutMs: 10 }) ?? Promise.resolve());
    expect(await late(c)).toMatchObject({
      code: 'ACQUIRE_TIMEOUT',
      message: expect.stringContaining('candidate "pod-a"') as unknown,
      holders: [{ candidateId: 'pod-a' }],
      place: 1,
    });
    await a.stop();
    await within(SOON_MS, 'b', b.untilElected());
    // The same for a candidate that was never started.
    for (const candidate of [c, d]) {
      const error = await late(candidate);
      expect(error).toMatchObject({
        message: expect.stringContaining('candidate "pod-b"') as unknown,
        holders: [{ candidateId: 'pod-b', process: other.locks.processId }],
      });
    }
    await Promise.all([b.stop(), c?.stop()]);
  });
});

describe('an observation', () => {
  it('ends at once when return() is called while next() is pending', async () => {
    const { locks } = await testProvider();
    const leaders = locks.createLeaderElection('e').observe()[Symbol.asyncIterator]();
    expect(await within(SOON_MS, 'no leader', leaders.next())).toEqual({ done: false, value: null });
    const pending = [later(leaders.next()), later(leaders.next())];
    expect(
      await within(SOON_MS, 'the return', leaders.return?.() ?? Promise.reject(new Error('it has none'))),
    ).toMatchObject({
      done: true,
    });
    for (const next of pending) expect(await within(SOON_MS, 'a next', next)).toMatchObject({ done: true });
    expect(await within(SOON_MS, 'another next', leaders.next())).toMatchObject({ done: true });
  });

  it('ends by a break, and answers pending next() calls in their order', async () => {
    const { locks } = await testProvider();
    const election = locks.createLeaderElection('e', { candidateId: 'a' });
    const leaders = election.observe()[Symbol.asyncIterator]();
    const nexts = [leaders.next(), leaders.next(), leaders.next()];
    expect(await within(SOON_MS, 'nobody', nexts[0] ?? Promise.reject(new Error()))).toMatchObject({
      value: null,
    });
    await election.start();
    expect(await nexts[1]).toMatchObject({ value: { candidateId: 'a' } });
    let seen = 0;
    for await (const leader of election.observe()) {
      seen += 1;
      expect(leader?.candidateId).toBe('a');
      break;
    }
    expect(seen).toBe(1);
    await election.stop();
    expect(await nexts[2]).toMatchObject({ value: null });
    await leaders.return?.();
  });

  it('yields no leader if it is over before it begins', async () => {
    const { locks } = await testProvider();
    const leaders = locks.createLeaderElection('e').observe({ signal: AbortSignal.abort() });
    for await (const leader of leaders) throw new Error(`shown: ${JSON.stringify(leader)}`);
    const returned = locks.createLeaderElection('e').observe()[Symbol.asyncIterator]();
    await returned.return?.();
    expect(await returned.next()).toMatchObject({ done: true });
  });
});
