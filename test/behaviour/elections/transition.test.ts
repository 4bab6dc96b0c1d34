import { describe, expect, it } from 'vitest';
import { eventually, later, staysOpen, within } from '../../../lab/patience.js';
import { ownDatabase } from '../../support/test-provider.js';

describe.concurrent('after a leader went silent', () => {
  it('the next candidate leads once the lease has expired', async () => {
    const database = ownDatabase();
    const { locks } = await database.connected({ leaseMs: 8_000 });
    const victim = await database.connected({ leaseMs: 8_000 });
    const a = victim.locks.createLeaderElection('e', { candidateId: 'a' });
    const b = locks.createLeaderElection('e', { candidateId: 'b' });
    await a.start();
    const term = await a.untilElected();
    await b.start();
    await victim.die();
    const next = await within(8_000 + 7_000, 'b', b.untilElected());
    expect(next.fencingToken).toBeGreaterThan(term.fencingToken);
    expect(term.isHeld).toBe(false);
  });

  it('only the same candidate can lead during the transition, ahead of all waiters and with a new token', async () => {
    const database = ownDatabase();
    const { locks } = await database.connected({ leaseMs: 1_000 });
    const victim = await database.connected({ leaseMs: 1_000 });
    const transition = { transitionMs: 12_000 };
    const a = victim.locks.createLeaderElection('e', { candidateId: 'a', ...transition });
    const b = locks.createLeaderElection('e', { candidateId: 'b', ...transition });
    const heir = locks.createLeaderElection('e', { candidateId: 'a', ...transition });
    await a.start();
    const term = await a.untilElected();
    expect(term.remainingMs).toBeLessThanOrEqual(1_000);
    await b.start();
    const waiting = later(b.untilElected());
    // The heir waits behind b while the lease of the old term is live.
    await heir.start();
    await victim.die();
    await eventually('the end of the old term', () => !term.isHeld);
    const next = await within(60_000, 'the heir', heir.untilElected());
    expect(next.fencingToken).toBeGreaterThan(term.fencingToken);
    expect(await staysOpen(waiting, 100)).toBe(true);
    await heir.stop();
    await within(60_000, 'b', waiting);
  });

  it('another candidate leads once the transition is over', async () => {
    const database = ownDatabase();
    const { locks } = await database.connected({ leaseMs: 1_000 });
    const victim = await database.connected({ leaseMs: 1_000 });
    const a = victim.locks.createLeaderElection('e', { candidateId: 'a', transitionMs: 5_000 });
    const b = locks.createLeaderElection('e', { candidateId: 'b', transitionMs: 5_000 });
    await a.start();
    const term = await a.untilElected();
    await b.start();
    const waiting = later(b.untilElected());
    await victim.die();
    await eventually('the end of the old term', () => !term.isHeld);
    expect(await staysOpen(waiting, 800)).toBe(true);
    expect(await b.leader()).toMatchObject({ candidateId: 'a', token: term.fencingToken });
    await within(60_000, 'b', waiting);
  });
});
