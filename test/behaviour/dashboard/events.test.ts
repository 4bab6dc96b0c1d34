import { describe, expect, it } from 'vitest';

import { LockProvider } from '../../../src/index.js';
import { eventually, later, settled } from '../../../lab/patience.js';
import { whenTestEnds } from '../../support/current-test.js';
import { World } from './dashboard-world.js';
import { keepHold } from '../../support/keep-hold.js';

const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '</script><script>alert(1)</script>',
  'evil\u202egnp.exe',
  'bell\u0007\u001b[31m\u2028end\n\ndata: {}',
  'x'.repeat(1_024),
];

describe('the events of a dashboard', () => {
  it('show holders, the queue in order, and the most contended lock first', async () => {
    const world = new World();
    const [a, b] = [world.process({ label: 'a' }), world.process({ label: 'b' })];
    const alone = await a.acquireMutex('alone', { why: 'no reason' });
    const held = await a.acquireMutex('busy', { why: 'a reason' });
    const waits = ['first', 'second'].map(async (why) => {
      await eventually('the earlier ones wait', async () => {
        const waiters = (await a.inspect('busy'))?.waiters.length ?? 0;
        return waiters === (why === 'first' ? 0 : 1);
      });
      return await b.acquireMutex('busy', { why });
    });
    for (const wait of waits) void later(wait);
    const viewer = await world.viewing();
    await viewer.until('both wait', ({ locks }) => locks.of('busy')?.waiterCount === 2);
    expect(viewer.last).toMatchObject({ state: 'live', mayRevoke: false });
    expect(viewer.last?.totals).toMatchObject({ locks: 2, held: 2, waiting: 2 });
    expect(viewer.locks.names).toEqual(['busy', 'alone']);
    const row = viewer.locks.of('busy');
    expect(row?.holders).toMatchObject([
      { who: 'a', why: 'a reason', token: held.fencingToken, id: held.id },
    ]);
    expect(row?.holders[0]?.until).toBeGreaterThan(viewer.last?.now ?? Infinity);
    expect(row?.waiters.map(({ who, why }) => [who, why])).toEqual([
      ['b', 'first'],
      ['b', 'second'],
    ]);
    // A handle that nobody has any more may be collected, and then its lock is released.
    expect(alone.isHeld).toBe(true);
    await held.release();
    await viewer.until('the hand-over is shown', ({ locks }) => locks.of('busy')?.handOvers === 1);
    expect(viewer.locks.of('busy')).toMatchObject({ holders: [{ why: 'first' }], waiterCount: 1, losses: 0 });
    await viewer.until('its second is over', ({ last }) => last?.handOvers.includes(1) === true);
  });

  it('show locks that appear and leases that run out, of which no event tells', async () => {
    const world = new World();
    const viewer = await world.viewing();
    expect(viewer.locks.rows).toEqual([]);
    const db = world.set.db('app');
    const dying = new LockProvider(db, { leaseMs: 8_000, label: 'dying' });
    dying.on('lost', () => undefined);
    dying.on('storeError', () => undefined);
    whenTestEnds(() => dying.close({ drainMs: 0 }));
    const lock = await dying.acquireMutex('x');
    await viewer.until('it is held', ({ locks }) => locks.of('x')?.holderCount === 1);
    world.set.cut(db);
    await viewer.until('it is lost', ({ locks }) => locks.of('x')?.losses === 1);
    // A handle that nobody has any more may be collected, and then its lock is released and not lost.
    expect(lock.isHeld).toBe(false);
    expect(viewer.locks.of('x')?.holderCount).toBe(0);
    expect(viewer.last?.totals.losses).toBe(1);
  });

  it('count no loss when a lease is extended or released', async () => {
    const world = new World();
    const viewer = await world.viewing();
    const locks = world.process({ leaseMs: 30_000, extendEveryMs: 300 });
    const lock = await locks.acquireMutex('x');
    await viewer.until('it was extended twice', ({ messages }) => {
      const ends = messages.flatMap((each) =>
        (each.found?.locks.rows ?? []).flatMap(({ holders }) => holders.map(({ until }) => until)),
      );
      return new Set(ends).size >= 3;
    });
    await lock.release();
    await viewer.until('it is free', ({ locks: { rows } }) => rows[0]?.holderCount === 0);
    expect(viewer.last?.totals.losses).toBe(0);
  });

  it('show elections with standbys, and jobs with their last and next instant', async () => {
    const world = new World();
    const [first, second] = [world.process({}), world.process({})].map((locks, at) =>
      locks.createLeaderElection('scheduler', {
        candidateId: `candidate ${String(at)}`,
        value: 'http://host',
      }),
    );
    await first?.start();
    await eventually('the first leads', () => first?.isLeader);
    await second?.start();
    const job = world
      .process({})
      .createScheduledJob('tick', { everyMs: 3_600_000, initialDelayMs: 0, run: () => 1 });
    await job.start();
    const viewer = await world.viewing();
    await viewer.until('the standby waits', ({ elections }) => elections.of('scheduler')?.waiterCount === 1);
    expect(viewer.elections.of('scheduler')).toMatchObject({
      holders: [{ who: 'candidate 0', value: 'http://host' }],
      waiters: [{ who: 'candidate 1' }],
    });
    await viewer.until('the job has run', ({ jobs }) => jobs.of('tick')?.last?.outcome === 'completed');
    const row = viewer.jobs.of('tick');
    expect(row).toMatchObject({ election: job.election.name, missed: null });
    expect((row?.next ?? 0) - (row?.last?.firedAt ?? 0)).toBe(3_600_000);
    expect(viewer.last?.totals).toMatchObject({ locks: 0, elections: 2, jobs: 1 });
  });

  it('have hostile names and reasons as they are stored, each as a value of JSON', async () => {
    const world = new World();
    const locks = world.process({ label: HOSTILE[0] });
    for (const name of HOSTILE) await keepHold(locks.acquireMutex(name, { why: name }));
    const viewer = await world.viewing();
    expect(viewer.locks.names.toSorted()).toEqual(HOSTILE.toSorted());
    for (const name of HOSTILE)
      expect(viewer.locks.of(name)?.holders[0]).toMatchObject({ who: HOSTILE[0], why: name });
  });

  it('show the first 100 locks, and the filter finds every lock by name, holder and reason', async () => {
    const world = new World();
    const locks = world.process({ label: 'Worker' });
    const names = Array.from({ length: 120 }, (_, at) => `lock ${String(at).padStart(3, '0')}`);
    await Promise.all(names.map(async (name) => (await locks.acquireMutex(name)).release()));
    const held = await locks.acquireMutex('held', { why: 'Inventory' });
    const all = await world.viewing();
    expect([all.locks.rows.length, all.locks.matching]).toEqual([100, 121]);
    expect(all.locks.names.slice(0, 3)).toEqual(['held', 'lock 000', 'lock 001']);
    expect((await world.viewing('/events?filter=LOCK%20119')).locks.names).toEqual(['lock 119']);
    expect((await world.viewing('/events?filter=inventory')).locks.names).toEqual(['held']);
    expect((await world.viewing('/events?filter=worker')).locks.names).toEqual(['held']);
    expect((await world.viewing('/events?filter=nothing')).locks.matching).toBe(0);
    expect(held.isHeld).toBe(true);
  });

  it('name rows by other keys than a process before', async () => {
    const [before, after] = [new World(), new World()];
    const [a, b] = [await before.process({}).acquireMutex('a'), await after.process({}).acquireMutex('b')];
    const [old, present] = [await before.viewing(), await after.viewing()];
    expect([old.locks.names, present.locks.names]).toEqual([['a'], ['b']]);
    expect(present.locks.rows[0]?.key).not.toBe(old.locks.rows[0]?.key);
    expect([a.isHeld, b.isHeld]).toEqual([true, true]);
  });

  it('show malformed optional values as missing, and go on', async () => {
    const world = new World();
    const other = world.process({});
    const election = other.createLeaderElection('scheduler');
    await election.start();
    await eventually('it leads', () => election.isLeader);
    const job = other.createScheduledJob('tick', {
      ...{ everyMs: 3_600_000, initialDelayMs: 0, run: () => 1 },
    });
    await job.start();
    const lock = await other.acquireMutex('x', { why: 'a reason' });
    const viewer = await world.viewing();
    await viewer.until('the job has run', ({ jobs }) => jobs.of('tick')?.last?.outcome === 'completed');
    const before = viewer.last?.totals;
    const stored = world.set.db('app').collection<{ _id: string }>('distributed.locks');
    await stored.updateOne(
      { _id: job.election.name },
      { $set: { 'claims.0.run.next': 9e15, 'claims.0.run.outcome': 'odd' } },
    );
    await stored.updateOne({ _id: 'x' }, { $set: { 'holder.why': 5, 'holder.label': { a: 1 } } });
    await viewer.until('the reason is left out', ({ locks }) => {
      const [holder] = locks.of('x')?.holders ?? [];
      return holder?.why === undefined && holder?.who === holder?.process;
    });
    await viewer.until('the end is unknown', ({ jobs }) => jobs.of('tick')?.last?.outcome === 'unknown');
    expect(viewer.jobs.of('tick')?.next).toBeNull();
    expect(viewer.last).toMatchObject({ state: 'live', totals: before });
    expect(lock.isHeld).toBe(true);
  });

  it('say that the store is away, and go on when it is back', async () => {
    const world = new World({ storeTimeoutMs: 500 });
    const viewer = await world.viewing();
    world.set.stop();
    await viewer.until('it is away', ({ last }) => last?.state === 'unavailable');
    world.set.start();
    await viewer.until('it is back', ({ last }) => last?.state === 'live');
    const held = await world.process({}).acquireMutex('after');
    await viewer.until('a later lock is shown', ({ locks }) => locks.of('after')?.holderCount === 1);
    expect(held.isHeld).toBe(true);
  });

  it('show what has changed while the stream was broken', async () => {
    const world = new World();
    const viewer = await world.viewing();
    world.set.breakStreams();
    const held = await world.process({}).acquireMutex('meanwhile');
    await viewer.until('it is shown', ({ locks }) => locks.of('meanwhile')?.holderCount === 1);
    expect(held.isHeld).toBe(true);
  });

  it('come from reads of all locks where there is no change stream, and say so', async () => {
    const world = new World({ wakeups: 'polling' });
    const viewer = await world.viewing();
    expect(viewer.last).toMatchObject({ state: 'polling', why: 'asked for by the option wakeups' });
    const lock = await world.process({ wakeups: 'polling' }).acquireMutex('x');
    await viewer.until('it is held', ({ locks }) => locks.of('x')?.holderCount === 1);
    await lock.release();
    await viewer.until('it is free', ({ locks }) => locks.of('x')?.holderCount === 0);
    expect(world.set.openCursors).toBe(0);
  });
});

describe('the change stream of a dashboard', () => {
  it('is one for all viewers, and ends when the last one has left', async () => {
    const world = new World();
    expect(world.set.openCursors).toBe(0);
    const viewers = [await world.viewing(), await world.viewing('/events?filter=x'), await world.viewing()];
    expect(world.set.openCursors).toBe(1);
    const [first, ...others] = viewers;
    for (const viewer of others) await viewer[Symbol.asyncDispose]();
    await first?.until('a second passes', ({ messages }) => messages.length > 3);
    expect(world.set.openCursors).toBe(1);
    await first?.[Symbol.asyncDispose]();
    await eventually('the stream is closed', () => world.set.openCursors === 0);
    await world.viewing();
    expect(world.set.openCursors).toBe(1);
  });

  it('is not opened for a page, or for events that nobody reads', async () => {
    const world = new World();
    await (await world.handler(new Request('http://dashboard.test/'))).text();
    const unread = await world.handler(new Request('http://dashboard.test/events'));
    await settled();
    expect(world.set.openCursors).toBe(0);
    await unread.body?.cancel();
  });

  it('ends when the request is aborted', async () => {
    const world = new World();
    const gone = new AbortController();
    const request = new Request('http://dashboard.test/events', { signal: gone.signal });
    const { body } = await world.handler(request);
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await eventually('the stream is open', () => world.set.openCursors === 1);
    gone.abort();
    await eventually('the stream is closed', () => world.set.openCursors === 0);
    while (!(await reader.read()).done);
  });

  it('ends with the provider, and so do the viewers', async () => {
    const world = new World();
    const viewer = await world.viewing();
    await world.locks.close();
    expect(world.set.openCursors).toBe(0);
    while (await viewer.read());
  });
});
