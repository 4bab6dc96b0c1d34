import { describe, expect, it } from 'vitest';
import type { LeaderElection } from '../../../src/index.js';
import { eventually, within } from '../../../lab/patience.js';
import type { TestProvider } from '../../support/test-provider.js';
import { ownDatabase } from '../../support/test-provider.js';

/** The lease of the candidates that survive: long, because the machine may be busy. */
const LEASE_MS = 30_000;
/** The lease of the candidate that dies. */
const SHORT_MS = 1_000;
/** So long that a test that has to wait for its end times out. */
const TRANSITION_MS = 600_000;
/** Very short beside the transition. */
const SOON_MS = 60_000;

/** A lease so short that the test sees its extension. */
const TERM_MS = 3_000;

interface StoredLease {
  readonly leaseMs: number;
  readonly expiresAt: Date;
  readonly acquiredAt: Date;
}

interface Stored {
  readonly holder: StoredLease;
  readonly queue: Readonly<Record<string, StoredLease & { readonly candidateId: string }>>;
}

const stored = async (provider: TestProvider): Promise<Stored> =>
  (await provider.document('e')) as unknown as Stored;

const waitingIn = async ({ locks }: TestProvider): Promise<readonly (string | undefined)[]> =>
  ((await locks.inspect('e'))?.waiters ?? []).map(({ candidateId }) => candidateId);

/** A leader, a standby whose process dies, and others behind it. */
async function withDeadStandby(
  ...others: readonly string[]
): Promise<{ readonly one: TestProvider; readonly a: LeaderElection; readonly rest: LeaderElection[] }> {
  const database = ownDatabase();
  const one = await database.connected({ leaseMs: LEASE_MS });
  const victim = await database.connected({ leaseMs: SHORT_MS });
  const options = { leaseMs: LEASE_MS, transitionMs: TRANSITION_MS };
  const a = one.locks.createLeaderElection('e', { candidateId: 'a', ...options });
  await a.start();
  await a.untilElected();
  await victim.locks
    .createLeaderElection('e', { candidateId: 'dead', ...options, leaseMs: SHORT_MS })
    .start();
  const rest = others.map((candidateId) => one.locks.createLeaderElection('e', { candidateId, ...options }));
  for (const each of rest) await each.start();
  await victim.die();
  return { one, a, rest };
}

describe('a standby of an election with a transition', () => {
  it('is not elected after it died and its lease expired', async () => {
    const { one, a, rest } = await withDeadStandby('c');
    await eventually('its place lapses', async () => !(await waitingIn(one)).includes('dead'), SOON_MS);
    await a.stop();
    await within(
      SOON_MS,
      'the one behind it',
      rest[0]?.untilElected() ?? Promise.reject(new Error('there is one')),
    );
    await rest[0]?.stop();
  });

  it('gets no hand-over after it died, and the leader goes on leading', async () => {
    const { one, a } = await withDeadStandby();
    // Its place is still stored: an extension by the leader drops no waiter.
    await eventually('its place lapses', async () => (await waitingIn(one)).length === 0, SOON_MS);
    const { term } = a;
    expect(Object.keys((await stored(one)).queue)).toHaveLength(1);
    expect(await a.handOverTo('dead')).toBe(false);
    expect([a.term, term?.signal.aborted, term?.isHeld]).toEqual([term, false, true]);
    await a.stop();
  });

  it('gets no hand-over if it dies while the work of the leader ends', async () => {
    const database = ownDatabase();
    const one = await database.connected({ leaseMs: LEASE_MS });
    const victim = await database.connected({ leaseMs: SHORT_MS });
    const options = { leaseMs: LEASE_MS, transitionMs: TRANSITION_MS };
    const a = one.locks.createLeaderElection('e', {
      ...{ candidateId: 'a', ...options },
      onElected: async ({ signal }) => {
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve);
        });
        await victim.die();
        await eventually('its place lapses', async () => (await waitingIn(one)).length === 1, SOON_MS);
      },
    });
    const c = one.locks.createLeaderElection('e', { candidateId: 'c', ...options });
    await a.start();
    await a.untilElected();
    await victim.locks
      .createLeaderElection('e', { candidateId: 'dead', ...options, leaseMs: SHORT_MS })
      .start();
    await c.start();
    expect(await a.handOverTo('dead', { drainMs: 60_000 })).toBe(false);
    await within(SOON_MS, 'the first in line', c.untilElected());
    await Promise.all([a.stop(), c.stop()]);
  });

  it('has a lease of leaseMs while it waits, and of leaseMs and transitionMs while it leads', async () => {
    const database = ownDatabase();
    const one = await database.connected({ leaseMs: TERM_MS });
    const other = await database.connected({ leaseMs: TERM_MS });
    const options = { transitionMs: TRANSITION_MS };
    const a = one.locks.createLeaderElection('e', { candidateId: 'a', ...options });
    const b = other.locks.createLeaderElection('e', { candidateId: 'b', ...options });
    // The first leader is elected at once, the second one from the queue.
    for (const [leader, standby] of [
      [a, b],
      [b, a],
    ] as const) {
      await leader.start();
      const term = await within(SOON_MS, 'the leader', leader.untilElected());
      await standby.start();
      const { holder, queue } = await stored(one);
      expect(holder.leaseMs).toBe(TERM_MS + TRANSITION_MS);
      const endsInMs = holder.expiresAt.getTime() - holder.acquiredAt.getTime();
      expect(endsInMs).toBeGreaterThan(TRANSITION_MS);
      expect(Object.values(queue)).toMatchObject([{ leaseMs: TERM_MS, transitionMs: TRANSITION_MS }]);
      expect(term.remainingMs).toBeLessThanOrEqual(TERM_MS);
      // The same after an extension.
      const extended = eventually('an extension', async () => {
        const now = await stored(one);
        return now.holder.expiresAt > holder.expiresAt;
      });
      await within(SOON_MS, 'an extension', extended);
      expect(term.remainingMs).toBeLessThanOrEqual(TERM_MS);
      expect(leader.isLeader).toBe(true);
      await leader.stop();
    }
    await a.stop();
  });
});
