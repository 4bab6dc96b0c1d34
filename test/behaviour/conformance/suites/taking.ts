import { describe, expect, it } from 'vitest';

import { AcquireTimeoutError, LockLostError } from '../../../../src/index.js';
import type { AcquireOptions } from '../../../../src/index.js';
import { rejection } from '../../../../lab/patience.js';
import { LockWorld } from '../lock-world.js';
import type { Subject } from '../lock-world.js';

/** Invalid timeouts, and the error that each of them causes. */
const BAD_TIMEOUTS: readonly (readonly [unknown, typeof TypeError | typeof RangeError])[] = [
  [Number.NaN, RangeError],
  [-1, RangeError],
  [-Infinity, RangeError],
  ['200', TypeError],
  [200n, TypeError],
  [null, TypeError],
  [{}, TypeError],
];

/** A lock while it is free, while it is held, and after its release. */
export function taking(subject: Subject): void {
  describe.concurrent('a lock', () => {
    it('is granted if it is free, and is then busy for every other request until the release', async () => {
      await using world = new LockWorld(subject);
      const name = await world.name();
      const lock = world.openHere(name);
      const hold = await lock.acquire();
      expect(hold.isHeld).toBe(true);
      expect(hold.remainingMs).toBeGreaterThan(0);
      expect(hold.signal.aborted).toBe(false);
      hold.assertHeld();

      expect(await lock.tryAcquire()).toBeNull();
      expect(await world.openHere(name).tryAcquire()).toBeNull();
      expect(await world.openThere(name).tryAcquire()).toBeNull();

      const other = await world.openThere(await world.name()).tryAcquire();
      expect(other?.isHeld).toBe(true);

      expect(await hold.release()).toBe(true);
      expect(hold.isHeld).toBe(false);
      expect((await world.expectFree(name)).isHeld).toBe(true);
    });

    it('gives a higher token at each grant, through any lock object', async () => {
      await using world = new LockWorld(subject);
      const name = await world.name();
      const tokens: number[][] = [];
      for (const lock of [world.openHere(name), world.openThere(name), world.openHere(name)]) {
        const hold = await lock.acquire();
        tokens.push([...subject.adapter.tokensOf(hold)]);
        await hold.release();
      }
      for (const [index, later] of tokens.slice(1).entries()) {
        for (const [seat, token] of later.entries()) {
          expect(Number.isSafeInteger(token)).toBe(true);
          expect(token).toBeGreaterThan(tokens[index]?.[seat] ?? Infinity);
        }
      }
    });

    it('rejects a request with an invalid timeout before anything is sent', async () => {
      await using world = new LockWorld(subject);
      const lock = world.openHere(await world.name());
      for (const [timeoutMs, kind] of BAD_TIMEOUTS) {
        const options = { timeoutMs } as AcquireOptions;
        const refused = [lock.acquire(options), lock.tryAcquire(options), lock.use(() => 1, options)];
        for (const promise of refused) {
          const error = await rejection(promise);
          expect(error).toBeInstanceOf(kind);
          expect((error as Error).message).toContain('timeoutMs');
        }
      }
      expect(world.hereClient.commands).toEqual([]);
    });

    it('stays with the next holder when an old handle is released again', async () => {
      await using world = new LockWorld(subject);
      const name = await world.name();
      const first = await world.openHere(name).acquire();
      expect(await first.release()).toBe(true);
      const second = await world.openThere(name).acquire();
      expect(await first.release()).toBe(true);
      await first[Symbol.asyncDispose]();
      await second.confirm();
      expect(second.isHeld).toBe(true);
      expect(await world.openHere(name).tryAcquire()).toBeNull();
      expect(await second.release()).toBe(true);
    });

    it('reports on a released handle that it was released', async () => {
      await using world = new LockWorld(subject);
      const hold = await world.openHere(await world.name()).acquire();
      await hold.release();
      expect(hold.remainingMs).toBe(0);
      expect(() => {
        hold.assertHeld();
      }).toThrow(expect.objectContaining({ code: 'LOCK_LOST', why: 'released' }));
      expect(await rejection(hold.confirm())).toMatchObject({ code: 'LOCK_LOST', why: 'released' });
    });

    it('is released at the end of an `await using` scope', async () => {
      await using world = new LockWorld(subject);
      const name = await world.name();
      {
        await using hold = await world.openHere(name).acquire();
        expect(hold.isHeld).toBe(true);
      }
      await world.expectFree(name);
    });
  });

  describe.concurrent('use', () => {
    it('holds the lock while the work runs, returns its result, and releases', async () => {
      await using world = new LockWorld(subject);
      const name = await world.name();
      const result = await world.openHere(name).use(async (hold) => {
        expect(hold.isHeld).toBe(true);
        expect(await world.openThere(name).tryAcquire()).toBeNull();
        return 42;
      });
      expect(result).toBe(42);
      await world.expectFree(name);
    });

    it('releases if the work fails, and rejects with its error', async () => {
      await using world = new LockWorld(subject);
      const name = await world.name();
      const failure = new Error('the work failed');
      const fail = (): never => {
        throw failure;
      };
      expect(await rejection(world.openHere(name).use(fail))).toBe(failure);
      await world.expectFree(name);
    });

    it('rejects with the loss if the lock was lost before the work ended', async () => {
      await using world = new LockWorld(subject);
      const name = await world.name();
      const work = world.openHere(name).use(async (hold) => {
        await world.destroy(name);
        expect(await rejection(hold.confirm())).toBeInstanceOf(LockLostError);
      });
      expect(await rejection(work)).toMatchObject({ code: 'LOCK_LOST', why: 'document-missing' });
    });

    it('does not begin the work if the lock is not granted in time', async () => {
      await using world = new LockWorld(subject);
      const name = await world.name();
      await using hold = await world.openHere(name).acquire();
      let began = false;
      const work = world.openThere(name).use(() => (began = true), { timeoutMs: 50 });
      expect(await rejection(work)).toBeInstanceOf(AcquireTimeoutError);
      expect(began).toBe(false);
      expect(hold.isHeld).toBe(true);
    });
  });
}
