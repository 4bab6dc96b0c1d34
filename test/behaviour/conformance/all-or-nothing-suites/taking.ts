import { describe, expect, it } from 'vitest';

import type { LockProvider } from '../../../../src/index.js';
import { later, rejection, staysOpen, within } from '../../../../lab/patience.js';
import type { OwnSubject } from '../two-providers.js';
import { AllOrNothingWorld, mutexes } from '../all-or-nothing-world.js';

/** Names that have another order by locale, by code points or by bytes than by code units. */
const IN_ORDER = ['B', 'Z', 'a', 'a\0', 'a ', 'z', 'ß', 'ä', '😀', '\uFFFD'];

/** Requests that acquire all of several locks. */
export function taking({ wakeups }: OwnSubject): void {
  describe.concurrent('several locks', () => {
    it('can be of all kinds, and their handles come in the order of the requests', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const { mutex, read, semaphore, upgradeableRead, write } = world.kindsOf(world.here);
      const there = world.kindsOf(world.there);
      const hold = await world.here.acquireAll([
        { write },
        { semaphore, permits: 2 },
        { mutex },
        { upgradeableRead },
        { read },
      ]);
      const [writer, permits, exclusive, upgradeable, reader] = hold.handles;
      const names = hold.handles.map(({ name }) => name);
      expect(names).toEqual(['write', 'semaphore', 'a mutex', 'upgradeable', 'read']);
      expect([writer.currentMode(), upgradeable.currentMode(), permits.permits]).toEqual([
        'write',
        'upgradeable',
        2,
      ]);
      expect(hold.handles.every(({ isHeld }) => isHeld)).toBe(true);
      expect(hold.isHeld).toBe(true);
      hold.assertHeld();
      expect(Number.isSafeInteger(exclusive.fencingToken + reader.fencingToken)).toBe(true);

      expect(await there.mutex.tryAcquire()).toBeNull();
      expect(await there.read.tryAcquireWrite()).toBeNull();
      expect(await there.semaphore.available()).toBe(1);
      expect(await there.upgradeableRead.tryAcquireUpgradeableRead()).toBeNull();
      expect(await there.write.tryAcquireRead()).toBeNull();
      expect(await hold.release()).toBe(true);
      const { mutex: m, read: r, semaphore: s, upgradeableRead: u, write: w } = there;
      const all = [
        { mutex: m },
        { write: r },
        { semaphore: s, permits: 3 },
        { write: u },
        { write: w },
      ] as const;
      expect((await world.there.tryAcquireAll(all))?.isHeld).toBe(true);
    });

    it('are acquired in the order of the code units of their names, whatever the order of the requests', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const events = world.listen();
      for (const names of [
        [...IN_ORDER].reverse(),
        IN_ORDER,
        [...IN_ORDER.slice(4), ...IN_ORDER.slice(0, 4)],
      ]) {
        const before = events.length;
        const hold = await world.takeHere(...names);
        expect(events.slice(before)).toEqual(IN_ORDER.map((name) => `acquired ${name}`));
        expect(hold.handles.map(({ name }) => name)).toEqual(names);
        expect(await hold.release()).toBe(true);
      }
    });

    it('may be a single lock', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const hold = await world.takeHere('a');
      expect(hold.handles.map(({ name }) => name)).toEqual(['a']);
      expect(await world.freeOf('a')).toEqual([]);
      expect(await hold.release()).toBe(true);
      expect(await world.freeOf('a')).toEqual(['a']);
    });

    it('are waited for one after the other, and the release of all of them admits the next composite', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const [a, b] = [await world.there.acquireMutex('a'), await world.there.acquireMutex('b')];
      const taking = later(world.takeHere('b', 'a'));
      await world.untilWaitingIn('a', 1);
      expect(await world.countWaitersIn('b')).toBe(0);
      await a.release();
      await world.untilWaitingIn('b', 1);
      expect(await staysOpen(taking, 50)).toBe(true);
      await b.release();
      const hold = await within(10_000, 'both', taking);
      const next = later(world.there.acquireAll(mutexes(world.there, ['a', 'b'])));
      await world.untilWaitingIn('a', 1);
      expect(await hold.release()).toBe(true);
      expect((await within(10_000, 'the next one', next)).isHeld).toBe(true);
    });

    it('have one token each, higher than every earlier one of the same name (S3)', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const tokens: number[][] = [];
      for (const locks of [world.here, world.there, world.here]) {
        const hold = await locks.acquireAll(mutexes(locks, ['a', 'b']));
        tokens.push(hold.handles.map(({ fencingToken }) => fencingToken));
        await hold.release();
      }
      for (const lock of [0, 1]) {
        const ofLock = tokens.map((each) => each[lock] ?? NaN);
        expect(ofLock).toEqual([...new Set(ofLock)].sort((a, b) => a - b));
      }
    });

    it('are a deadlock if the chain of calls already holds one of them, and no other stays held', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      await world.here.useMutex('b', async () => {
        const error = await rejection(within(10_000, 'an answer', world.takeHere('a', 'b', 'c')));
        expect(error).toMatchObject({ code: 'DEADLOCK', lockName: 'b' });
        expect(await world.freeOf('a', 'b', 'c')).toEqual(['a', 'c']);
      });
    });
  });

  describe.concurrent('a try for several locks', () => {
    it('acquires all of them if they are free', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const hold = await world.here.tryAcquireAll(mutexes(world.here, ['a', 'b']));
      expect(hold?.isHeld).toBe(true);
      expect(await world.freeOf('a', 'b')).toEqual([]);
    });

    it('acquires none of them if one is busy, and does not wait', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const busy = await world.there.acquireMutex('b');
      expect(await world.here.tryAcquireAll(mutexes(world.here, ['a', 'b', 'c']))).toBeNull();
      expect(await world.freeOf('a', 'b', 'c')).toEqual(['a', 'c']);
      expect(await world.countWaitersIn('b')).toBe(0);
      expect(busy.isHeld).toBe(true);
    });

    it('does not pass a waiter of one of them', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const reader = await world.there.createReaderWriterLock('b').acquireRead();
      const [writing] = await world.queueUpIn('b', [
        () => world.there.createReaderWriterLock('b').acquireWrite(),
      ]);
      const read = world.here.createReaderWriterLock('b');
      expect(await world.here.tryAcquireAll([...mutexes(world.here, ['a']), { read }])).toBeNull();
      await reader.release();
      expect((await within(10_000, 'the writer', writing)).isHeld).toBe(true);
    });

    it('with a timeout waits for that long', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const busy = await world.there.acquireMutex('b');
      const taking = later(world.here.tryAcquireAll(mutexes(world.here, ['a', 'b']), { timeoutMs: 60_000 }));
      await world.untilWaitingIn('b', 1);
      await busy.release();
      const hold = await within(10_000, 'both', taking);
      expect(await world.there.tryAcquireAll(mutexes(world.there, ['a', 'b']), { timeoutMs: 50 })).toBeNull();
      expect(hold?.isHeld).toBe(true);
    });
  });

  describe('callers that name the same locks in different orders', () => {
    const ROUNDS = 25;

    /** Each caller acquires its locks again and again, and expects to be the only holder. */
    async function takeTurns(
      callers: readonly (() => ReturnType<LockProvider['acquireAll']>)[],
    ): Promise<void> {
      let inside = 0;
      const turns = callers.map(async (take) => {
        for (let round = 0; round < ROUNDS; round += 1) {
          await using hold = await take();
          inside += 1;
          expect(inside).toBe(1);
          await new Promise(setImmediate);
          hold.assertHeld();
          inside -= 1;
        }
      });
      await within(120_000, 'all turns', Promise.all(turns));
      expect(inside).toBe(0);
    }

    it('never wait for each other in a circle (L1)', async () => {
      await using world = new AllOrNothingWorld(wakeups, { pollMs: { min: 5, max: 50 } });
      const [one, other] = [world.kindsOf(world.here), world.kindsOf(world.there)];
      await takeTurns([
        () =>
          world.here.acquireAll([
            { mutex: one.mutex },
            { semaphore: one.semaphore, permits: 2 },
            { write: one.write },
          ]),
        () =>
          world.there.acquireAll([
            { write: other.write },
            { semaphore: other.semaphore, permits: 2 },
            { mutex: other.mutex },
          ]),
      ]);
    });

    it('never wait for each other in a circle even if each names only some of the locks', async () => {
      await using world = new AllOrNothingWorld(wakeups, { pollMs: { min: 5, max: 50 } });
      const pairs = [
        ['a', 'b', 'x'],
        ['b', 'c', 'x'],
        ['x', 'c', 'a'],
      ];
      await takeTurns(
        pairs.map((names, index) => {
          const locks = index % 2 === 0 ? world.here : world.there;
          return () => locks.acquireAll(mutexes(locks, names));
        }),
      );
    });
  });
}
