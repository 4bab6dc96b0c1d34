import { describe, expect, it } from 'vitest';

import type { LeaseInfo } from '../../../../src/index.js';
import { eventually, rejection, within } from '../../../../lab/patience.js';
import type { OwnSubject } from '../two-providers.js';
import { SemaphoreWorld } from '../semaphore-world.js';

/** The lease of a process that dies: long enough to be seen in the store before it expires. */
const LEASE_MS = 8_000;

/** How long after the end of a lease the next grant may come on a busy machine: less than another lease. */
const SLACK_MS = 7_000;

/** The leases and places of a dead process are not extended: others get its permits when they expire, and no later. */
export function outliving(subject: OwnSubject): void {
  const holderOf = async (world: SemaphoreWorld, id: string): Promise<LeaseInfo> =>
    await eventually('it is stored', async () => {
      const snapshot = await world.permitsHere.inspect();
      return snapshot?.holders.find((holder) => holder.id === id);
    });

  /** Expects that the lease of this id was granted soon after this time, by the server's clock. */
  async function expectGrantedAfter(world: SemaphoreWorld, id: string, endOfDead: Date): Promise<void> {
    const { acquiredAt } = await holderOf(world, id);
    const lateMs = acquiredAt.getTime() - endOfDead.getTime();
    expect(lateMs).toBeGreaterThanOrEqual(0);
    expect(lateMs).toBeLessThan(SLACK_MS);
  }

  describe.concurrent('without extensions', () => {
    it('the permits of a dead process stay in use until its lease expires, and no longer', async () => {
      await using world = await SemaphoreWorld.opened(subject, 3);
      const mortal = world.mortal(LEASE_MS);
      const living = await world.permitsThere.acquire();
      const lost = await world.open(mortal.locks).acquire({ permits: 2 });
      const [waiting] = await world.queueUp(() => world.permitsHere.acquire());
      await mortal.die();
      const dead = await holderOf(world, lost.id);
      const next = await within(40_000, 'the next holder', waiting);
      await expectGrantedAfter(world, next.id, dead.expiresAt);
      expect([living.isHeld, await world.permitsHere.available()]).toEqual([true, 1]);
    });

    it('a large request of a dead process blocks small ones behind it until its place lapses', async () => {
      await using world = await SemaphoreWorld.opened(subject, 3);
      const mortal = world.mortal(LEASE_MS);
      const held = await world.permitsThere.acquire();
      const lost = world.open(mortal.locks);
      const [, waiting] = await world.queueUp(
        () => lost.acquire({ permits: 3 }),
        () => world.permitsHere.acquire(),
      );
      await mortal.die();
      const [dead] = (await world.permitsHere.inspect())?.waiters ?? [];
      expect(dead?.process).toBe(mortal.locks.processId);
      const next = await within(40_000, 'the small one', waiting);
      await expectGrantedAfter(world, next.id, dead?.expiresAt ?? new Date(NaN));
      expect(held.isHeld).toBe(true);
    });

    it('the permits of an expired lease are free for a try', async () => {
      await using world = await SemaphoreWorld.opened(subject, 2);
      const lapsed = await world.permitsHere.acquire({ permits: 2 });
      await world.database.plain.tamper(world.name, [{ $set: { 'holders.expiresAt': new Date(0) } }]);
      expect(await world.permitsThere.available()).toBe(2);
      const next = await world.permitsThere.tryAcquire({ permits: 2 });
      expect(next?.isHeld).toBe(true);
      expect(await rejection(lapsed.confirm())).toMatchObject({ code: 'LOCK_LOST' });
      expect(await lapsed.release()).toBe(false);
      expect(next?.isHeld).toBe(true);
    });
  });
}
