import { describe, expect, it } from 'vitest';

import { LockKindMismatchError } from '../../../src/index.js';
import type { LockHandle, LockKind, LockProvider } from '../../../src/index.js';
import { eventually, rejection, within } from '../../../lab/patience.js';
import { TwoProviders } from './two-providers.js';

/** How to acquire a lock of each kind exclusively. */
const KINDS: readonly (readonly [LockKind, (locks: LockProvider, name: string) => Promise<LockHandle>])[] = [
  ['mutex', (locks, name) => locks.createMutex(name).acquire()],
  ['reader-writer', (locks, name) => locks.createReaderWriterLock(name).acquireWrite()],
  ['semaphore', (locks, name) => locks.createSemaphore(name, 1).acquire()],
];

/** Three kinds of locks in one collection, with one fence for each name and one lease monitor for each provider. */
describe.concurrent('locks of several kinds', () => {
  it.each(KINDS)('cannot share a name while a lock of kind %s is in use under it', async (kind, take) => {
    await using world = new TwoProviders('change-stream');
    const hold = await take(world.here, 'x');
    for (const [other, takeOther] of KINDS.filter(([each]) => each !== kind)) {
      const error = await rejection(within(10_000, 'an answer', takeOther(world.there, 'x')));
      expect(error).toBeInstanceOf(LockKindMismatchError);
      expect(error).toMatchObject({ lockName: 'x', expected: other, actual: kind });
    }
    await hold.confirm();
    expect((await world.here.inspect('x'))?.waiters).toEqual([]);
    expect(await hold.release()).toBe(true);
  });

  it('get rising tokens under one name, in the order of the grants (S3)', async () => {
    await using world = new TwoProviders('change-stream');
    const tokens: number[] = [];
    for (const locks of [world.here, world.there, world.here]) {
      for (const [kind, take] of KINDS) {
        const hold = await take(locks, 'x');
        tokens.push(hold.fencingToken);
        expect(await world.there.inspect('x')).toMatchObject({
          kind,
          holders: [{ token: hold.fencingToken }],
        });
        expect(await hold.release()).toBe(true);
      }
    }
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
  });

  it('have their kind in each event', async () => {
    await using world = new TwoProviders('change-stream');
    const events: string[] = [];
    for (const event of ['acquired', 'waiting', 'released'] as const) {
      world.there.on(event, ({ kind, lockName }) => events.push(`${event} ${lockName} ${kind}`));
    }
    for (const [kind, take] of KINDS) {
      const hold = await take(world.here, kind);
      const [next] = await world.queueUpIn(kind, [() => take(world.there, kind)]);
      await hold.release();
      await (await within(10_000, 'the hand-over', next)).release();
    }
    expect(events).toEqual(
      KINDS.flatMap(([kind]) =>
        ['waiting', 'acquired', 'released'].map((event) => `${event} ${kind} ${kind}`),
      ),
    );
  });

  it('can be listed by kind', async () => {
    await using world = new TwoProviders('change-stream');
    const holds: LockHandle[] = [];
    for (const [kind, take] of KINDS) holds.push(await take(world.here, `a ${kind}`));
    for (const [kind] of KINDS) {
      const names: string[] = [];
      for await (const { name } of world.there.list({ kind, heldOnly: true })) names.push(name);
      expect(names).toEqual([`a ${kind}`]);
    }
    expect(holds.every(({ isHeld }) => isHeld)).toBe(true);
  });

  it('are extended together, by few commands for many holds', async () => {
    await using world = new TwoProviders('change-stream', { leaseMs: 9_000, extendEveryMs: 500 });
    const extensions = new Map<string, number>();
    world.here.on('extended', ({ id }) => extensions.set(id, (extensions.get(id) ?? 0) + 1));
    const reads = world.here.createReaderWriterLock('read by many');
    const permits = world.here.createSemaphore('of many permits', 100);
    const taking = Array.from({ length: 50 }, (_, index) => [
      world.here.acquireMutex(`mutex ${index}`),
      world.here.createReaderWriterLock(`written ${index}`).acquireWrite(),
      world.here.createSemaphore(`semaphore ${index}`, 5).acquire({ permits: 2 }),
      reads.acquireRead(),
      permits.acquire({ permits: 2 }),
    ]);
    const holds = await Promise.all(taking.flat());
    const before = world.hereClient.count('update');
    const times = 4;
    await eventually('each has been extended', () =>
      holds.every(({ id }) => (extensions.get(id) ?? 0) >= times),
    );
    expect(holds.every(({ isHeld, signal }) => isHeld && !signal.aborted)).toBe(true);
    const commands = world.hereClient.count('update') - before;
    expect(commands).toBeGreaterThanOrEqual(times);
    // With a command for each hold it would be a thousand.
    expect(commands).toBeLessThan(times * 10);
  });
});

describe.concurrent('one revoked lease of several', () => {
  it('is gone at once if it is revoked by force, and the next waiter gets its seat; the others stay', async () => {
    await using world = new TwoProviders('change-stream');
    const permits = world.here.createSemaphore('x', 3);
    const [first, victim, last] = [await permits.acquire(), await permits.acquire(), await permits.acquire()];
    const [next] = await world.queueUpIn('x', [() => world.there.createSemaphore('x', 3).acquire()]);
    expect(await world.there.revoke('x', { id: victim.id, force: true })).toEqual({
      asked: [],
      gone: [],
      evicted: [victim.id],
    });
    expect((await within(10_000, 'the next one', next)).isHeld).toBe(true);
    expect(await rejection(victim.confirm())).toMatchObject({ why: 'revoked' });
    expect([first.isHeld, last.isHeld]).toEqual([true, true]);
  });

  it('is asked to release if it is revoked politely, by itself or with all others', async () => {
    await using world = new TwoProviders('change-stream');
    const lock = world.here.createReaderWriterLock('x');
    const readers = [await lock.acquireRead(), await lock.acquireUpgradeableRead(), await lock.acquireRead()];
    const [writing] = await world.queueUpIn('x', [
      () => world.there.createReaderWriterLock('x').acquireWrite(),
    ]);
    const ids = readers.map(({ id }) => id);
    expect(await world.there.revoke('x', { id: ids[0] })).toEqual({ asked: [ids[0]], gone: [], evicted: [] });
    const first = readers[0];
    await eventually('the first reader is asked to release', async () => {
      await first?.confirm();
      return first?.releaseRequested.aborted;
    });
    expect(readers.slice(1).map(({ releaseRequested }) => releaseRequested.aborted)).toEqual([false, false]);
    const asked = await world.there.revoke('x', { why: 'maintenance' });
    expect(asked.asked).toEqual(expect.arrayContaining(ids.slice(1)));
    for (const reader of readers) {
      expect(await reader.release()).toBe(true);
    }
    expect((await within(10_000, 'the writer', writing)).isHeld).toBe(true);
  });
});
