import { inspect } from 'node:util';

import { MongoClient } from 'mongodb';
import { describe, expect, it } from 'vitest';

import { LockProvider } from '../../../src/index.js';
import { QuorumLockProvider } from '../../../src/quorum/index.js';
import type { ScheduledJob } from '../../../src/index.js';
import { Hold } from '../../../src/lease/holding/hold.js';
import { LeaseHandle } from '../../../src/lease/holding/lease-handle.js';
import { Seat } from '../../../src/lease/holding/seat.js';
import { mutexRules } from '../../../src/protocol/kinds/mutex-rules.js';
import { MockQuorum } from '../quorum/mock-stores.js';
import { ManualClock } from '../../support/manual-clock.js';
import { eventually, settled } from '../../../lab/patience.js';
import { testProvider } from '../../support/test-provider.js';

const json = (object: object): unknown => JSON.parse(JSON.stringify(object));
const anyNumber = expect.any(Number) as number;
const held = { isHeld: true, remainingMs: anyNumber };

/** The inspected object in one line; figures that differ from run to run are replaced by N. */
const shown = (object: object): string =>
  inspect(object, { breakLength: Infinity, compact: Infinity })
    .replaceAll(/(fencingToken|remainingMs): \d+/g, '$1: N')
    .replaceAll(/\s+/g, ' ');

describe.concurrent('util.inspect and JSON show', () => {
  it('a mutex handle with its class, lock and token, and the whole milliseconds that it is still held', async () => {
    const { locks } = await testProvider();
    const lock = await locks.acquireMutex('a');
    expect(shown(lock)).toBe(
      "LockHandle { name: 'a', kind: 'mutex', fencingToken: N, isHeld: true, remainingMs: N }",
    );
    expect(json(lock)).toEqual({ name: 'a', kind: 'mutex', fencingToken: lock.fencingToken, ...held });
    expect(Number.isInteger((json(lock) as { remainingMs: number }).remainingMs)).toBe(true);
    await lock.release();
    expect(shown(lock)).toBe(
      "LockHandle { name: 'a', kind: 'mutex', fencingToken: N, isHeld: false, why: 'released', remainingMs: N }",
    );
    expect(json(lock)).toMatchObject({ isHeld: false, why: 'released', remainingMs: 0 });
  });

  it('a permit handle with its number of permits', async () => {
    const { locks } = await testProvider();
    const semaphore = locks.createSemaphore('s', 5);
    const permits = await semaphore.acquire({ permits: 2 });
    expect(shown(permits)).toMatch(/^PermitHandle \{ name: 's', kind: 'semaphore', .*permits: 2 \}$/);
    expect(json(permits)).toMatchObject({ name: 's', kind: 'semaphore', permits: 2, ...held });
    expect(shown(semaphore)).toBe("Semaphore { name: 's', kind: 'semaphore', limit: 5 }");
    expect(json(semaphore)).toEqual({ name: 's', kind: 'semaphore', limit: 5 });
    await permits.release();
  });

  it('the handle of a reader-writer lock with its current mode', async () => {
    const { locks } = await testProvider();
    const lock = locks.createReaderWriterLock('rw');
    const read = await lock.acquireRead();
    expect(shown(read)).toMatch(/^LockHandle \{ name: 'rw', kind: 'reader-writer', mode: 'read', /);
    await read.release();
    const write = await lock.acquireWrite();
    expect(shown(write)).toMatch(/^ReaderWriterHandle \{ name: 'rw', kind: 'reader-writer', mode: 'write', /);
    await write.downgrade('read');
    expect(json(write)).toMatchObject({ mode: 'read', fencingToken: write.fencingToken, ...held });
    expect(shown(lock)).toBe("ReaderWriterLock { name: 'rw', kind: 'reader-writer' }");
    await write.release();
  });

  it('a composite with each of its handles and the shortest remaining time', async () => {
    const { locks } = await testProvider();
    const [a, b] = [locks.createMutex('a', { leaseMs: 1_000 }), locks.createMutex('b')];
    const both = await locks.acquireAll([{ mutex: b }, { mutex: a }]);
    expect(shown(both)).toMatch(
      /^CompositeHandle \{ isHeld: true, remainingMs: N, handles: \[ LockHandle \{ name: 'b', .*LockHandle \{ name: 'a', /,
    );
    expect(json(both)).toMatchObject({ ...held, handles: [{ name: 'b' }, { name: 'a' }] });
    expect((json(both) as { remainingMs: number }).remainingMs).toBeLessThan(1_000);
    await both.handles[1].release();
    expect(json(both)).toMatchObject({ isHeld: false, why: 'released', remainingMs: 0 });
    expect(shown(a)).toBe("Mutex { name: 'a', kind: 'mutex' }");
    await both.release();
  });

  it('a candidate with its state, and its term with the token', async () => {
    const { locks } = await testProvider();
    const election = locks.createLeaderElection('boss', { candidateId: 'me' });
    expect(shown(election)).toBe(
      "LeaderElection { name: 'boss', candidateId: 'me', state: 'stopped', fencingToken: null }",
    );
    await election.start();
    const term = await election.untilElected();
    expect(json(election)).toEqual({
      ...{ name: 'boss', candidateId: 'me', state: 'leading' },
      fencingToken: term.fencingToken,
    });
    expect(shown(term)).toMatch(
      /^LockHandle \{ name: 'boss', kind: 'election', fencingToken: N, isHeld: true, /,
    );
    await election.stop();
    expect(json(term)).toMatchObject({ isHeld: false, why: 'released' });
  });

  it('a job with the time of its next run', async () => {
    const { locks } = await testProvider();
    const job: ScheduledJob = locks.createScheduledJob('daily', {
      everyMs: 86_400_000,
      run: () => undefined,
    });
    expect(shown(job)).toBe("ScheduledJob { name: 'daily', nextFireAt: null }");
    await job.start();
    const next = await eventually('the next run is planned', () => job.nextFireAt);
    expect(json(job)).toEqual({ name: 'daily', nextFireAt: next.toISOString() });
    await job.stop();
  });

  it('a provider with its process id and collection, and whether it is closed', async () => {
    const { locks } = await testProvider();
    const { processId } = locks;
    expect(shown(locks)).toBe(
      `LockProvider { processId: '${processId}', collection: 'distributed.locks', closed: false }`,
    );
    await locks.close();
    expect(json(locks)).toEqual({ processId, collection: 'distributed.locks', closed: true });
  });
});

describe('over a quorum, util.inspect and JSON show', () => {
  it('a provider with its number of stores', async () => {
    const dbs = [1, 2, 3].map((port) => new MongoClient(`mongodb://127.0.0.1:${port}`).db('app'));
    const locks = new QuorumLockProvider(dbs);
    expect(shown(locks)).toBe(
      `QuorumLockProvider { processId: '${locks.processId}', collection: 'distributed.locks', stores: 3, closed: false }`,
    );
    expect(shown(locks.createMutex('a'))).toBe("Mutex { name: 'a', kind: 'mutex' }");
    expect(json(locks.createReaderWriterLock('b'))).toEqual({ name: 'b', kind: 'reader-writer' });
    await locks.close();
    expect(json(locks)).toMatchObject({ stores: 3, closed: true });
  });

  it('handles like those of one store', async () => {
    const quorum = new MockQuorum();
    const lock = await quorum.mutex.acquire();
    expect(json(lock)).toEqual({
      name: 'm',
      kind: 'mutex',
      fencingToken: lock.fencingToken,
      isHeld: true,
      remainingMs: 29_000,
    });
    await lock.release();
    expect(shown(lock)).toMatch(
      /^LockHandle \{ name: 'm', kind: 'mutex', .*why: 'released', remainingMs: N \}$/,
    );
    const write = await quorum.lock.acquireWrite();
    await write.downgrade('upgradeable');
    expect(shown(write)).toMatch(
      /^ReaderWriterHandle \{ name: 'rw', kind: 'reader-writer', mode: 'upgradeable', /,
    );
    quorum.clock.advance(30_000);
    expect(json(write)).toMatchObject({ isHeld: false, why: 'expired', remainingMs: 0 });
    await settled();
  });
});

describe('inspecting an object of the library', () => {
  it('does not confirm a hold after a suspension, while reading isHeld does', () => {
    const clock = new ManualClock();
    let asked = 0;
    const durations = {
      leaseMs: 30_000,
      extendEveryMs: 10_000,
      clockAllowanceMs: 1_000,
      retentionMs: 60_000,
    };
    const seat = new Seat(
      {
        ...{ name: 'a', rules: mutexRules, id: 'w1', token: 7, durations, demand: {} },
        deadline: { ms: clock.nowMs() + 20_000, wallAheadMs: clock.wallMs() - clock.nowMs() },
      },
      clock,
      { lost: () => undefined, doubtful: () => (asked += 1) },
    );
    const lock = new LeaseHandle(new Hold(seat), {
      databaseName: 'app',
      confirm: () => Promise.reject(new Error('no confirmation is expected')),
      release: () => Promise.resolve(true),
      track: () => undefined,
      untrack: () => undefined,
    });
    expect(json(lock)).toMatchObject({ isHeld: true, remainingMs: 20_000 });
    clock.suspend(5_000);
    expect(json(lock)).toMatchObject({ isHeld: false, why: 'suspended', remainingMs: 0 });
    expect(shown(lock)).toContain("why: 'suspended'");
    expect(asked).toBe(0);
    expect(lock.isHeld).toBe(false);
    expect(asked).toBe(1);
  });

  it('follows the depth and colour options of util.inspect', async () => {
    const { locks } = await testProvider();
    const both = await locks.acquireAll([{ mutex: locks.createMutex('a') }]);
    expect(inspect({ job: { both } }, { depth: 1 })).toContain('both: [CompositeHandle]');
    expect(inspect({ both }, { depth: 2 })).toContain('[LockHandle]');
    expect(inspect(both, { colors: true })).toContain('\u001b[33mtrue\u001b[39m');
    await both.release();
  });

  it('shows the name of a subclass', async () => {
    class Locks extends LockProvider {}
    const locks = new Locks(new MongoClient('mongodb://127.0.0.1:1').db('app'));
    expect(shown(locks)).toMatch(/^Locks \{ processId: /);
    await locks.close();
  });
});
