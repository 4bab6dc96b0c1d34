import { describe, expect, it } from 'vitest';

import type { LockSnapshot } from '../../../../src/index.js';
import { eventually, later, staysOpen, within } from '../../../../lab/patience.js';
import type { OwnSubject } from '../two-providers.js';
import { ReaderWriterWorld } from '../reader-writer-world.js';

/** The lease of a process that dies: long enough to be seen in the store before it expires. */
const LEASE_MS = 8_000;

/** How long after the end of a lease the next grant may come on a busy machine: less than another lease. */
const SLACK_MS = 7_000;

/** The leases and places of a dead process are not extended: they keep others out until they expire, and no longer. */
export function outliving(subject: OwnSubject): void {
  const look = async (world: ReaderWriterWorld): Promise<LockSnapshot> =>
    await eventually('the lock is stored', () => world.lockHere.inspect());

  /** Expects that the lease of this id was granted soon after this time, by the server's clock. */
  async function expectGrantedAfter(world: ReaderWriterWorld, id: string, endOfDead: Date): Promise<void> {
    const lease = (await look(world)).holders.find((holder) => holder.id === id);
    const lateMs = (lease?.acquiredAt.getTime() ?? NaN) - endOfDead.getTime();
    expect(lateMs).toBeGreaterThanOrEqual(0);
    expect(lateMs).toBeLessThan(SLACK_MS);
  }

  /** Behind a reader, a writer and another reader queue, and the process of the writer dies. */
  const queueBehindDeadWriter = async (world: ReaderWriterWorld) => {
    const mortal = world.mortal(LEASE_MS);
    const reader = await world.lockThere.acquireRead();
    const lost = world.open(mortal.locks);
    const [, reading] = await world.queueUp(
      () => lost.acquireWrite(),
      () => world.lockHere.acquireRead(),
    );
    await mortal.die();
    return { mortal, reader, reading };
  };

  describe.concurrent('without extensions', () => {
    it('the read of a dead process keeps a writer out until its lease expires, and no longer', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const mortal = world.mortal(LEASE_MS);
      const living = await world.lockThere.acquireRead();
      const reader = await world.open(mortal.locks).acquireRead();
      const [writing] = await world.queueUp(() => world.lockHere.acquireWrite());
      await mortal.die();
      expect(await living.release()).toBe(true);
      const [dead] = (await look(world)).holders;
      expect(dead?.id).toBe(reader.id);
      const writer = await within(40_000, 'the writer', writing);
      await expectGrantedAfter(world, writer.id, dead?.expiresAt ?? new Date(NaN));
      expect(reader.isHeld).toBe(false);
    });

    it('the read of a dead process keeps an upgrade waiting until its lease expires, and no longer', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const mortal = world.mortal(LEASE_MS);
      const reader = await world.open(mortal.locks).acquireRead();
      const lock = await world.lockHere.acquireUpgradeableRead();
      const upgrade = later(lock.upgrade());
      await world.untilUpgrading();
      await mortal.die();
      const dead = (await look(world)).holders.find(({ id }) => id === reader.id);
      await within(40_000, 'the upgrade', upgrade);
      await expectGrantedAfter(world, lock.id, dead?.expiresAt ?? new Date(NaN));
    });

    it('the waiting upgrade of a dead process keeps readers out until its lease expires, and no longer', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const mortal = world.mortal(LEASE_MS);
      const reader = await world.lockThere.acquireRead();
      const lock = await world.open(mortal.locks).acquireUpgradeableRead();
      const upgrade = later(lock.upgrade());
      await world.untilUpgrading();
      const [parked] = await world.queueUp(() => world.lockHere.acquireRead());
      await mortal.die();
      const dead = (await look(world)).holders.find(({ id }) => id === lock.id);
      const next = await within(40_000, 'the parked reader', parked);
      await expectGrantedAfter(world, next.id, dead?.expiresAt ?? new Date(NaN));
      expect(reader.isHeld).toBe(true);
      expect(await staysOpen(upgrade, 0)).toBe(false);
    });

    it('the waiting write of a dead process keeps the readers behind it out until its place lapses', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { mortal, reader, reading } = await queueBehindDeadWriter(world);
      const [dead] = (await look(world)).waiters;
      expect(dead?.process).toBe(mortal.locks.processId);
      const next = await within(40_000, 'the reader behind it', reading);
      await expectGrantedAfter(world, next.id, dead?.expiresAt ?? new Date(NaN));
      expect(reader.isHeld).toBe(true);
    });

    it('the waiting write of a dead process is granted at most the rest of its lease', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { mortal, reader, reading } = await queueBehindDeadWriter(world);
      await reader.release();
      const [dead] = (await look(world)).holders;
      expect(dead).toMatchObject({ process: mortal.locks.processId, mode: 'write' });
      const next = await within(40_000, 'the reader behind it', reading);
      await expectGrantedAfter(world, next.id, dead?.expiresAt ?? new Date(NaN));
    });

    it('expired reads that are still stored do not keep a writer out', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const readers = [await world.lockHere.acquireRead(), await world.lockHere.acquireUpgradeableRead()];
      await world.database.plain.tamper(world.name, [{ $set: { 'readers.expiresAt': new Date(0) } }]);
      const writer = await world.lockThere.tryAcquireWrite();
      expect(writer?.isHeld).toBe(true);
      expect((await look(world)).holders.map(({ id }) => id)).toEqual([writer?.id]);
      for (const reader of readers) {
        await expect(reader.confirm()).rejects.toMatchObject({ code: 'LOCK_LOST' });
      }
    });
  });
}
