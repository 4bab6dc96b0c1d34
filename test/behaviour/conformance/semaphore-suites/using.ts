import { describe, expect, it } from 'vitest';

import { AcquireTimeoutError, DeadlockError, LockLostError } from '../../../../src/index.js';
import type { PermitOptions } from '../../../../src/index.js';
import { later, rejection, staysOpen, within } from '../../../../lab/patience.js';
import type { OwnSubject } from '../two-providers.js';
import { SemaphoreWorld } from '../semaphore-world.js';

const BAD_PERMITS: readonly (readonly [unknown, typeof TypeError | typeof RangeError])[] = [
  [0, RangeError],
  [-1, RangeError],
  [1.5, RangeError],
  [Number.NaN, RangeError],
  [Infinity, RangeError],
  [4, RangeError],
  ['1', TypeError],
  [1n, TypeError],
  [null, TypeError],
];

/** Work with permits, and requests inside such work. */
export function using(subject: OwnSubject): void {
  describe.concurrent('use', () => {
    it('holds the permits while the work runs, returns its result, and releases', async () => {
      await using world = await SemaphoreWorld.opened(subject, 3);
      const { permitsHere, permitsThere } = world;
      const result = await permitsHere.use(
        async (hold) => {
          expect([hold.permits, await permitsThere.available()]).toEqual([2, 1]);
          return 42;
        },
        { permits: 2 },
      );
      expect(result).toBe(42);
      await world.expectAvailable(3);
    });

    it('releases if the work fails, and rejects with its error', async () => {
      await using world = await SemaphoreWorld.opened(subject, 3);
      const failure = new Error('the work failed');
      expect(await rejection(world.permitsHere.use(() => Promise.reject(failure)))).toBe(failure);
      await world.expectAvailable(3);
    });

    it('rejects with the loss if the permits were lost before the work ended', async () => {
      await using world = await SemaphoreWorld.opened(subject, 3);
      const work = world.permitsHere.use(async (hold) => {
        await world.there.revoke(world.name, { id: hold.id, force: true });
        expect(await rejection(hold.confirm())).toBeInstanceOf(LockLostError);
      });
      expect(await rejection(work)).toMatchObject({ code: 'LOCK_LOST', why: 'revoked' });
    });
  });

  describe.concurrent('inside the work of the same chain of calls', () => {
    it('a request for permits that only the chain itself could release is a deadlock', async () => {
      await using world = await SemaphoreWorld.opened(subject, 3);
      const { permitsHere } = world;
      await permitsHere.use(
        async () => {
          const nested = within(10_000, 'an answer', permitsHere.acquire({ permits: 2 }));
          expect(await rejection(nested)).toBeInstanceOf(DeadlockError);
          const timed = permitsHere.acquire({ permits: 2, timeoutMs: 50 });
          expect(await rejection(timed)).toBeInstanceOf(AcquireTimeoutError);
          // One permit is left for the chain.
          await permitsHere.use(async () => {
            expect(await rejection(permitsHere.use(() => 1))).toMatchObject({ code: 'DEADLOCK' });
          });
        },
        { permits: 2 },
      );
      await world.expectAvailable(3);
    });

    it('a request for permits that others may release waits', async () => {
      await using world = await SemaphoreWorld.opened(subject, 3);
      const { permitsHere, permitsThere } = world;
      const others = await permitsThere.acquire({ permits: 2 });
      await permitsHere.use(async () => {
        const [nested] = await world.queueUp(() => permitsHere.acquire({ permits: 2 }));
        expect(await staysOpen(nested, 50)).toBe(true);
        await others.release();
        expect((await within(10_000, 'the permits', nested)).permits).toBe(2);
      });
    });

    it('the permits of all nested uses count together', async () => {
      await using world = await SemaphoreWorld.opened(subject, 5);
      const { permitsHere } = world;
      await permitsHere.use(
        async () => {
          await permitsHere.use(
            async () => {
              const nested = within(10_000, 'an answer', permitsHere.acquire({ permits: 2 }));
              expect(await rejection(nested)).toBeInstanceOf(DeadlockError);
              expect((await permitsHere.acquire()).isHeld).toBe(true);
            },
            { permits: 2 },
          );
        },
        { permits: 2 },
      );
    });
  });

  describe.concurrent('an invalid number of permits', () => {
    it.each(BAD_PERMITS)('is an error before anything is sent: %s', async (permits, kind) => {
      await using world = await SemaphoreWorld.opened(subject, 3);
      const { permitsHere } = world;
      const options = { permits } as PermitOptions;
      const requests: readonly Promise<unknown>[] = [
        permitsHere.acquire(options),
        permitsHere.tryAcquire(options),
        permitsHere.use(() => 1, options),
      ];
      for (const request of requests.map(later)) {
        const error = await rejection(request);
        expect(error).toBeInstanceOf(kind);
        expect((error as Error).message).toMatch(/^permits must be/);
      }
      expect(world.hereClient.commands).toEqual([]);
    });
  });
}
