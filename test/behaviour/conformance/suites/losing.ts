import { once } from 'node:events';

import { describe, expect, it } from 'vitest';

import { LockLostError } from '../../../../src/index.js';
import type { LostEvent } from '../../../../src/index.js';
import { eventually, later, nowMs, rejection, within } from '../../../../lab/patience.js';
import { LockWorld } from '../lock-world.js';
import type { Subject } from '../lock-world.js';

/** Long enough not to expire during a test on a busy machine, and extended often. */
const LEASE = { leaseMs: 6_000, extendEveryMs: 500 };

/** The signal that reports a loss, and nothing else. */
export function losing(subject: Subject): void {
  describe.concurrent('the signal of a hold', () => {
    it('does not abort at a grant, an extension or a release', async () => {
      await using world = new LockWorld(subject, LEASE);
      const name = await world.name();
      const hold = await world.openHere(name).acquire();
      const { signal } = hold;
      expect(signal.aborted).toBe(false);
      await hold.confirm();
      await hold.release();
      const next = await world.openThere(name).acquire();
      await next.release();
      expect(signal.aborted).toBe(false);
      expect(hold.signal).toBe(signal);
    });

    it('is not aborted if it is first read after the release', async () => {
      await using world = new LockWorld(subject);
      const hold = await world.openHere(await world.name()).acquire();
      await hold.release();
      expect(hold.signal.aborted).toBe(false);
    });

    it('aborts once, within one extension, after the document was deleted', async () => {
      await using world = new LockWorld(subject, LEASE);
      const name = await world.name();
      const hold = await world.openHere(name).acquire();
      const { signal } = hold;
      let fired = 0;
      signal.addEventListener('abort', () => (fired += 1));
      // An extension may find the loss before the deletion has been answered.
      const aborted = once(signal, 'abort');
      await world.destroy(name);
      const heldAtMs = nowMs();
      await within(10_000, 'the loss', aborted);
      // Without an extension the hold would be lost only at its deadline: a lease less the allowance.
      expect(nowMs() - heldAtMs).toBeLessThan(LEASE.leaseMs * 0.85);
      expect(signal.reason).toBeInstanceOf(LockLostError);
      expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', why: 'document-missing' });
      expect(hold.isHeld).toBe(false);
      expect(hold.remainingMs).toBe(0);

      expect(await within(5_000, 'the release of a lost hold', hold.release())).toBe(false);
      expect(await hold.release()).toBe(false);
      await hold[Symbol.asyncDispose]();
      expect(signal.aborted).toBe(true);
      expect(hold.signal).toBe(signal);
      expect(fired).toBe(1);
    });

    it('aborts at once when the holder confirms a hold whose document is gone', async () => {
      await using world = new LockWorld(subject);
      const name = await world.name();
      const hold = await world.openHere(name).acquire();
      const { signal } = hold;
      await world.destroy(name);
      expect(hold.isHeld).toBe(true);
      expect(await rejection(hold.confirm())).toMatchObject({ why: 'document-missing' });
      expect(signal.aborted).toBe(true);
      expect(() => {
        hold.assertHeld();
      }).toThrow(LockLostError);
      expect(await rejection(hold.confirm())).toMatchObject({ why: 'document-missing' });
    });

    it('is aborted even if it is first read after the loss', async () => {
      await using world = new LockWorld(subject, LEASE);
      const name = await world.name();
      const losses: LostEvent[] = [];
      world.here.on('lost', (event) => losses.push(event));
      const hold = await world.openHere(name).acquire();
      await world.destroy(name);
      await eventually('the loss', () => losses.length > 0);
      expect(hold.signal.aborted).toBe(true);
      expect(hold.signal.reason).toMatchObject({ code: 'LOCK_LOST', why: 'document-missing' });
      expect(losses[0]).toMatchObject({ why: 'document-missing' });
      expect(subject.adapter.documentsOf(name)).toContain(losses[0]?.lockName);
    });

    it('does not abort at a confirmation and a release at the same time', async () => {
      await using world = new LockWorld(subject, LEASE);
      const name = await world.name();
      const hold = await world.openHere(name).acquire();
      const { signal } = hold;
      const [, released] = await Promise.all([hold.confirm().catch(() => undefined), hold.release()]);
      expect(released).toBe(true);
      expect(signal.aborted).toBe(false);
      await world.expectFree(name);
    });
  });

  describe.concurrent('after a loss', () => {
    it('the lock is granted again, with a higher token', async () => {
      await using world = new LockWorld(subject);
      const name = await world.name();
      const hold = await world.openHere(name).acquire();
      await world.destroy(name);
      const next = await world.openThere(name).acquire({ timeoutMs: 10_000 });
      const [before = Infinity] = subject.adapter.tokensOf(hold);
      expect(subject.adapter.tokensOf(next)[0]).toBeGreaterThan(before);
      expect(await rejection(hold.confirm())).toMatchObject({ code: 'LOCK_LOST' });
      expect(await hold.release()).toBe(false);
      await next.confirm();
      expect(next.isHeld).toBe(true);
    });

    it('requests that waited when the document was deleted are granted', async () => {
      await using world = new LockWorld(subject, LEASE);
      const name = await world.name();
      const hold = await world.openHere(name).acquire();
      const waits = [world.openThere(name), world.openThere(name)].map((lock) => later(lock.acquire()));
      await world.untilWaiting(name, 2);
      await world.destroy(name);
      const first = await within(10_000, 'a grant', Promise.race(waits));
      await first.release();
      const holds = await within(10_000, 'both grants', Promise.all(waits));
      const [before = Infinity] = subject.adapter.tokensOf(hold);
      for (const each of holds) expect(subject.adapter.tokensOf(each)[0]).toBeGreaterThan(before);
    });
  });
}
