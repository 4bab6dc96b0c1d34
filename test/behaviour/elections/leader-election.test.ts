import { describe, expect, it } from 'vitest';
import type { LeaderElection, LeaderElectionOptions, LockProvider } from '../../../src/index.js';
import { eventually, later, pause, rejection, staysOpen, thrown, within } from '../../../lab/patience.js';
import { twoProviders } from '../../support/test-provider.js';
import { untilWaiting } from '../../support/waiters.js';

/** A candidate that records its callbacks in `told`. */
function candidate(
  locks: LockProvider,
  candidateId: string,
  told: string[],
  options: LeaderElectionOptions = {},
): LeaderElection {
  return locks.createLeaderElection('e', {
    candidateId,
    onElected: () => {
      told.push(`${candidateId} elected`);
    },
    onDeposed: (_, why) => {
      told.push(`${candidateId} deposed: ${why}`);
    },
    ...options,
  });
}

async function drained(leaders: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const leader of leaders) all.push(leader);
  return all;
}

describe.concurrent('an election', () => {
  it('has one leader, and elects the next candidate in the order of the starts when the leader stops', async () => {
    const [one, other] = await twoProviders();
    const told: string[] = [];
    const [a, b, c] = [
      candidate(one.locks, 'a', told),
      candidate(other.locks, 'b', told),
      candidate(one.locks, 'c', told),
    ];
    expect([a.state, a.isLeader, a.term]).toEqual(['stopped', false, null]);
    for (const each of [a, b, c]) await each.start();
    const term = await a.untilElected();
    expect([a.state, b.state, c.state]).toEqual(['leading', 'campaigning', 'campaigning']);
    expect([a.isLeader, b.isLeader, c.isLeader]).toEqual([true, false, false]);
    await a.stop();
    expect(term.signal.reason).toMatchObject({ code: 'LOCK_LOST', why: 'released' });
    const second = await within(10_000, 'b', b.untilElected());
    expect(second.fencingToken).toBeGreaterThan(term.fencingToken);
    await b.stop();
    await within(10_000, 'c', c.untilElected());
    await c.stop();
    expect([a.state, b.state, c.state]).toEqual(['stopped', 'stopped', 'stopped']);
    expect(told).toEqual([
      'a elected',
      'a deposed: stopped',
      'b elected',
      'b deposed: stopped',
      'c elected',
      'c deposed: stopped',
    ]);
    expect(await one.locks.inspect('e')).toMatchObject({ kind: 'election', holders: [], waiters: [] });
  });

  it('lets a candidate start again after a stop, and lead again', async () => {
    const [one] = await twoProviders();
    const told: string[] = [];
    const a = candidate(one.locks, 'a', told);
    const tokens: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      await a.start();
      await a.start();
      tokens.push((await within(10_000, 'a', a.untilElected())).fencingToken);
      const stopped = a.stop();
      await Promise.all([stopped, a.stop()]);
    }
    expect(tokens).toEqual([...new Set(tokens)].sort((x, y) => x - y));
    expect(told).toEqual(Array.from({ length: 3 }, () => ['a elected', 'a deposed: stopped']).flat());
  });

  it('keeps its leader for several leases while onElected runs for longer than one', async () => {
    const [one, other] = await twoProviders({ leaseMs: 5_000, extendEveryMs: 500 });
    const told: string[] = [];
    const a = candidate(one.locks, 'a', told, { onElected: () => pause(11_000) });
    const b = candidate(other.locks, 'b', told);
    await a.start();
    await b.start();
    const term = await a.untilElected();
    await pause(12_500);
    expect([a.isLeader, b.isLeader, term.signal.aborted]).toEqual([true, false, false]);
    expect(a.term).toBe(term);
    expect(told).toEqual([]);
    await Promise.all([b.stop(), a.stop()]);
  });

  it('puts a leader that resigns at the end of the queue', async () => {
    const [one, other] = await twoProviders();
    const told: string[] = [];
    const [a, b, c] = [
      candidate(one.locks, 'a', told),
      candidate(other.locks, 'b', told),
      candidate(other.locks, 'c', told),
    ];
    for (const each of [a, b, c]) await each.start();
    await a.untilElected();
    await a.resign();
    await within(10_000, 'b', b.untilElected());
    await untilWaiting(one.locks, 'e', 2);
    await b.stop();
    await within(10_000, 'c', c.untilElected());
    await c.stop();
    await within(10_000, 'a', a.untilElected());
    await a.resign();
    await within(10_000, 'a, who is alone', a.untilElected());
    expect(told.filter((each) => each.endsWith(' elected'))).toEqual(
      ['a', 'b', 'c', 'a', 'a'].map((each) => `${each} elected`),
    );
    expect(told[1]).toBe('a deposed: resigned');
  });

  it('is handed over to the named candidate, and to no other in between', async () => {
    const [one, other] = await twoProviders();
    const told: string[] = [];
    const all = ['a', 'b', 'c'].map((id, index) =>
      candidate(index === 0 ? one.locks : other.locks, id, told),
    );
    const [a, b, c] = all as [LeaderElection, LeaderElection, LeaderElection];
    for (const each of all) await each.start();
    const term = await a.untilElected();
    expect(await a.handOverTo('nobody')).toBe(false);
    expect(await a.handOverTo('a')).toBe(false);
    expect(await c.handOverTo('b')).toBe(false);
    expect([a.isLeader, term.signal.aborted]).toEqual([true, false]);
    expect(await a.handOverTo('c')).toBe(true);
    expect(term.signal.reason).toMatchObject({ why: 'released' });
    await within(10_000, 'c', c.untilElected());
    await untilWaiting(one.locks, 'e', 2);
    await c.stop();
    await within(10_000, 'b', b.untilElected());
    expect(told).toEqual([
      'a elected',
      'a deposed: handed-over',
      'c elected',
      'c deposed: stopped',
      'b elected',
    ]);
  });

  it('frees the seat if the candidate to hand over to, with the same id, leaves while the work ends', async () => {
    const [one, other] = await twoProviders();
    const namesake = candidate(other.locks, 'a', []);
    const a = candidate(one.locks, 'a', [], {
      onElected: async (term) => {
        await new Promise((resolve) => {
          term.signal.addEventListener('abort', resolve);
        });
        await namesake.stop();
        await untilWaiting(one.locks, 'e', 0);
      },
    });
    await a.start();
    await namesake.start();
    const term = await a.untilElected();
    expect(await a.handOverTo('a')).toBe(false);
    await eventually('it stands again', async () => ((await a.leader())?.token ?? 0) > term.fencingToken);
  });

  it('ends a term in this order: the signal aborts, the work ends, onDeposed runs, the seat is freed', async () => {
    const [one, other] = await twoProviders();
    const told: string[] = [];
    const a = candidate(one.locks, 'a', told, {
      onElected: async (term) => {
        told.push('work begins');
        await new Promise((resolve) => {
          term.signal.addEventListener('abort', resolve);
        });
        await pause(200);
        told.push(`work ends, held: ${String(term.isHeld)}, leads: ${String(a.isLeader)}`);
      },
      onDeposed: (term) => {
        told.push(`deposed, held: ${String(term.isHeld)}`);
      },
    });
    const b = candidate(other.locks, 'b', told);
    await a.start();
    await b.start();
    await a.stop();
    await within(10_000, 'b', b.untilElected());
    await b.stop();
    expect(told).toEqual([
      'work begins',
      'work ends, held: true, leads: false',
      'deposed, held: true',
      'b elected',
      'b deposed: stopped',
    ]);
  });

  it('keeps the seat until the lease expires if the work outlasts drainMs', async () => {
    const [one, other] = await twoProviders({ leaseMs: 10_000 });
    const told: string[] = [];
    let finish!: () => void;
    const work = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const a = candidate(one.locks, 'a', told, { onElected: () => work });
    const b = candidate(other.locks, 'b', told);
    await a.start();
    await b.start();
    const elected = later(b.untilElected());
    await a.stop({ drainMs: 50 });
    expect(a.state).toBe('stopped');
    expect(await staysOpen(elected, 300)).toBe(true);
    await within(60_000, 'b', elected);
    expect(told).toEqual(['b elected']);
    finish();
    await eventually('the callback', () => told.includes('a deposed: stopped'));
  });

  it('gives back a grant that arrives after the stop', async () => {
    const [one, other] = await twoProviders();
    const told: string[] = [];
    const [a, b] = [candidate(one.locks, 'a', told), candidate(other.locks, 'b', told)];
    await a.start();
    await b.start();
    // Both at once: the grant of b and its stop cross each other.
    await Promise.all([a.stop(), b.stop()]);
    for (let round = 0; round < 10; round += 1) {
      const starting = later(a.start());
      if (round % 2 === 1) await pause(round);
      await a.stop();
      await starting;
    }
    await eventually('an empty election', async () => {
      const snapshot = await one.locks.inspect('e');
      return snapshot?.holders.length === 0 && snapshot.waiters.length === 0;
    });
    const kinds = told.map((each) => each.split(' ', 2).join(' ').replace(':', ''));
    for (const id of ['a', 'b']) {
      const own = kinds.filter((each) => each.startsWith(id));
      expect(own).toEqual(own.map((_, index) => `${id} ${index % 2 === 0 ? 'elected' : 'deposed'}`));
    }
  });

  it('emits errors of its callbacks as events, and goes on', async () => {
    const [one] = await twoProviders();
    const errors: unknown[] = [];
    const a = one.locks.createLeaderElection('e', {
      onFailure: 'lead-on',
      onElected: () => Promise.reject(new Error('elected')),
      onDeposed: () => {
        throw new Error('deposed');
      },
    });
    expect(a.candidateId).toBe(one.locks.processId);
    a.on('error', (error) => errors.push((error as Error).message));
    await a.start();
    await a.untilElected();
    await a.stop();
    expect(errors).toEqual(['elected', 'deposed']);
  });

  it('deposes a leader whose lease is revoked, by force or politely, and lets it stand again', async () => {
    const [one] = await twoProviders();
    const told: string[] = [];
    const a = candidate(one.locks, 'a', told);
    await a.start();
    const first = await a.untilElected();
    await one.locks.revoke('e', { force: true });
    await eventually('its end', () => told.includes('a deposed: lost'));
    expect(first.signal.reason).toMatchObject({ why: 'revoked' });
    await within(10_000, 'another term', a.untilElected());
    await one.locks.revoke('e');
    await eventually('its end', () => told.includes('a deposed: resigned'));
    await within(10_000, 'a third term', a.untilElected());
  });

  it('ends untilElected() by its timeout, its signal or a stop', async () => {
    const [one, other] = await twoProviders({ label: 'a label' });
    const [a, b] = [candidate(one.locks, 'a', []), candidate(other.locks, 'b', [])];
    await a.start();
    await b.start();
    const late = await rejection(b.untilElected({ timeoutMs: 50 }));
    expect(late).toMatchObject({ code: 'ACQUIRE_TIMEOUT', lockName: 'e', holders: [{ label: 'a label' }] });
    const controller = new AbortController();
    const aborted = later(b.untilElected({ signal: controller.signal }));
    controller.abort(new Error('enough'));
    expect(await rejection(aborted)).toMatchObject({ message: 'enough' });
    const stopped = later(b.untilElected());
    await b.stop();
    expect(await rejection(stopped)).toMatchObject({ name: 'AbortError' });
  });

  it('ends when its provider closes', async () => {
    const [one, other] = await twoProviders();
    const told: string[] = [];
    const [a, b] = [candidate(one.locks, 'a', told), candidate(other.locks, 'b', told)];
    await a.start();
    await b.start();
    const waiting = later(a.untilElected().then(() => b.untilElected()));
    const seen = later(drained(a.observe()));
    await one.locks.close();
    await within(10_000, 'b', waiting);
    expect(a.state).toBe('stopped');
    expect(await within(5_000, 'the end of the observation', seen)).toEqual(expect.any(Array));
    expect(told).toEqual(['a elected', 'a deposed: stopped', 'b elected']);
    for (const call of [a.start(), a.leader(), a.untilElected()]) {
      expect(await rejection(call)).toMatchObject({ code: 'PROVIDER_CLOSED' });
    }
    await a.stop();
  });

  it('cannot start while another kind of lock uses its name, and can start later', async () => {
    const [one] = await twoProviders();
    const hold = await one.locks.acquireMutex('e');
    const a = candidate(one.locks, 'a', []);
    expect(await rejection(a.start())).toMatchObject({ code: 'LOCK_KIND_MISMATCH', actual: 'mutex' });
    await eventually('its end', () => a.state === 'stopped');
    await hold.release();
    await a.start();
    await a.untilElected();
    expect(await rejection(one.locks.tryAcquireMutex('e'))).toMatchObject({ actual: 'election' });
  });

  it('refuses wrong options when it is created', async () => {
    const [one] = await twoProviders();
    const making = (options: unknown) => () =>
      one.locks.createLeaderElection('e', options as LeaderElectionOptions);
    for (const options of [
      { candidateId: 1 },
      { value: null },
      { leaseMs: '1' },
      { transitionMs: true },
      { onElected: 1 },
      { onDeposed: {} },
      null,
    ]) {
      expect(thrown(making(options))).toBeInstanceOf(TypeError);
    }
    for (const options of [
      { candidateId: '' },
      { candidateId: 'x'.repeat(1_025) },
      { value: 'x'.repeat(1_025) },
      { leaseMs: 1 },
      { transitionMs: -1 },
      { transitionMs: 0.5 },
      { transitionMs: 86_400_000 },
    ]) {
      expect(thrown(making(options))).toBeInstanceOf(RangeError);
    }
    expect(thrown(() => one.locks.createLeaderElection(''))).toBeInstanceOf(RangeError);
  });

  it('stores candidate ids and values as plain text, even if they look like expressions', async () => {
    const [one, other] = await twoProviders();
    const [a, b] = [
      candidate(one.locks, '$holder.id', [], { value: '$$NOW' }),
      candidate(other.locks, '$fence', []),
    ];
    await a.start();
    await b.start();
    expect(await b.leader()).toMatchObject({ candidateId: '$holder.id', value: '$$NOW' });
    expect(await a.handOverTo('$fence')).toBe(true);
    await within(10_000, 'b', b.untilElected());
  });
});
