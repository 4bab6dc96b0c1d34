import { describe, expect, it } from 'vitest';

import { SemaphoreLimitMismatchError } from '../../../../src/index.js';
import { later, rejection, within } from '../../../../lab/patience.js';
import type { OwnSubject } from '../two-providers.js';
import { SemaphoreWorld } from '../semaphore-world.js';

/** Two semaphore objects with one name and different limits. */
export function differing(subject: OwnSubject): void {
  describe.concurrent('by default', () => {
    it('a limit that differs from the stored one is an error that names both, while the semaphore is in use', async () => {
      await using world = await SemaphoreWorld.opened(subject, 2);
      const held = await world.permitsHere.acquire();
      const other = world.open(world.there, 3);
      const requests: readonly Promise<unknown>[] = [other.acquire(), other.tryAcquire(), other.use(() => 1)];
      for (const refused of requests.map(later)) {
        const error = await rejection(within(10_000, 'an answer', refused));
        expect(error).toBeInstanceOf(SemaphoreLimitMismatchError);
        expect(error).toMatchObject({
          code: 'SEMAPHORE_LIMIT_MISMATCH',
          lockName: world.name,
          expected: 3,
          actual: 2,
        });
        expect((error as Error).message).toMatch(/\b3\b.*\b2\b/);
      }
      // It stays an error for this object, and changes nothing for the others.
      expect(await rejection(other.acquire({ timeoutMs: 5_000 }))).toBeInstanceOf(
        SemaphoreLimitMismatchError,
      );
      expect((await world.permitsHere.inspect())?.limit).toBe(2);
      expect((await world.permitsHere.inspect())?.waiters).toEqual([]);
      expect(await world.permitsHere.tryAcquire()).not.toBeNull();
      expect(held.isHeld).toBe(true);
    });

    it('an idle semaphore takes the limit of the next request', async () => {
      await using world = await SemaphoreWorld.opened(subject, 2);
      await world.permitsHere.use(() => 1);
      await world.expectAvailable(2);
      const other = world.open(world.there, 3);
      const holds = [await other.tryAcquire(), await other.tryAcquire(), await other.tryAcquire()];
      expect(holds.every((hold) => hold?.isHeld === true)).toBe(true);
      expect(await other.available()).toBe(0);
      // An object that has used the stored limit before follows the new one.
      expect(await world.permitsHere.tryAcquire()).toBeNull();
      expect(world.permitsHere.limit).toBe(3);
    });

    it('an object with a different limit works once the stored one is resized to it', async () => {
      await using world = await SemaphoreWorld.opened(subject, 2);
      const held = await world.permitsHere.acquire();
      const other = world.open(world.there, 3);
      expect(await rejection(other.tryAcquire())).toBeInstanceOf(SemaphoreLimitMismatchError);
      await world.permitsHere.resize(3);
      const two = await other.tryAcquire({ permits: 2 });
      expect([two?.isHeld, held.isHeld]).toEqual([true, true]);
    });
  });

  describe.concurrent("with whenLimitDiffers: 'follow'", () => {
    it('an object adopts the stored limit at its first request', async () => {
      await using world = await SemaphoreWorld.opened(subject, 2);
      const held = await world.permitsHere.acquire();
      const follower = world.open(world.there, 7, { whenLimitDiffers: 'follow' });
      expect(follower.limit).toBe(7);
      const hold = await follower.tryAcquire();
      expect(hold?.isHeld).toBe(true);
      expect(follower.limit).toBe(2);
      expect(await rejection(follower.acquire({ permits: 3 }))).toBeInstanceOf(RangeError);
      expect((await world.permitsHere.inspect())?.limit).toBe(2);
      expect(held.isHeld).toBe(true);
    });

    it('a request for more than the stored limit is a mismatch even if the object has another limit', async () => {
      await using world = await SemaphoreWorld.opened(subject, 2);
      const held = await world.permitsHere.acquire();
      const follower = world.open(world.there, 7, { whenLimitDiffers: 'follow' });
      const error = await rejection(within(10_000, 'an answer', follower.acquire({ permits: 5 })));
      expect(error).toMatchObject({ code: 'SEMAPHORE_LIMIT_MISMATCH', expected: 5, actual: 2 });
      expect(held.isHeld).toBe(true);
    });

    it('an object stores its own limit if none is stored, and keeps the stored one of an idle semaphore', async () => {
      await using world = await SemaphoreWorld.opened(subject, 2);
      const follower = world.open(world.there, 3, { whenLimitDiffers: 'follow' });
      const three = await follower.tryAcquire({ permits: 3 });
      expect(three?.permits).toBe(3);
      await three?.release();
      const another = world.open(world.here, 1, { whenLimitDiffers: 'follow' });
      await another.use(() => 1);
      expect(another.limit).toBe(3);
      await world.expectAvailable(3);
    });
  });

  describe.concurrent("with whenLimitDiffers: 'resize'", () => {
    it('an object stores its own limit at its first request, and other objects follow', async () => {
      await using world = await SemaphoreWorld.opened(subject, 2);
      const held = await world.permitsHere.acquire({ permits: 2 });
      const resizer = world.open(world.there, 4, { whenLimitDiffers: 'resize' });
      const two = await resizer.tryAcquire({ permits: 2 });
      expect([two?.isHeld, held.isHeld]).toEqual([true, true]);
      expect((await world.permitsHere.inspect())?.limit).toBe(4);
      expect(await world.permitsHere.tryAcquire()).toBeNull();
      expect(world.permitsHere.limit).toBe(4);
    });

    it('an object stores its own limit only once, and follows one that is stored later', async () => {
      await using world = await SemaphoreWorld.opened(subject, 2);
      const resizer = world.open(world.there, 4, { whenLimitDiffers: 'resize' });
      await resizer.use(() => 1);
      await world.expectAvailable(4);
      await world.permitsHere.resize(6);
      const hold = await resizer.acquire();
      expect(resizer.limit).toBe(6);
      expect(hold.isHeld).toBe(true);
      expect((await world.permitsHere.inspect())?.limit).toBe(6);
    });

    it('an object whose limit is below the permits in use takes none away', async () => {
      await using world = await SemaphoreWorld.opened(subject, 5);
      const held = await world.permitsHere.acquire({ permits: 4 });
      const resizer = world.open(world.there, 3, { whenLimitDiffers: 'resize' });
      expect(await resizer.tryAcquire()).toBeNull();
      await held.confirm();
      expect([held.isHeld, await resizer.available()]).toEqual([true, 0]);
    });
  });
}
