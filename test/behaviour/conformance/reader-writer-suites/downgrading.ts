import { describe, expect, it } from 'vitest';

import type { LockHandle, ModeChangedEvent } from '../../../../src/index.js';
import { staysOpen, within } from '../../../../lab/patience.js';
import type { OwnSubject } from '../two-providers.js';
import { ReaderWriterWorld } from '../reader-writer-world.js';

const tokensOf = (...holds: readonly LockHandle[]): readonly number[] =>
  holds.map(({ fencingToken }) => fencingToken);

/** From a write to a read without a release. */
export function downgrading(subject: OwnSubject): void {
  describe.concurrent('a downgrade', () => {
    it('from write to upgradeable admits the readers up to the next upgradeable one, by the same update', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { lockHere, lockThere } = world;
      const lock = await lockHere.acquireWrite();
      const [one, two, upgradeable, behind] = await world.queueUp(
        () => lockThere.acquireRead(),
        () => lockHere.acquireRead(),
        () => lockThere.acquireUpgradeableRead(),
        () => lockThere.acquireRead(),
      );
      await lock.downgrade('upgradeable');
      const readers = await within(10_000, 'both readers', Promise.all([one, two]));
      const { fencingToken } = lock;
      expect(tokensOf(...readers)).toEqual([fencingToken + 1, fencingToken + 2]);
      expect(await staysOpen(Promise.race([upgradeable, behind]), 50)).toBe(true);
      expect([lock.currentMode(), lock.isHeld]).toEqual(['upgradeable', true]);
      await lock.confirm();
    });

    it('from write to read also admits an upgradeable reader', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { lockHere, lockThere } = world;
      const lock = await lockHere.acquireWrite();
      const [one, upgradeable, two] = await world.queueUp(
        () => lockThere.acquireRead(),
        () => lockHere.acquireUpgradeableRead(),
        () => lockThere.acquireRead(),
      );
      await lock.downgrade('read');
      const readers = await within(10_000, 'all three', Promise.all([one, upgradeable, two]));
      const { fencingToken } = lock;
      expect(tokensOf(...readers)).toEqual([fencingToken + 1, fencingToken + 2, fencingToken + 3]);
      expect(lock.currentMode()).toBe('read');
    });

    it('from upgradeable to read admits the next upgradeable reader and the readers behind it', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { lockHere, lockThere } = world;
      const lock = await lockHere.acquireUpgradeableRead();
      const [upgradeable, reading, writing] = await world.queueUp(
        () => lockThere.acquireUpgradeableRead(),
        () => lockThere.acquireRead(),
        () => lockHere.acquireWrite(),
      );
      await lock.downgrade('read');
      const readers = await within(10_000, 'both', Promise.all([upgradeable, reading]));
      const { fencingToken } = lock;
      expect(tokensOf(...readers)).toEqual([fencingToken + 1, fencingToken + 2]);
      expect(await staysOpen(writing, 50)).toBe(true);
    });

    it('lets no reader pass a waiting writer', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { lockHere, lockThere } = world;
      const lock = await lockHere.acquireWrite();
      const [writing, reading] = await world.queueUp(
        () => lockThere.acquireWrite(),
        () => lockThere.acquireRead(),
      );
      await lock.downgrade('read');
      await world.expectOpen();
      expect(await staysOpen(Promise.race([writing, reading]), 50)).toBe(true);
      await lock.release();
      const writer = await within(10_000, 'the writer', writing);
      expect(await staysOpen(reading, 50)).toBe(true);
      await writer.downgrade('read');
      expect((await within(10_000, 'the reader', reading)).isHeld).toBe(true);
    });

    it('to upgradeable admits no waiting writer: the holder can upgrade again before it', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { lockHere, lockThere } = world;
      const lock = await lockHere.acquireWrite();
      const [writing] = await world.queueUp(() => lockThere.acquireWrite());
      await lock.downgrade('upgradeable');
      expect(await staysOpen(writing, 50)).toBe(true);
      // It is still the only hold that can upgrade, and it does so before the waiting writer.
      await lock.upgrade();
      expect(lock.currentMode()).toBe('write');
      expect(await staysOpen(writing, 50)).toBe(true);
      await lock.release();
      expect((await within(10_000, 'the writer', writing)).isHeld).toBe(true);
    });

    it('keeps handle, id and signal, with a new, higher token and an event for each step (S3)', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { name, lockHere } = world;
      const events: ModeChangedEvent[] = [];
      world.here.on('modeChanged', (event) => events.push(event));
      const lock = await lockHere.acquireWrite();
      const { id, signal } = lock;
      const tokens = [lock.fencingToken];
      for (const to of ['upgradeable', 'read'] as const) {
        await lock.downgrade(to);
        tokens.push(lock.fencingToken);
        expect([lock.currentMode(), lock.id, lock.isHeld]).toEqual([to, id, true]);
        expect(lock.signal).toBe(signal);
        const { fencingToken: token } = lock;
        expect((await lockHere.inspect())?.holders).toMatchObject([{ id, mode: to, token }]);
      }
      expect(signal.aborted).toBe(false);
      expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
      const about = { lockName: name, kind: 'reader-writer', id };
      expect(events).toEqual([
        { ...about, fencingToken: tokens[1], mode: 'upgradeable', previousMode: 'write' },
        { ...about, fencingToken: tokens[2], mode: 'read', previousMode: 'upgradeable' },
      ]);
    });

    it('changes the mode of the handle at the call, before the command is sent (S2)', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const lock = await world.lockHere.acquireWrite();
      const sent = world.hereClient.commands.length;
      const downgrading = lock.downgrade('read');
      expect(lock.currentMode()).toBe('read');
      expect(world.hereClient.commands).toHaveLength(sent);
      await downgrading;
      expect(world.hereClient.commands.length).toBeGreaterThan(sent);
    });

    it('raises the token each time, as do the upgrades in between, while readers come and go', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { lockHere, lockThere } = world;
      const lock = await lockHere.acquireUpgradeableRead();
      const tokens = [lock.fencingToken];
      for (let round = 0; round < 5; round += 1) {
        await lock.upgrade();
        tokens.push(lock.fencingToken);
        const [reading] = await world.queueUp(() => lockThere.acquireRead());
        await lock.downgrade('upgradeable');
        const reader = await within(10_000, 'the reader', reading);
        tokens.push(lock.fencingToken, reader.fencingToken);
        await reader.release();
      }
      expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
      expect(await lock.release()).toBe(true);
    });
  });
}
