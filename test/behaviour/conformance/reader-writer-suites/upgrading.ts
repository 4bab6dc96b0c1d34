import { once } from 'node:events';

import { describe, expect, it } from 'vitest';

import type { ModeChangedEvent, ReaderWriterHandle } from '../../../../src/index.js';
import {
  answeredTimeout,
  eventually,
  later,
  rejection,
  staysOpen,
  toldOfHolders,
  within,
} from '../../../../lab/patience.js';
import type { ModeOfWaiting } from '../adapters.js';
import { ReaderWriterWorld } from '../reader-writer-world.js';

const LONG_ENOUGH_TO_BE_SEEN_MS = 1_500;

/** An upgrade fails, one way or another; resolves when the caller has been told. */
type Failure = readonly [string, (world: ReaderWriterWorld, lock: ReaderWriterHandle) => Promise<void>];

const FAILURES: readonly Failure[] = [
  [
    'that times out',
    async (_, lock) => {
      expect(await rejection(lock.upgrade({ timeoutMs: LONG_ENOUGH_TO_BE_SEEN_MS }))).toMatchObject({
        code: 'ACQUIRE_TIMEOUT',
      });
    },
  ],
  [
    'that is tried for a while',
    async (_, lock) => {
      expect(await lock.tryUpgrade({ timeoutMs: LONG_ENOUGH_TO_BE_SEEN_MS })).toBe(false);
    },
  ],
  [
    'that is aborted',
    async (world, lock) => {
      const controller = new AbortController();
      const upgrading = later(lock.upgrade({ signal: controller.signal }));
      await world.untilWaiting(1);
      controller.abort(new Error('not wanted any more'));
      expect(await rejection(upgrading)).toBe(controller.signal.reason);
    },
  ],
];

/** From reading to writing without letting go. */
export function upgrading(wakeups: ModeOfWaiting): void {
  describe.concurrent('an upgrade', () => {
    it('is granted at once to whoever reads alone, and then nobody else is in until the release', async () => {
      await using world = new ReaderWriterWorld(wakeups);
      const { lockHere, lockThere } = world;
      const lock = await lockHere.acquireUpgradeableRead();
      await lock.upgrade();
      expect(lock.currentMode()).toBe('write');
      expect(await world.openWays()).toEqual([]);
      const [reading] = await world.queueUp(() => lockThere.acquireRead());
      expect(await staysOpen(reading, 50)).toBe(true);
      await lock[Symbol.asyncDispose]();
      expect((await within(10_000, 'the reader', reading)).isHeld).toBe(true);
    });

    it('keeps handle, id and signal, takes a new, higher token, and is told by an event (S3)', async () => {
      await using world = new ReaderWriterWorld(wakeups);
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

    it('of one try is false while another reads, changes nothing, and is true when it has left', async () => {
      await using world = new ReaderWriterWorld(wakeups);
      const { lockHere, lockThere } = world;
      const lock = await lockHere.acquireUpgradeableRead();
      const reader = await lockThere.acquireRead();
      const before = lock.fencingToken;
      expect(await lock.tryUpgrade()).toBe(false);
      expect([lock.currentMode(), lock.fencingToken, lock.isHeld]).toEqual(['upgradeable', before, true]);
      await lock.confirm();
      // Nor does a try keep anybody out afterwards.
      expect(await world.openWays()).toEqual(['Read', 'Read']);
      await reader.release();
      expect(await lock.tryUpgrade()).toBe(true);
      expect(lock.currentMode()).toBe('write');
      const [reading] = await world.queueUp(() => lockThere.acquireRead());
      await lock.release();
      expect((await within(10_000, 'the reader', reading)).isHeld).toBe(true);
    });

    it('waits for the readers who are in, each of them, and lets nobody else in meanwhile', async () => {
      await using world = new ReaderWriterWorld(wakeups);
      const { lockHere, lockThere } = world;
      const readers = [await lockThere.acquireRead(), await lockHere.acquireRead()];
      const lock = await lockHere.acquireUpgradeableRead();
      const upgrade = later(lock.upgrade());
      await world.untilUpgrading();
      expect(await world.openWays()).toEqual([]);
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

    it('goes before the writers who wait already', async () => {
      await using world = new ReaderWriterWorld(wakeups);
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

    it('is granted by one try of an upgrade though writers wait', async () => {
      await using world = new ReaderWriterWorld(wakeups);
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
    it.each(FAILURES)(
      'one %s leaves the hold upgradeable, and lets in those whom it kept out',
      async (_, fail) => {
        await using world = new ReaderWriterWorld(wakeups);
        const { lockHere, lockThere } = world;
        const reader = await lockThere.acquireRead();
        const lock = await lockHere.acquireUpgradeableRead();
        const { fencingToken: before, signal } = lock;
        const failing = fail(world, lock);
        await world.untilUpgrading();
        const parked = later(lockThere.acquireRead());
        await failing;
        expect((await within(10_000, 'the parked reader', parked)).isHeld).toBe(true);
        expect([lock.currentMode(), lock.fencingToken, lock.isHeld]).toEqual(['upgradeable', before, true]);
        expect([lock.signal, signal.aborted]).toEqual([signal, false]);
        await lock.confirm();
        // And it can be asked for again.
        const upgrade = later(lock.upgrade());
        await world.untilUpgrading();
        await reader.release();
        await (await parked).release();
        await within(10_000, 'the next upgrade', upgrade);
        expect(lock.currentMode()).toBe('write');
      },
    );

    it('does not let a reader pass the writer who waits before it', async () => {
      await using world = new ReaderWriterWorld(wakeups);
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

    it('tells who was in the way, and that nobody queued for it', async () => {
      await using world = new ReaderWriterWorld(wakeups);
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

    it('rejects with the reason of a signal that is aborted already, and sends nothing', async () => {
      await using world = new ReaderWriterWorld(wakeups);
      const lock = await world.lockHere.acquireUpgradeableRead();
      const sent = world.hereClient.commands.length;
      const signal = AbortSignal.abort(new Error('aborted before'));
      expect(await rejection(lock.upgrade({ signal }))).toBe(signal.reason);
      expect(await rejection(lock.tryUpgrade({ signal }))).toBe(signal.reason);
      expect(world.hereClient.commands).toHaveLength(sent);
      expect(await lock.tryUpgrade()).toBe(true);
    });
  });

  describe.concurrent('a hold that was upgraded', () => {
    it('is extended like any other: nobody is in after two leases, and no loss is told', async () => {
      await using world = new ReaderWriterWorld(wakeups, { leaseMs: 4_000, extendEveryMs: 200 });
      const lock = await world.lockHere.acquireUpgradeableRead();
      const { signal } = lock;
      const reader = await world.lockThere.acquireRead();
      const upgrade = later(lock.upgrade());
      await world.untilUpgrading();
      await reader.release();
      await within(10_000, 'the upgrade', upgrade);
      const [reading] = await world.queueUp(() => world.lockThere.acquireRead());
      expect(await staysOpen(reading, 8_000)).toBe(true);
      expect([lock.isHeld, signal.aborted]).toEqual([true, false]);
      await lock.release();
      expect((await within(10_000, 'the reader', reading)).isHeld).toBe(true);
    });

    it('still tells of a loss by the signal that it had before', async () => {
      await using world = new ReaderWriterWorld(wakeups, { leaseMs: 6_000, extendEveryMs: 300 });
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
