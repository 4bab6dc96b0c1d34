import { describe, expect, it } from 'vitest';

import { instrument } from '../../../src/opentelemetry/index.js';
import { VERSION } from '../../../src/opentelemetry/version.js';
import { keepHold } from '../../support/keep-hold.js';
import manifest from '../../../package.json' with { type: 'json' };
import { useTelemetryWorld } from './telemetry-world.js';

const world = useTelemetryWorld(41);
const { until, provider } = world;

const acquires = async (): Promise<readonly (readonly [object, number | undefined])[]> =>
  (await world.recorder.points('leasehold.acquire.duration')).map(({ attributes, count }) => [
    attributes,
    count,
  ]);

describe('leasehold.acquire.duration', () => {
  const mutexResult = (result: string): object => ({ 'leasehold.kind': 'mutex', 'leasehold.result': result });

  it('has the result of each call: granted, busy, timeout and aborted', async () => {
    const locks = provider();
    const other = provider();
    instrument(other, world.recorder.providers);
    const held = await until(locks.acquireMutex('a'));
    expect(await until(other.tryAcquireMutex('a'))).toBeNull();
    expect(await until(other.tryAcquireMutex('a', { timeoutMs: 1_000 }))).toBeNull();
    await expect(until(other.acquireMutex('a', { timeoutMs: 500 }))).rejects.toThrow('was not granted');
    const controller = new AbortController();
    const aborted = other.acquireMutex('a', { signal: controller.signal });
    await world.set.advance(100);
    controller.abort();
    await expect(until(aborted)).rejects.toThrow('aborted');
    const waiting = other.acquireMutex('a');
    await world.set.advance(2_000);
    await until(held.release());
    await until((await until(waiting)).release());
    const results = await acquires();
    expect(results).toHaveLength(4);
    expect(results).toEqual(
      expect.arrayContaining([
        [mutexResult('busy'), 2],
        [mutexResult('timeout'), 1],
        [mutexResult('aborted'), 1],
        [mutexResult('granted'), 1],
      ]),
    );
    const granted = (await world.recorder.points('leasehold.acquire.duration')).find(
      ({ attributes }) => (attributes as Record<string, unknown>)['leasehold.result'] === 'granted',
    );
    expect(granted?.value).toBeGreaterThanOrEqual(2);
    expect(granted?.value).toBeLessThan(5);
  });

  it('names the class of any other error', async () => {
    const locks = provider();
    instrument(locks, world.recorder.providers);
    const held = await until(locks.acquireMutex('a'));
    await expect(until(locks.createReaderWriterLock('a').acquireRead())).rejects.toThrow();
    await until(held.release());
    expect(await acquires()).toContainEqual([
      {
        'leasehold.kind': 'reader-writer',
        'leasehold.mode': 'read',
        'leasehold.result': 'error',
        'error.type': 'LockKindMismatchError',
      },
      1,
    ]);
  });

  it('counts each lock of acquireAll, and none that a wrong option keeps from being asked for', async () => {
    const locks = provider();
    instrument(locks, world.recorder.providers);
    const [first, second] = [locks.createMutex('a'), locks.createReaderWriterLock('b')];
    const all = await until(locks.acquireAll([{ mutex: first }, { write: second }]));
    await until(all.release());
    await expect(first.acquire({ timeoutMs: -1 })).rejects.toThrow(RangeError);
    const results = await acquires();
    expect(results).toHaveLength(2);
    expect(results).toEqual(
      expect.arrayContaining([
        [mutexResult('granted'), 1],
        [{ 'leasehold.kind': 'reader-writer', 'leasehold.mode': 'write', 'leasehold.result': 'granted' }, 1],
      ]),
    );
    expect(await world.recorder.counts('leasehold.holds')).toEqual({ mutex: 0, 'reader-writer': 0 });
  });
});

describe('leasehold.hold.duration', () => {
  const ends = async (): Promise<readonly object[]> =>
    (await world.recorder.points('leasehold.hold.duration')).map(({ attributes }) => attributes);

  it('ends by a release, with the time that the lock was held', async () => {
    const locks = provider();
    instrument(locks, world.recorder.providers);
    const held = await until(locks.createReaderWriterLock('a').acquireWrite());
    await world.set.advance(3_000);
    await until(held.release());
    const [point] = await world.recorder.points('leasehold.hold.duration');
    expect(point?.attributes).toEqual({
      'leasehold.kind': 'reader-writer',
      'leasehold.mode': 'write',
      'leasehold.ended_by': 'release',
    });
    expect(point?.value).toBeGreaterThanOrEqual(3);
    expect(point?.value).toBeLessThan(4);
    expect(await world.recorder.points('leasehold.losses')).toEqual([]);
  });

  it('ends by a loss, which is counted with its cause', async () => {
    const db = world.set.db('app');
    const locks = provider({}, db);
    instrument(locks, world.recorder.providers);
    const lost = await until(locks.acquireMutex('a'));
    world.set.cut(db);
    await world.set.advance(15_000);
    world.set.heal(db);
    expect(lost.isHeld).toBe(false);
    expect(await ends()).toEqual([{ 'leasehold.kind': 'mutex', 'leasehold.ended_by': 'loss' }]);
    expect(await world.recorder.points('leasehold.losses')).toEqual([
      { attributes: { 'leasehold.kind': 'mutex', 'leasehold.loss.why': 'expired' }, value: 1 },
    ]);
    expect(await world.recorder.counts('leasehold.holds')).toEqual({ mutex: 0 });
  });

  it('ends by a loss if the release finds no lease', async () => {
    const [locks, operator] = [provider(), provider()];
    instrument(locks, world.recorder.providers);
    const held = await until(locks.acquireMutex('a'));
    await until(operator.revoke('a', { force: true }));
    expect(held.isHeld).toBe(true);
    expect(await until(held.release())).toBe(false);
    expect(await ends()).toEqual([{ 'leasehold.kind': 'mutex', 'leasehold.ended_by': 'loss' }]);
    expect(await world.recorder.points('leasehold.losses')).toEqual([
      { attributes: { 'leasehold.kind': 'mutex', 'leasehold.loss.why': 'revoked' }, value: 1 },
    ]);
  });

  it('ends by the closing of its provider', async () => {
    const locks = provider();
    instrument(locks, world.recorder.providers);
    const held = await until(locks.acquireMutex('a'));
    await until(locks.close({ drainMs: 100 }));
    expect(held.isHeld).toBe(false);
    expect(await ends()).toEqual([{ 'leasehold.kind': 'mutex', 'leasehold.ended_by': 'closing' }]);
    expect(await world.recorder.counts('leasehold.holds')).toEqual({ mutex: 0 });
  });

  it('counts each reader of a kept read, and keeps the mode of the grant through an upgrade', async () => {
    const locks = provider();
    const shelf = locks.createReaderWriterLock('a', { keepMs: 60_000 });
    // The process keeps a read once its change stream is open and an answer has shown that nobody waits.
    for (let round = 0; round < 3; round += 1) {
      await until((await until(shelf.acquireRead())).release());
      await world.set.advance(500);
    }
    instrument(locks, world.recorder.providers);
    const first = await until(shelf.acquireRead());
    const second = await until(shelf.acquireRead());
    expect(second.fencingToken).toBe(first.fencingToken);
    expect(await world.recorder.counts('leasehold.holds')).toEqual({ 'reader-writer': 2 });
    await until(first.release());
    await until(second.release());
    const upgradeable = await until(shelf.acquireUpgradeableRead());
    await until(upgradeable.upgrade());
    await until(upgradeable.release());
    expect(await world.recorder.counts('leasehold.holds')).toEqual({ 'reader-writer': 0 });
    const points = await world.recorder.points('leasehold.hold.duration');
    expect(points.map(({ attributes, count }) => [attributes, count])).toEqual([
      [expect.objectContaining({ 'leasehold.mode': 'read' }), 2],
      [expect.objectContaining({ 'leasehold.mode': 'upgradeable' }), 1],
    ]);
  });
});

describe('what exists now', () => {
  it('is counted, and returns to zero', async () => {
    const [locks, other] = [provider(), provider()];
    instrument(locks, world.recorder.providers);
    const free = await until(other.acquireMutex('a'));
    const waiting = locks.acquireMutex('a');
    const permit = await until(locks.createSemaphore('s', 3).acquire());
    await world.set.advance(100);
    expect(await world.recorder.counts('leasehold.waits')).toEqual({ mutex: 1, semaphore: 0 });
    expect(await world.recorder.counts('leasehold.holds')).toEqual({ semaphore: 1 });
    expect(await world.recorder.points('leasehold.streams')).toEqual([{ attributes: {}, value: 1 }]);
    await until(free.release());
    const held = await until(waiting);
    expect(await world.recorder.counts('leasehold.waits')).toEqual({ mutex: 0, semaphore: 0 });
    expect(await world.recorder.counts('leasehold.holds')).toEqual({ mutex: 1, semaphore: 1 });
    await until(Promise.all([held.release(), permit.release()]));
    await until(locks.close());
    expect(await world.recorder.counts('leasehold.holds')).toEqual({ mutex: 0, semaphore: 0 });
    expect(await world.recorder.points('leasehold.streams')).toEqual([{ attributes: {}, value: 0 }]);
  });
});

describe('leasehold.streams', () => {
  it('is the sum over the providers of one meter, and 0 when none is left', async () => {
    const [first, second, other] = [provider(), provider(), provider()];
    const stops = [first, second].map((locks) => instrument(locks, world.recorder.providers));
    const held = await until(Promise.all(['a', 'b'].map((name) => other.acquireMutex(name))));
    const waiting = Promise.all([first.acquireMutex('a'), second.acquireMutex('b')]);
    await world.set.advance(1_000);
    expect(await world.recorder.points('leasehold.streams')).toEqual([{ attributes: {}, value: 2 }]);
    stops[1]?.();
    expect(await world.recorder.points('leasehold.streams')).toEqual([{ attributes: {}, value: 1 }]);
    stops[0]?.();
    expect(await world.recorder.points('leasehold.streams')).toEqual([{ attributes: {}, value: 0 }]);
    instrument(second, world.recorder.providers);
    expect(await world.recorder.points('leasehold.streams')).toEqual([{ attributes: {}, value: 1 }]);
    await until(Promise.all(held.map((each) => each.release())));
    await until(Promise.all((await until(waiting)).map((each) => each.release())));
  });
});

describe('leasehold.handover.duration', () => {
  const heard = async (): Promise<readonly (readonly [object, number | undefined, number])[]> =>
    (await world.recorder.points('leasehold.handover.duration')).map(({ attributes, count, value }) => [
      attributes,
      count,
      value,
    ]);

  it('says that an event told the waiter, and how long that took', async () => {
    const [locks, other] = [provider(), provider()];
    instrument(other, world.recorder.providers);
    const held = await until(locks.acquireMutex('a'));
    const waiting = other.acquireMutex('a');
    await world.set.advance(1_000);
    await until(held.release());
    await until((await until(waiting)).release());
    const [first, ...more] = await heard();
    expect(more).toEqual([]);
    expect(first?.slice(0, 2)).toEqual([{ 'leasehold.heard_by': 'event' }, 1]);
    expect(first?.[2]).toBeGreaterThanOrEqual(0);
    expect(first?.[2]).toBeLessThan(1);
  });

  it('says that a poll told the waiter, where there is no change stream', async () => {
    const [locks, other] = [provider(), provider({ wakeups: 'polling' })];
    instrument(other, world.recorder.providers);
    const held = await until(locks.acquireMutex('a'));
    const waiting = other.acquireMutex('a');
    await world.set.advance(2_100);
    await until(held.release());
    await until((await until(waiting)).release());
    expect((await heard()).map((each) => each.slice(0, 2))).toEqual([[{ 'leasehold.heard_by': 'poll' }, 1]]);
  });

  it('says that a look found the grant, after the death of the holder', async () => {
    const dead = world.set.db('app');
    const locks = provider({}, dead);
    const other = provider({ wakeups: 'polling' });
    instrument(other, world.recorder.providers);
    const lost = await until(locks.acquireMutex('a'));
    const waiting = other.acquireMutex('a');
    await world.set.advance(1_000);
    world.set.cut(dead);
    await until((await until(waiting)).release());
    world.set.heal(dead);
    expect(lost.isHeld).toBe(false);
    expect((await heard()).map((each) => each.slice(0, 2))).toEqual([[{ 'leasehold.heard_by': 'look' }, 1]]);
  });

  it('is not recorded for a grant at once', async () => {
    const locks = provider();
    instrument(locks, world.recorder.providers);
    await until((await until(locks.acquireMutex('a'))).release());
    expect(await heard()).toEqual([]);
  });
});

it('extensions have their duration, and each lease the share that was left of it', async () => {
  const locks = provider();
  instrument(locks, world.recorder.providers);
  const held = await until(Promise.all(['a', 'b'].map((name) => locks.acquireMutex(name))));
  await world.set.advance(10_000);
  const [batches] = await world.recorder.points('leasehold.extension.duration');
  const [shares] = await world.recorder.points('leasehold.lease.remaining_ratio');
  expect(batches?.count).toBeGreaterThanOrEqual(2);
  expect(shares?.count).toBeGreaterThanOrEqual(4);
  const mean = (shares?.value ?? 0) / (shares?.count ?? 1);
  expect(mean).toBeGreaterThan(0.5);
  expect(mean).toBeLessThan(0.75);
  await until(Promise.all(held.map((each) => each.release())));
});

it('a lease that is released while its extension is in flight has no share', async () => {
  const locks = provider();
  instrument(locks, world.recorder.providers);
  const held = await until(locks.acquireMutex('a'));
  world.set.delayReplies(1_500);
  await world.set.advance(4_000);
  await until(held.release());
  world.set.delayReplies(0);
  await world.set.advance(5_000);
  expect((await world.recorder.points('leasehold.extension.duration'))[0]?.count).toBe(1);
  expect(await world.recorder.points('leasehold.lease.remaining_ratio')).toEqual([]);
});

it('a lease that is being revoked has no share, because it is not extended', async () => {
  const [locks, operator] = [provider(), provider()];
  instrument(locks, world.recorder.providers);
  const held = await until(locks.acquireMutex('a'));
  const revoking = operator.revoke('a');
  await world.set.advance(4_000);
  expect(held.releaseRequested.aborted).toBe(true);
  await world.set.advance(4_000);
  expect((await world.recorder.points('leasehold.extension.duration'))[0]?.count).toBeGreaterThan(1);
  // The answer that tells of the revocation is the last one with a share.
  expect((await world.recorder.points('leasehold.lease.remaining_ratio'))[0]?.count).toBe(1);
  await until(held.release());
  await until(revoking);
});

it('groupOf makes an attribute of the name, and no metric has the name itself', async () => {
  const locks = provider();
  instrument(locks, { ...world.recorder.providers, groupOf: (name) => name.split(':')[0] ?? '' });
  await until((await until(locks.acquireMutex('invoice:42'))).release());
  const points = await world.recorder.points('leasehold.acquire.duration');
  expect(points.map(({ attributes }) => attributes)).toEqual([
    { 'leasehold.kind': 'mutex', 'leasehold.result': 'granted', 'leasehold.lock.group': 'invoice' },
  ]);
  expect(JSON.stringify(await world.recorder.metrics())).not.toContain('invoice:42');
});

it('every metric has its unit and kind, and the scope the version of the package', async () => {
  expect(VERSION).toBe(manifest.version);
  const locks = provider();
  instrument(locks, world.recorder.providers);
  const other = provider();
  const held = await until(other.acquireMutex('a'));
  const waiting = locks.acquireMutex('a');
  await world.set.advance(5_000);
  await until(held.release());
  await keepHold(until(waiting));
  await world.set.advance(5_000);
  await until(locks.close({ drainMs: 0 }));
  const units = (await world.recorder.metrics()).map(({ descriptor }) => [descriptor.name, descriptor.unit]);
  expect(Object.fromEntries(units)).toEqual({
    'leasehold.acquire.duration': 's',
    'leasehold.hold.duration': 's',
    'leasehold.holds': '{hold}',
    'leasehold.waits': '{request}',
    'leasehold.losses': '{hold}',
    'leasehold.extension.duration': 's',
    'leasehold.lease.remaining_ratio': '1',
    'leasehold.handover.duration': 's',
    'leasehold.streams': '{stream}',
  });
});
