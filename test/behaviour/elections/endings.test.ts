import { describe, expect, it } from 'vitest';
import { observableOf } from '../../../src/observation.js';
import { whenTestEnds } from '../../support/current-test.js';
import { eventually, later, rejection, staysOpen, within } from '../../../lab/patience.js';
import { testProvider, twoProviders } from '../../support/test-provider.js';

describe('a candidate', () => {
  it('stands again only after the work of its last term has ended, and others lead meanwhile', async () => {
    const [one, other] = await twoProviders({ leaseMs: 3_000 });
    const told: string[] = [];
    let finish!: () => void;
    const work = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const a = one.locks.createLeaderElection('e', {
      onElected: async () => {
        told.push('elected');
        await work;
      },
      onDeposed: () => {
        told.push('deposed');
      },
    });
    const b = other.locks.createLeaderElection('e');
    await a.start();
    await a.untilElected();
    await b.start();
    await one.locks.revoke('e', { force: true });
    for (let term = 0; term < 3; term += 1) {
      await within(10_000, 'b', b.untilElected());
      await b.resign();
    }
    await within(10_000, 'b, who is alone', b.untilElected());
    // A restart does not let it stand earlier either.
    await a.stop({ drainMs: 0 });
    const started = later(a.start());
    expect(await staysOpen(started, 100)).toBe(true);
    expect((await one.locks.inspect('e'))?.waiters).toEqual([]);
    expect(told).toEqual(['elected']);
    finish();
    await within(10_000, 'its start', started);
    await b.stop();
    await within(10_000, 'a', a.untilElected());
    await a.stop();
    expect(told).toEqual(['elected', 'deposed', 'elected', 'deposed']);
  });

  it('has its whole lease even if its event loop is blocked: no other candidate leads before it expires', async () => {
    const [one, other] = await twoProviders({ leaseMs: 3_000 });
    const a = one.locks.createLeaderElection('e', { candidateId: 'a' });
    const b = other.locks.createLeaderElection('e', { candidateId: 'b' });
    await a.start();
    await b.start();
    const term = await a.untilElected();
    const { holder } = (await one.document('e')) as unknown as { holder: { expiresAt: Date } };
    const boundMs = performance.now() + 6_000;
    while (term.remainingMs > 0 && performance.now() < boundMs);
    expect(term.isHeld).toBe(false);
    await within(10_000, 'b', b.untilElected());
    const leader = await b.leader();
    expect(leader?.candidateId).toBe('b');
    expect(leader?.electedAt.getTime()).toBeGreaterThanOrEqual(holder.expiresAt.getTime());
  });

  it('gets an aborted signal in onElected if its term is over already, and is not the leader', async () => {
    const [one, other] = await twoProviders({ leaseMs: 1_000 });
    const told: string[] = [];
    const a = one.locks.createLeaderElection('e', {
      candidateId: 'a',
      onElected: ({ signal }) => told.push(`elected, ${signal.aborted ? 'over' : 'open'}`),
      onDeposed: (_, why) => told.push(why),
    });
    const b = other.locks.createLeaderElection('e', { candidateId: 'b' });
    one.locks.once('acquired', () => {
      const untilMs = performance.now() + 1_500;
      while (performance.now() < untilMs);
    });
    await b.start();
    await a.start();
    const states: unknown[] = [];
    a.on('deposed', () => states.push(a.state, a.term));
    await b.stop();
    await eventually('the end of its first term', () => states.length > 0);
    expect(told.slice(0, 2)).toEqual(['elected, over', 'lost']);
    expect(states.slice(0, 2)).toEqual(['campaigning', null]);
    await a.stop();
  });

  it('stops within the shortest drainMs of its stop() calls, also after its term was revoked', async () => {
    const [one] = await twoProviders({ leaseMs: 60_000 });
    const a = one.locks.createLeaderElection('e', { onElected: () => new Promise(() => undefined) });
    await a.start();
    const term = await a.untilElected();
    await one.locks.revoke('e');
    await eventually('the end of the term', () => term.signal.aborted);
    const unhurried = later(a.stop({ drainMs: 60_000 }));
    await within(10_000, 'the stop', Promise.all([a.stop({ drainMs: 0 }), unhurried]));
  });

  it('has no term after a stop by an observer that hears of the beginning of the term', async () => {
    const { locks } = await testProvider();
    const election = locks.createLeaderElection('e');
    const told: unknown[] = [];
    election.on('elected', () => void told.push('elected'));
    election.on('deposed', ({ why }) => void told.push(why));
    let stopped: Promise<void> | undefined;
    let termThen: unknown;
    observableOf(locks).observe({
      termStarted: () => {
        stopped = later(election.stop());
        termThen = election.term;
      },
    });
    await election.start();
    await eventually('its stop', () => stopped !== undefined);
    await within(10_000, 'the stop', stopped ?? Promise.reject(new Error('it was not stopped')));
    expect([termThen, election.term, election.state]).toEqual([null, null, 'stopped']);
    expect(told).toEqual(['elected', 'stopped']);
  });

  it('awaits any thenable that its callbacks return', async () => {
    const [one] = await twoProviders();
    const told: string[] = [];
    const a = one.locks.createLeaderElection('e', {
      onElected: () => ({
        then: (done: () => void) => {
          told.push('asked for');
          setTimeout(() => {
            told.push('done');
            done();
          }, 50);
        },
      }),
      onDeposed: () => told.push('deposed'),
    });
    await a.start();
    await a.untilElected();
    await a.stop();
    expect(told).toEqual(['asked for', 'done', 'deposed']);
  });

  it('settles resign() and handOverTo() that a listener of the lost event calls', async () => {
    const [one] = await twoProviders();
    const a = one.locks.createLeaderElection('e', { candidateId: 'a' });
    const endings: Promise<unknown>[] = [];
    one.locks.on('lost', () => endings.push(later(a.resign()), later(a.handOverTo('b'))));
    await a.start();
    await a.untilElected();
    await one.locks.revoke('e', { force: true });
    await eventually('its loss', () => endings.length === 2);
    await within(10_000, 'the answers', Promise.all(endings));
    await within(10_000, 'the end', a.stop());
  });

  it('rejects untilElected() when its provider closes, even if it was never started', async () => {
    const { locks } = await testProvider();
    const elected = later(locks.createLeaderElection('e').untilElected());
    await locks.close();
    const error = await rejection(within(5_000, 'the answer', elected));
    expect(error).toMatchObject({ code: 'PROVIDER_CLOSED', lockName: 'e' });
  });

  it('leaks no listeners when the library refuses it again and again', async () => {
    const [one, other] = await twoProviders({ leaseMs: 1_000 });
    const warnings: string[] = [];
    // The library's own warnings report the refusals, because no listener is registered for them.
    const onWarning = ({ name, message }: Error): void => {
      if (name !== 'LeaseholdWarning') warnings.push(`${name}: ${message}`);
    };
    process.on('warning', onWarning);
    whenTestEnds(() => {
      process.off('warning', onWarning);
    });
    const errors: unknown[] = [];
    const a = one.locks.createLeaderElection('e', { candidateId: 'a' });
    const b = other.locks.createLeaderElection('e', { candidateId: 'b' });
    b.on('error', (error) => errors.push(error));
    await a.start();
    await b.start();
    await one.tamper('e', { $set: { v: 2 } });
    await eventually('a dozen refusals', () => errors.length >= 12);
    expect(errors[0]).toMatchObject({ code: 'CORRUPT_LOCK_DOCUMENT' });
    expect(warnings).toEqual([]);
    await one.tamper('e', { $set: { v: 1 } });
    await within(20_000, 'one of them leads', Promise.race([a.untilElected(), b.untilElected()]));
    await Promise.all([a.stop(), b.stop()]);
  });
});
