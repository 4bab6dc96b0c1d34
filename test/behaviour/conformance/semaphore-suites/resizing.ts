import { describe, expect, it } from 'vitest';

import {
  LockKindMismatchError,
  ProviderClosedError,
  SemaphoreLimitMismatchError,
} from '../../../../src/index.js';
import { later, rejection, staysOpen, within } from '../../../../lab/patience.js';
import type { OwnSubject } from '../two-providers.js';
import { BAD_LIMITS } from '../bad-limits.js';
import { SemaphoreWorld } from '../semaphore-world.js';

/** A new limit for all while permits are held. */
export function resizing(subject: OwnSubject): void {
  describe.concurrent('a resize', () => {
    it('to a higher limit admits the waiters that fit now, in their order', async () => {
      await using world = await SemaphoreWorld.opened(subject, 2);
      const { permitsHere, permitsThere } = world;
      const held = await permitsHere.acquire({ permits: 2 });
      const [one, two, three] = await world.queueUp(
        () => permitsThere.acquire({ permits: 2 }),
        () => permitsHere.acquire(),
        () => permitsThere.acquire({ permits: 2 }),
      );
      await permitsThere.resize(5);
      expect(permitsThere.limit).toBe(5);
      const [first, second] = await within(10_000, 'the waiters that fit', Promise.all([one, two]));
      expect(second.fencingToken).toBe(first.fencingToken + world.tokensPerGrant);
      expect(await staysOpen(three, 50)).toBe(true);
      expect(await permitsHere.available()).toBe(0);
      expect(held.isHeld).toBe(true);
      await held.release();
      expect((await within(10_000, 'the last one', three)).isHeld).toBe(true);
    });

    it('to a lower limit takes no permit away, and takes effect as permits are released', async () => {
      await using world = await SemaphoreWorld.opened(subject, 4);
      const { permitsHere, permitsThere } = world;
      const holds = [
        await permitsHere.acquire(),
        await permitsThere.acquire(),
        await permitsThere.acquire({ permits: 2 }),
      ];
      await permitsHere.resize(2);
      for (const hold of holds) await hold.confirm();
      expect(holds.every(({ isHeld, signal }) => isHeld && !signal.aborted)).toBe(true);
      expect([await permitsHere.available(), await permitsThere.available()]).toEqual([0, 0]);
      const [waiting] = await world.queueUp(() => permitsThere.acquire());
      for (const hold of holds.slice(0, 2)) {
        expect(await hold.release()).toBe(true);
        expect(await staysOpen(waiting, 50)).toBe(true);
        expect(await permitsHere.available()).toBe(0);
      }
      await holds[2]?.release();
      expect((await within(10_000, 'the waiter', waiting)).isHeld).toBe(true);
      expect(await permitsHere.available()).toBe(1);
      expect(permitsThere.limit).toBe(2);
    });

    it('to a lower limit rejects the waiters for more than that, and no others', async () => {
      await using world = await SemaphoreWorld.opened(subject, 5);
      const { permitsHere, permitsThere } = world;
      const held = await permitsHere.acquire({ permits: 5 });
      const [four, two, five, also] = await world.queueUp(
        () => permitsThere.acquire({ permits: 4 }),
        () => permitsThere.acquire({ permits: 2 }),
        () => permitsHere.acquire({ permits: 5 }),
        () => permitsHere.tryAcquire({ permits: 3, timeoutMs: 60_000 }),
      );
      await permitsHere.resize(2);
      for (const [refused, permits] of [
        [four, 4],
        [five, 5],
        [also, 3],
      ] as const) {
        const error = await rejection(within(10_000, 'the rejection', refused));
        expect(error).toBeInstanceOf(SemaphoreLimitMismatchError);
        expect(error).toMatchObject({ lockName: world.name, expected: permits, actual: 2 });
      }
      await world.untilWaiting(1);
      expect(await staysOpen(two, 50)).toBe(true);
      await held.release();
      expect((await within(10_000, 'the one that fits', two)).permits).toBe(2);
    });

    it('is followed by every semaphore object', async () => {
      await using world = await SemaphoreWorld.opened(subject, 2);
      const { permitsHere, permitsThere } = world;
      await permitsThere.use(() => 1);
      await world.expectAvailable(2);
      await permitsHere.resize(3);
      const three = await permitsHere.tryAcquire({ permits: 3 });
      expect(three?.permits).toBe(3);
      // The other object still has the limit two, and follows at its next request.
      expect(permitsThere.limit).toBe(2);
      expect(await permitsThere.tryAcquire()).toBeNull();
      expect(permitsThere.limit).toBe(3);
      await three?.release();
      await permitsHere.resize(1);
      expect(await rejection(permitsHere.acquire({ permits: 2 }))).toBeInstanceOf(RangeError);
      const error = await rejection(within(10_000, 'an answer', permitsThere.acquire({ permits: 3 })));
      expect(error).toMatchObject({ code: 'SEMAPHORE_LIMIT_MISMATCH', expected: 3, actual: 1 });
    });

    it('before anything is stored sets the first stored limit', async () => {
      await using world = await SemaphoreWorld.opened(subject, 2);
      await world.permitsHere.resize(6);
      expect([world.permitsHere.limit, await world.permitsHere.available()]).toEqual([6, 6]);
      const hold = await world.permitsHere.tryAcquire({ permits: 6 });
      expect(hold?.permits).toBe(6);
      expect((await world.permitsThere.inspect())?.limit).toBe(6);
    });

    it.each(BAD_LIMITS)('to an invalid limit rejects before anything is sent: %s', async (limit, kind) => {
      await using world = await SemaphoreWorld.opened(subject, 2);
      const error = await rejection(world.permitsHere.resize(limit as number));
      expect(error).toBeInstanceOf(kind);
      expect((error as Error).message).toMatch(/^limit must be/);
      expect(world.hereClient.commands).toEqual([]);
      expect(world.permitsHere.limit).toBe(2);
    });

    it('rejects for a lock in use as another kind, and takes over an idle one', async () => {
      await using world = await SemaphoreWorld.opened(subject, 2);
      const mutex = await world.there.acquireMutex(world.name);
      const requests: readonly Promise<unknown>[] = [
        world.permitsHere.resize(3),
        world.permitsHere.available(),
      ];
      for (const refused of requests.map(later)) {
        const error = await rejection(refused);
        expect(error).toBeInstanceOf(LockKindMismatchError);
        expect(error).toMatchObject({ expected: 'semaphore', actual: 'mutex' });
      }
      await mutex.confirm();
      expect(await mutex.release()).toBe(true);
      await world.permitsHere.resize(3);
      const hold = await world.permitsHere.tryAcquire({ permits: 3 });
      expect(hold?.fencingToken).toBeGreaterThan(mutex.fencingToken);
    });

    it('rejects once its provider is closed', async () => {
      await using world = await SemaphoreWorld.opened(subject, 2);
      await world.here.close();
      expect(await rejection(world.permitsHere.resize(3))).toBeInstanceOf(ProviderClosedError);
      expect(await rejection(world.permitsHere.available())).toBeInstanceOf(ProviderClosedError);
    });
  });
}
