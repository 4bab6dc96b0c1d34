import { once } from 'node:events';

import { describe, expect, it } from 'vitest';

import type { ModeChangedEvent, ReaderWriterHandle } from '../../../../src/index.js';
import { eventually, later, rejection, staysOpen, within } from '../../../../lab/patience.js';
import { answeredTimeout, toldOfHolders } from '../../../support/answered-timeout.js';
import type { OwnSubject } from '../two-providers.js';
import { ReaderWriterWorld } from '../reader-writer-world.js';

const LONG_ENOUGH_TO_BE_SEEN_MS = 6_000;

/** One way in which an upgrade fails; resolves when the caller has its answer. */
type Failure = readonly [string, (world: ReaderWriterWorld, lock: ReaderWriterHandle) => Promise<void>];

const FAILURES: readonly Failure[] = [
  [
    'after a timeout',
    async (_, lock) => {
      expect(await rejection(lock.upgrade({ timeoutMs: LONG_ENOUGH_TO_BE_SEEN_MS }))).toMatchObject({
        code: 'ACQUIRE_TIMEOUT',
      });
    },
  ],
  [
    'by tryUpgrade with a timeout',
    async (_, lock) => {
      expect(await lock.tryUpgrade({ timeoutMs: LONG_ENOUGH_TO_BE_SEEN_MS })).toBe(false);
    },
  ],
  [
    'after an abort',
    async (world, lock) => {
      const controller = new AbortController();
      const upgrading = later(lock.upgrade({ signal: controller.signal }));
      await world.untilWaiting(1);
      controller.abort(new Error('not wanted any more'));
      expect(await rejection(upgrading)).toBe(controller.signal.reason);
    },
  ],
];

/** From a read to a write without a release. */
export function upgrading(subject: OwnSubject): void {
  describe.concurrent('an upgrade', () => {
    it('is granted at once if there is no other reader, and excludes all others until the release', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { lockHere, lockThere } = world;
      const lock = await lockHere.acquireUpgradeableRead();
      await lock.upgrade();
      expect(lock.currentMode()).toBe('write');
      await world.expectOpen();
      const [reading] = await world.queueUp(() => lockThere.acquireRead());
      expect(await staysOpen(reading, 50)).toBe(true);
      await lock[Symbol.asyncDispose]();
      expect((await within(10_000, 'the reader', reading)).isHeld).toBe(true);
    });

    it('keeps handle, id and signal, gets a new, higher token, and emits an event (S3)', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { name, lockHere } = world;
      const events: ModeChangedEvent[] = [];
      world.here.on('modeChanged', (event) => events.push(event));
      const lock = await lockHere.acquireUpgradeableRead();
      const { id, signal, releaseRequested, fencingToken: before } = lock;
      await lock.upgrade();
      expect([lock.id, lock.signal, lock.releaseRequested]).toEqual([id, signal, releaseRequested]);
      expect(lock.signal).toBe(signal);
      expect(signal.aborted).toBe(false);
      expect(lock.fencingToken).toBeGreaterThan(before);
      const { fencingToken } = lock;
      expect((await lockHere.inspect())?.holders).toMatchObject([{ id, mode: 'write', token: fencingToken }]);
      expect(events).toEqual([
        {
          lockName: name,
          kind: 'reader-writer',
          id,
          fencingToken,
          mode: 'write',
          previousMode: 'upgradeable',
        },
      ]);
    });

    it('by tryUpgrade is false and changes nothing while another reads, and true after that has left', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { lockHere, lockThere } = world;
      const lock = await lockHere.acquireUpgradeableRead();
      const reader = await lockThere.acquireRead();
      const before = lock.fencingToken;
      expect(await lock.tryUpgrade()).toBe(false);
      expect([lock.currentMode(), lock.fencingToken, lock.isHeld]).toEqual(['upgradeable', before, true]);
      await lock.confirm();
      // The failed try keeps no reader out afterwards.
      await world.expectOpen('Read');
      await reader.release();
      await world.expectUpgrade(lock);
      expect(lock.currentMode()).toBe('write');
      const [reading] = await world.queueUp(() => lockThere.acquireRead());
      await lock.release();
      expect((await within(10_000, 'the reader', reading)).isHeld).toBe(true);
    });

    it('waits for every other reader to leave, and meanwhile no other request is granted', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { lockHere, lockThere } = world;
      const readers = [await lockThere.acquireRead(), await lockHere.acquireRead()];
      const lock = await lockHere.acquireUpgradeableRead();
      const upgrade = later(lock.upgrade());
      await world.untilUpgrading();
      await world.expectOpen();
      const [parked] = await world.queueUp(() => lockThere.acquireRead());
      for (const reader of readers) {
        expect(await staysOpen(Promise.race([upgrade, parked]), 50)).toBe(true);
        expect([lock.currentMode(), reader.isHeld]).toEqual(['upgradeable', true]);
        await reader.release();
      }
      await within(10_000, 'the upgrade', upgrade);
      expect(lock.currentMode()).toBe('write');
      expect(await staysOpen(parked, 50)).toBe(true);
      await lock.release();
      const next = await within(10_000, 'the parked reader', parked);
      expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    });

    it('jumps the queue of waiting writers', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { lockHere, lockThere } = world;
      const lock = await lockHere.acquireUpgradeableRead();
      const reader = await lockThere.acquireRead();
      const [writing] = await world.queueUp(() => lockThere.acquireWrite());
      const upgrade = later(lock.upgrade());
      await world.untilUpgrading();
      await reader.release();
      await within(10_000, 'the upgrade', upgrade);
      expect(await staysOpen(writing, 50)).toBe(true);
      await lock.release();
      const writer = await within(10_000, 'the writer', writing);
      expect(writer.fencingToken).toBeGreaterThan(lock.fencingToken);
    });

    it('by tryUpgrade is granted even if writers wait', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { lockHere, lockThere } = world;
      const lock = await lockHere.acquireUpgradeableRead();
      const [writing] = await world.queueUp(() => lockThere.acquireWrite());
      expect(await lock.tryUpgrade()).toBe(true);
      expect(await staysOpen(writing, 50)).toBe(true);
      await lock.release();
      expect((await within(10_000, 'the writer', writing)).isHeld).toBe(true);
    });
  });

  describe.concurrent('an upgrade that fails', () => {
    it.each(FAILURES)('%s leaves the hold upgradeable, and no longer keeps readers out', async (_, fail) => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { lockHere, lockThere } = world;
      const reader = await lockThere.acquireRead();
      const lock = await lockHere.acquireUpgradeableRead();
      const { fencingToken: before, signal } = lock;
      const failing = fail(world, lock);
      await world.untilUpgrading();
      // In a process without a hold: one that keeps a read shares it until it has heard of the upgrade.
      const parked = later(world.open(world.provider()).acquireRead());
      await failing;
      expect((await within(10_000, 'the parked reader', parked)).isHeld).toBe(true);
      expect([lock.currentMode(), lock.fencingToken, lock.isHeld]).toEqual(['upgradeable', before, true]);
      expect([lock.signal, signal.aborted]).toEqual([signal, false]);
      await lock.confirm();
      // The upgrade can be requested again.
      const upgrade = later(lock.upgrade());
      await world.untilUpgrading();
      await reader.release();
      await (await parked).release();
      await within(10_000, 'the next upgrade', upgrade);
      expect(lock.currentMode()).toBe('write');
    });

    it('does not let a reader pass the writer that waits ahead of it', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { lockHere, lockThere } = world;
      const reader = await lockThere.acquireRead();
      const lock = await lockHere.acquireUpgradeableRead();
      const [writing, reading] = await world.queueUp(
        () => lockThere.acquireWrite(),
        () => lockThere.acquireRead(),
      );
      expect(await lock.tryUpgrade({ timeoutMs: 50 })).toBe(false);
      expect(await staysOpen(Promise.race([writing, reading]), 50)).toBe(true);
      await reader.release();
      await lock.release();
      await (await within(10_000, 'the writer', writing)).release();
      expect((await within(10_000, 'the reader', reading)).isHeld).toBe(true);
    });

    it('names the readers in its way, and has no place in the queue', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const reader = await world.lockThere.acquireRead({ why: 'a report' });
      const lock = await world.lockHere.acquireUpgradeableRead();
      let givenMs = 0;
      const error = await answeredTimeout(
        (timeoutMs) => lock.upgrade({ timeoutMs: (givenMs = timeoutMs) }),
        toldOfHolders,
      );
      expect(error).toMatchObject({
        lockName: world.name,
        place: null,
        holders: [{ id: reader.id, mode: 'read', why: 'a report' }],
      });
      expect(error.message).toContain('a report');
      expect(error.waitedMs).toBeGreaterThanOrEqual(givenMs - 1);
    });

    it('rejects with the reason of a signal that was aborted before the call, and sends nothing', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const lock = await world.lockHere.acquireUpgradeableRead();
      const sent = world.hereClient.commands.length;
      const signal = AbortSignal.abort(new Error('aborted before'));
      expect(await rejection(lock.upgrade({ signal }))).toBe(signal.reason);
      expect(await rejection(lock.tryUpgrade({ signal }))).toBe(signal.reason);
      expect(world.hereClient.commands).toHaveLength(sent);
      expect(await lock.tryUpgrade()).toBe(true);
    });
  });

  describe.concurrent('an upgraded hold', () => {
    it('is extended like any other: after two leases no other request is granted, and no loss is reported', async () => {
      await using world = await ReaderWriterWorld.opened(subject, { leaseMs: 6_000, extendEveryMs: 200 });
      const lock = await world.lockHere.acquireUpgradeableRead();
      const { signal } = lock;
      const reader = await world.lockThere.acquireRead();
      const upgrade = later(lock.upgrade());
      await world.untilUpgrading();
      await reader.release();
      await within(10_000, 'the upgrade', upgrade);
      const [reading] = await world.queueUp(() => world.lockThere.acquireRead());
      expect(await staysOpen(reading, 12_000)).toBe(true);
      expect([lock.isHeld, signal.aborted]).toEqual([true, false]);
      await lock.release();
      expect((await within(10_000, 'the reader', reading)).isHeld).toBe(true);
    });

    it('reports a loss by the signal that it had before', async () => {
      await using world = await ReaderWriterWorld.opened(subject, { leaseMs: 6_000, extendEveryMs: 300 });
      const lock = await world.lockHere.acquireUpgradeableRead();
      const { signal } = lock;
      await lock.upgrade();
      expect(await staysOpen(once(signal, 'abort'), 1_000)).toBe(true);
      await world.destroyDocuments([world.name]);
      await eventually('the loss', () => signal.aborted, 10_000);
      expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', why: 'document-missing' });
      expect(lock.isHeld).toBe(false);
    });
  });
}
