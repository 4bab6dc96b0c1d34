import { describe, expect, it } from 'vitest';

import type { LockHandle } from '../../../../src/index.js';
import { rejection, staysOpen, within } from '../../../../lab/patience.js';
import { answeredTimeout } from '../../../support/answered-timeout.js';
import type { OwnSubject } from '../two-providers.js';
import { ReaderWriterWorld } from '../reader-writer-world.js';

/** Which holds can share the lock. */
export function sharing(subject: OwnSubject): void {
  describe.concurrent('readers and writers', () => {
    it('two readers hold the lock at once, and a writer holds it alone after both have left', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { lockHere, lockThere } = world;
      const first = await lockHere.acquireRead();
      const second = await lockThere.acquireRead();
      expect([first.isHeld, second.isHeld]).toEqual([true, true]);
      expect(await lockThere.tryAcquireWrite()).toBeNull();
      const [writing] = await world.queueUp(() => lockThere.acquireWrite());
      await first.release();
      expect(await staysOpen(writing, 100)).toBe(true);
      await second.release();
      const writer = await within(10_000, 'the writer', writing);
      expect(writer.currentMode()).toBe('write');
      await world.expectOpen();
      expect(await writer.release()).toBe(true);
      await world.expectOpen('Read', 'UpgradeableRead', 'Write');
    });

    it('a reader that comes while a writer waits is granted after the writer', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { lockHere, lockThere } = world;
      const reader = await lockHere.acquireRead();
      const [writing] = await world.queueUp(() => lockThere.acquireWrite());
      await world.expectOpen();
      const [reading] = await world.queueUp(() => lockHere.acquireRead());
      await reader.release();
      const writer = await within(15_000, 'the writer', writing);
      expect(await staysOpen(reading, 50)).toBe(true);
      await writer.release();
      const next = await within(10_000, 'the reader', reading);
      expect(next.fencingToken).toBeGreaterThan(writer.fencingToken);
    });

    it('an upgradeable reader shares the lock with readers, but not with a writer or another upgradeable one', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { lockHere, lockThere } = world;
      const reader = await lockHere.acquireRead();
      const upgradeable = await lockThere.tryAcquireUpgradeableRead();
      expect(upgradeable?.currentMode()).toBe('upgradeable');
      const another = await lockHere.tryAcquireRead();
      expect(another?.isHeld).toBe(true);
      await world.expectOpen('Read');
      for (const hold of [reader, upgradeable, another]) expect(await hold?.release()).toBe(true);
      await world.expectOpen('Read', 'UpgradeableRead', 'Write');
    });

    it('every lease has a token of its own, in the order of the grants, whatever its mode (S3)', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { name, lockHere, lockThere } = world;
      const holds: LockHandle[] = [
        await lockHere.acquireRead(),
        await lockThere.acquireUpgradeableRead(),
        await lockThere.acquireRead(),
      ];
      const another = await lockHere.acquireRead();
      // Its process may keep its read, which is then the lease of both its readers.
      if (world.sharesReads)
        expect([another.id, another.fencingToken]).toEqual([holds[0]?.id, holds[0]?.fencingToken]);
      else holds.push(another);
      const snapshot = await lockThere.inspect();
      expect(snapshot).toMatchObject({ name, kind: 'reader-writer', waiters: [] });
      const modes = ['read', 'upgradeable', 'read', 'read'];
      expect(snapshot?.holders).toMatchObject(
        holds.map(({ id, fencingToken }, index) => ({ id, token: fencingToken, mode: modes[index] })),
      );
      for (const hold of [...holds, another]) await hold.release();
      const writer = await lockThere.acquireWrite();
      expect((await lockHere.inspect())?.holders).toMatchObject([
        { id: writer.id, mode: 'write', token: writer.fencingToken },
      ]);
      const tokens = [...holds, writer].map(({ fencingToken }) => fencingToken);
      expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    });

    it('a wait that times out names the holders and their modes', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { lockHere, lockThere } = world;
      const reader = await lockHere.acquireRead({ why: 'a report' });
      const upgradeable = await lockHere.acquireUpgradeableRead();
      const error = await answeredTimeout((timeoutMs) => lockThere.acquireWrite({ timeoutMs }));
      const process = world.here.processId;
      expect(error.holders).toMatchObject([
        { id: reader.id, mode: 'read', why: 'a report', process },
        { id: upgradeable.id, mode: 'upgradeable', process },
      ]);
      await world.expectOpen('Read');
    });

    it('a waiting writer that is aborted no longer keeps the readers behind it out', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { lockHere, lockThere } = world;
      const reader = await lockHere.acquireRead();
      const controller = new AbortController();
      const [writing, reading] = await world.queueUp(
        () => lockThere.acquireWrite({ signal: controller.signal }),
        () => lockHere.acquireRead(),
      );
      controller.abort();
      expect(await rejection(writing)).toBe(controller.signal.reason);
      const next = await within(10_000, 'the reader behind it', reading);
      expect([next.isHeld, reader.isHeld]).toEqual([true, true]);
    });

    it('a hundred readers hold the lock at once, and a writer after the last one has left', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { lockHere, lockThere } = world;
      const readers = await Promise.all(
        Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? lockHere : lockThere).acquireRead()),
      );
      expect(readers.every(({ isHeld }) => isHeld)).toBe(true);
      const inOrder = (await lockThere.inspect())?.holders.map(({ token }) => token) ?? [];
      expect(inOrder).toEqual([...inOrder].sort((a, b) => a - b));
      expect(new Set(inOrder)).toEqual(new Set(readers.map(({ fencingToken }) => fencingToken)));
      const [writing] = await world.queueUp(() => lockThere.acquireWrite());
      const last = readers.pop();
      expect(await Promise.all(readers.map((reader) => reader.release()))).not.toContain(false);
      expect(await staysOpen(writing, 50)).toBe(true);
      await last?.confirm();
      expect(await last?.release()).toBe(true);
      expect((await within(10_000, 'the writer', writing)).isHeld).toBe(true);
    });
  });
}
