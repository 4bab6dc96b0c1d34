import { describe, expect, it } from 'vitest';
import type { LeaderElection, LockHandle, LockProvider } from '../../../src/index.js';
import { eventually, later, pause, staysOpen, within } from '../../../lab/patience.js';
import { ownDatabase, testProvider, twoProviders } from '../../support/test-provider.js';

/** So long that the test times out if only the expiry of the lease frees the seat. */
const LEASE_MS = 600_000;
const SOON_MS = 60_000;

/** A candidate whose work ignores its signal, and ends only when `finish` is called. */
function stubborn(
  locks: LockProvider,
  candidateId: string,
): { readonly election: LeaderElection; readonly finish: () => void; readonly told: string[] } {
  const told: string[] = [];
  let finish!: () => void;
  const work = new Promise<void>((resolve) => (finish = resolve));
  const election = locks.createLeaderElection('e', {
    candidateId,
    leaseMs: LEASE_MS,
    onElected: async () => {
      await work;
      told.push('worked');
    },
    onDeposed: (_, why) => {
      told.push(why);
    },
  });
  return {
    election,
    told,
    finish: () => {
      finish();
    },
  };
}

async function leaderAndStandby(): Promise<{
  readonly a: ReturnType<typeof stubborn>;
  readonly b: LeaderElection;
  readonly elected: Promise<LockHandle>;
  readonly locks: LockProvider;
}> {
  const [one, other] = await twoProviders();
  const a = stubborn(one.locks, 'a');
  const b = other.locks.createLeaderElection('e', { candidateId: 'b', leaseMs: LEASE_MS });
  await a.election.start();
  await a.election.untilElected();
  await b.start();
  return { a, b, elected: later(b.untilElected()), locks: one.locks };
}

describe('work that outlasts drainMs', () => {
  it.each(['stop', 'resign', 'hand over'] as const)(
    'keeps the seat until it ends, and no longer, after: %s',
    async (how) => {
      const { a, b, elected } = await leaderAndStandby();
      const drain = { drainMs: 50 };
      const ended: Promise<unknown> = {
        stop: () => a.election.stop(drain),
        resign: () => a.election.resign(drain),
        'hand over': () => a.election.handOverTo('b', drain),
      }[how]();
      const answer = await within(SOON_MS, how, ended);
      if (how === 'hand over') expect(answer).toBe(false);
      expect(await staysOpen(elected, 200)).toBe(true);
      expect(a.told).toEqual([]);
      a.finish();
      await within(SOON_MS, 'the standby', elected);
      expect(a.told).toEqual([
        'worked',
        { stop: 'stopped', resign: 'resigned', 'hand over': 'handed-over' }[how],
      ]);
      await Promise.all([a.election.stop(), b.stop()]);
    },
  );

  it('is awaited again by another stop(), and by close()', async () => {
    const { a, b, elected, locks } = await leaderAndStandby();
    await a.election.stop({ drainMs: 0 });
    const stopping = later(a.election.stop({ drainMs: SOON_MS }));
    const closing = later(locks.close({ drainMs: SOON_MS }));
    expect(await staysOpen(Promise.race([stopping, closing]), 200)).toBe(true);
    a.finish();
    await within(SOON_MS, 'both', Promise.all([stopping, closing]));
    await within(SOON_MS, 'the standby', elected);
    await b.stop();
  });

  it('does not have its lease extended, so another candidate leads even if the work never ends', async () => {
    const [one, other] = await twoProviders({ leaseMs: 1_000 });
    const a = one.locks.createLeaderElection('e', { onElected: () => new Promise(() => undefined) });
    const b = other.locks.createLeaderElection('e');
    await a.start();
    await a.untilElected();
    await b.start();
    await a.stop({ drainMs: 0 });
    await within(SOON_MS, 'the standby', b.untilElected());
    await b.stop();
  });

  it('delays a restart of its candidate: the next term begins only after the work has ended', async () => {
    const { a, b, elected } = await leaderAndStandby();
    await a.election.stop({ drainMs: 0 });
    const started = later(a.election.start());
    expect(await staysOpen(started, 100)).toBe(true);
    a.finish();
    await within(SOON_MS, 'its start', started);
    await within(SOON_MS, 'the standby', elected);
    await b.stop();
    await within(SOON_MS, 'its next term', a.election.untilElected());
    await a.election.stop();
    expect(a.told).toEqual(['worked', 'stopped', 'worked', 'stopped']);
  });
});

describe('drainMs', () => {
  it('is how long a hand-over waits for the work', async () => {
    const { a, elected } = await leaderAndStandby();
    const handed = later(a.election.handOverTo('b', { drainMs: LEASE_MS }));
    expect(await staysOpen(handed, 100)).toBe(true);
    a.finish();
    expect(await within(SOON_MS, 'the hand-over', handed)).toBe(true);
    await within(SOON_MS, 'the standby', elected);
    await a.election.stop();
  });

  it('applies to each call by itself: a short call returns while longer ones wait for the same work', async () => {
    const { a, elected } = await leaderAndStandby();
    const first = later(a.election.resign({ drainMs: LEASE_MS }));
    const second = later(a.election.resign({ drainMs: LEASE_MS }));
    await within(SOON_MS, 'a short one', a.election.resign({ drainMs: 0 }));
    expect(await a.election.handOverTo('b', { drainMs: 0 })).toBe(false);
    expect(await staysOpen(Promise.race([first, second]), 100)).toBe(true);
    a.finish();
    await within(SOON_MS, 'both', Promise.all([first, second]));
    await within(SOON_MS, 'the standby', elected);
    await a.election.stop();
  });

  it.each([{ drainMs: -1 }, { drainMs: '1' }, { drainMs: NaN }])(
    'is refused if it is no duration: %j',
    async (drain) => {
      const { locks } = await testProvider();
      const election = locks.createLeaderElection('e');
      for (const call of [
        election.resign(drain as { drainMs: number }),
        election.stop(drain as { drainMs: number }),
        election.handOverTo('b', drain as { drainMs: number }),
      ]) {
        await expect(call).rejects.toThrow(/drainMs/);
      }
    },
  );
});

describe('the release of a term', () => {
  it('ends the term like a resignation: no candidate is elected while its work goes on', async () => {
    const { a, b, elected } = await leaderAndStandby();
    const released = await (async () => {
      const term = await a.election.untilElected();
      const releasing = term.release();
      expect(term.release()).toBe(releasing);
      expect(await staysOpen(elected, 200)).toBe(true);
      expect([term.signal.aborted, a.told.length]).toEqual([true, 0]);
      a.finish();
      return await within(SOON_MS, 'the release', releasing);
    })();
    expect(released).toBe(true);
    await within(SOON_MS, 'the standby', elected);
    expect(a.told).toEqual(['worked', 'resigned']);
    await b.stop();
    // The candidate stands again.
    const again = await within(SOON_MS, 'another term', a.election.untilElected());
    await again[Symbol.asyncDispose]();
    await a.election.stop();
  });

  it('returns false if the term was lost, and does not end the next term', async () => {
    const { locks } = await testProvider();
    const election = locks.createLeaderElection('e');
    await election.start();
    const term = await election.untilElected();
    await locks.revoke('e', { force: true });
    await eventually('its loss', () => term.signal.aborted);
    const next = await within(SOON_MS, 'another term', election.untilElected());
    expect(await term.release()).toBe(false);
    expect([next.isHeld, next.signal.aborted]).toEqual([true, false]);
    await election.stop();
  });

  it('returns false if it finds that the lease is gone, as the release of a mutex does', async () => {
    const [{ locks }, other] = await twoProviders({ leaseMs: LEASE_MS });
    const lost: string[] = [];
    locks.on('lost', ({ why }) => lost.push(why));
    const election = locks.createLeaderElection('e');
    await election.start();
    const term = await election.untilElected();
    // The process has no change stream open, so it learns of the revocation by its release.
    await other.locks.revoke('e', { force: true });
    expect(term.isHeld).toBe(true);
    expect(await within(SOON_MS, 'the release', term.release())).toBe(false);
    expect(lost).toEqual(['revoked']);
    await election.stop();
  });
});

describe('a job', () => {
  it.each(['stop', 'close'] as const)(
    'frees its seat for the next leader as soon as its run has ended, after: %s',
    async (how) => {
      const database = ownDatabase();
      const one = await database.connected({ leaseMs: LEASE_MS });
      const other = await database.connected({ leaseMs: LEASE_MS });
      const runs: string[] = [];
      const job = (locks: LockProvider, who: string): ReturnType<LockProvider['createScheduledJob']> =>
        locks.createScheduledJob('job', {
          everyMs: 50,
          run: async ({ signal }) => {
            runs.push(who);
            await new Promise((resolve) => {
              signal.addEventListener('abort', resolve);
            });
            await pause(50);
            runs.push(`${who} ended`);
          },
        });
      const [a, b] = [job(one.locks, 'a'), job(other.locks, 'b')];
      await a.start();
      await eventually('a run', () => runs.length === 1);
      await b.start();
      await within(
        SOON_MS,
        how,
        how === 'stop' ? a.stop({ drainMs: LEASE_MS }) : one.locks.close({ drainMs: LEASE_MS }),
      );
      await eventually('a run of the next', () => runs.length === 3);
      expect(runs).toEqual(['a', 'a ended', 'b']);
      await b.stop();
    },
  );
});
