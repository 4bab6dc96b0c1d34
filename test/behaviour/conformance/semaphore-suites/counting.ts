import { describe, expect, it } from 'vitest';

import type { PermitHandle } from '../../../../src/index.js';
import { rejection, staysOpen, within } from '../../../../lab/patience.js';
import { answeredTimeout } from '../../../support/answered-timeout.js';
import type { OwnSubject } from '../two-providers.js';
import { SemaphoreWorld } from '../semaphore-world.js';

const MAX_LIMIT = 2 ** 31 - 1;

/** How many permits are held. */
export function counting(subject: OwnSubject): void {
  describe.concurrent('permits', () => {
    it('are as many as the limit over all semaphore objects, and a released one is granted again', async () => {
      await using world = await SemaphoreWorld.opened(subject, 4);
      const { permitsHere, permitsThere } = world;
      expect([permitsHere.limit, permitsThere.limit, permitsHere.name]).toEqual([4, 4, world.name]);
      expect(await permitsHere.available()).toBe(4);
      const holds: PermitHandle[] = [];
      for (const left of [3, 2, 1, 0]) {
        const hold = await (left % 2 === 0 ? permitsHere : permitsThere).tryAcquire();
        if (hold === null) throw new Error(`no permit though ${left + 1} are left`);
        expect(hold.permits).toBe(1);
        holds.push(hold);
        expect(await permitsThere.available()).toBe(left);
      }
      expect([await permitsHere.tryAcquire(), await permitsThere.tryAcquire()]).toEqual([null, null]);
      expect(await holds[0]?.release()).toBe(true);
      await world.expectAvailable(1);
      const next = await permitsThere.tryAcquire();
      expect(next?.isHeld).toBe(true);
      expect(await permitsHere.tryAcquire()).toBeNull();
    });

    it('are acquired several together, or none of them', async () => {
      await using world = await SemaphoreWorld.opened(subject, 5);
      const { permitsHere, permitsThere } = world;
      const three = await permitsHere.acquire({ permits: 3 });
      expect(three.permits).toBe(3);
      expect(await permitsThere.tryAcquire({ permits: 3 })).toBeNull();
      expect(await permitsThere.available()).toBe(2);
      const two = await permitsThere.tryAcquire({ permits: 2 });
      expect(two?.permits).toBe(2);
      expect(await permitsHere.available()).toBe(0);
      expect(await three.release()).toBe(true);
      await world.expectAvailable(3);
    });

    it('have one lease and one token for each grant, in the order of the grants (S3)', async () => {
      await using world = await SemaphoreWorld.opened(subject, 5);
      const { name, permitsHere, permitsThere } = world;
      const holds = [
        await permitsHere.acquire({ permits: 2, why: 'two' }),
        await permitsThere.acquire(),
        await permitsThere.acquire({ permits: 2 }),
      ];
      const snapshot = await permitsThere.inspect();
      expect(snapshot).toMatchObject({ name, kind: 'semaphore', limit: 5, waiters: [] });
      expect(snapshot?.holders).toMatchObject(
        holds.map(({ id, fencingToken, permits }) => ({ id, token: fencingToken, permits })),
      );
      for (const hold of holds) await hold.release();
      const tokens = [...holds, await permitsHere.acquire()].map(({ fencingToken }) => fencingToken);
      expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    });

    it('may be as many as an int can hold, even under a long name with spaces', async () => {
      await using world = await SemaphoreWorld.opened(subject, 1);
      const name = `${'a long name '.repeat(80)}!`;
      const semaphore = world.here.createSemaphore(name, MAX_LIMIT);
      const holds = await Promise.all(Array.from({ length: 100 }, () => semaphore.acquire()));
      expect(new Set(holds.map(({ fencingToken }) => fencingToken)).size).toBe(100);
      const left = MAX_LIMIT - 100;
      expect(await semaphore.available()).toBe(left);
      const elsewhere = world.there.createSemaphore(name, MAX_LIMIT);
      expect(await elsewhere.tryAcquire({ permits: left + 1 })).toBeNull();
      const rest = await elsewhere.tryAcquire({ permits: left });
      expect(rest?.permits).toBe(left);
      expect(await semaphore.available()).toBe(0);
      expect(await Promise.all(holds.map((hold) => hold.release()))).not.toContain(false);
      expect(await semaphore.available()).toBe(100);
      expect(elsewhere.limit).toBe(MAX_LIMIT);
    });

    it('are listed with their holder in the error of a wait that times out', async () => {
      await using world = await SemaphoreWorld.opened(subject, 3);
      const held = await world.permitsHere.acquire({ permits: 2, why: 'a batch' });
      expect(await world.permitsThere.tryAcquire({ permits: 2 })).toBeNull();
      const error = await answeredTimeout((timeoutMs) =>
        world.permitsThere.acquire({ permits: 2, timeoutMs }),
      );
      expect(error.holders).toMatchObject([
        { id: held.id, permits: 2, why: 'a batch', process: world.here.processId },
      ]);
      expect(await world.permitsThere.available()).toBe(1);
      expect((await world.permitsHere.inspect())?.waiters).toEqual([]);
    });
  });

  describe.concurrent('the queue', () => {
    it('is blocked by its head: a small request does not pass a large one (L3)', async () => {
      await using world = await SemaphoreWorld.opened(subject, 5);
      const { permitsHere, permitsThere } = world;
      const three = await permitsHere.acquire({ permits: 3 });
      const [four, one] = await world.queueUp(
        () => permitsThere.acquire({ permits: 4 }),
        () => permitsHere.acquire(),
      );
      expect(await permitsHere.available()).toBe(2);
      expect(await permitsHere.tryAcquire()).toBeNull();
      expect(await staysOpen(Promise.race([four, one]), 50)).toBe(true);
      await three.release();
      const [first, second] = await within(10_000, 'both', Promise.all([four, one]));
      expect(second.fencingToken).toBe(first.fencingToken + world.tokensPerGrant);
      expect(await permitsHere.available()).toBe(0);
    });

    it('admits as many of its first waiters as fit, by one update', async () => {
      await using world = await SemaphoreWorld.opened(subject, 5);
      const { permitsHere, permitsThere } = world;
      const all = await permitsHere.acquire({ permits: 5 });
      const [one, two, three, four] = await world.queueUp(
        () => permitsThere.acquire({ permits: 2 }),
        () => permitsHere.acquire({ permits: 2 }),
        () => permitsThere.acquire({ permits: 2 }),
        () => permitsHere.acquire(),
      );
      await all.release();
      const [first, second] = await within(10_000, 'the first two', Promise.all([one, two]));
      expect(second.fencingToken).toBe(first.fencingToken + world.tokensPerGrant);
      expect(await staysOpen(Promise.race([three, four]), 50)).toBe(true);
      expect(await permitsThere.available()).toBe(1);
      expect((await permitsThere.inspect())?.waiters).toMatchObject([{ permits: 2 }, { permits: 1 }]);
      await first.release();
      const [third, fourth] = await within(10_000, 'the others', Promise.all([three, four]));
      expect(fourth.fencingToken).toBe(third.fencingToken + world.tokensPerGrant);
    });

    it('moves on when its head is aborted', async () => {
      await using world = await SemaphoreWorld.opened(subject, 5);
      const { permitsHere, permitsThere } = world;
      const three = await permitsHere.acquire({ permits: 3 });
      const controller = new AbortController();
      const [four, two] = await world.queueUp(
        () => permitsThere.acquire({ permits: 4, signal: controller.signal }),
        () => permitsHere.acquire({ permits: 2 }),
      );
      controller.abort();
      expect(await rejection(four)).toBe(controller.signal.reason);
      expect((await within(10_000, 'the one behind it', two)).isHeld).toBe(true);
      expect(three.isHeld).toBe(true);
    });
  });
}
