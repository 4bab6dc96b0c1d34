import { describe, expect, it } from 'vitest';

import { eventually, later, nowMs, staysOpen, within } from '../../../../lab/patience.js';
import { LockWorld } from '../lock-world.js';
import type { Subject } from '../lock-world.js';

/** A hold lasts until its release, because its lease is extended. */
export function extending(subject: Subject): void {
  describe.concurrent('a lease', () => {
    it('is extended: a second request still waits after two leases, until the release', async () => {
      await using world = new LockWorld(subject, { leaseMs: 6_000, extendEveryMs: 200 });
      const name = await world.name();
      const hold = await world.openHere(name).acquire();
      const next = later(world.openThere(name).acquire());
      expect(await staysOpen(next, 12_000)).toBe(true);
      expect(hold.isHeld).toBe(true);
      expect(hold.signal.aborted).toBe(false);
      expect(await hold.release()).toBe(true);
      const granted = await within(10_000, 'the hand-over', next);
      expect(granted.isHeld).toBe(true);
    });

    it('has the length that the request sets, or else the lock object, or else the provider', async () => {
      await using world = new LockWorld(subject, { leaseMs: 20_000 });
      const ofProvider = await world.openHere(await world.name()).acquire();
      const ofLock = await world.openHere(await world.name(), { leaseMs: 10_000 }).acquire();
      const name = await world.name();
      const ofRequest = await world.openHere(name, { leaseMs: 10_000 }).acquire({ leaseMs: 5_000 });
      expect(ofProvider.remainingMs).toBeGreaterThan(10_000);
      expect(ofProvider.remainingMs).toBeLessThanOrEqual(20_000);
      expect(ofLock.remainingMs).toBeGreaterThan(5_000);
      expect(ofLock.remainingMs).toBeLessThanOrEqual(10_000);
      expect(ofRequest.remainingMs).toBeGreaterThan(1_000);
      expect(ofRequest.remainingMs).toBeLessThanOrEqual(5_000);
    });

    it('is extended when the hold is confirmed', async () => {
      // No extension comes by itself before the end of the test.
      await using world = new LockWorld(subject, { leaseMs: 600_000 });
      const hold = await world.openHere(await world.name()).acquire();
      const deadlineMs = (): number => nowMs() + hold.remainingMs;
      const [atFirstMs, usedUpMs] = [deadlineMs(), nowMs() + 1_000];
      await eventually('some of the lease is used up', () => nowMs() > usedUpMs);
      const askedMs = nowMs();
      await hold.confirm();
      // The deadline counts from before the answer: a late one extends by less.
      expect(deadlineMs()).toBeGreaterThan(atFirstMs + 990 - (nowMs() - askedMs));
    });
  });
}
