import { describe, expect, it } from 'vitest';

import type { LockHandle } from '../../../../src/index.js';
import { staysOpen, within } from '../../../../lab/patience.js';
import type { OwnSubject } from '../two-providers.js';
import { ReaderWriterWorld } from '../reader-writer-world.js';
import { expectNobodyStarves } from '../steady-load.js';

/** Expects that one update granted all of these: their tokens are consecutive. */
function expectTogether(holds: readonly LockHandle[]): void {
  const tokens = holds.map(({ fencingToken }) => fencingToken);
  const [first = NaN] = tokens;
  expect(tokens).toEqual(tokens.map((_, index) => first + index));
}

/** The order of the queue. */
export function takingTurns(subject: OwnSubject): void {
  describe.concurrent('the queue', () => {
    it('admits all readers before the first writer by one update, in their order (L3)', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { lockHere, lockThere } = world;
      const first = await lockHere.acquireWrite();
      const [one, upgradeable, two, writing, three, four] = await world.queueUp(
        () => lockHere.acquireRead(),
        () => lockThere.acquireUpgradeableRead(),
        () => lockThere.acquireRead(),
        () => lockHere.acquireWrite(),
        () => lockThere.acquireRead(),
        () => lockHere.acquireRead(),
      );
      await first.release();
      const batch = await within(10_000, 'the first batch', Promise.all([one, upgradeable, two]));
      expectTogether(batch);
      const snapshot = await lockThere.inspect();
      expect(snapshot?.holders.map(({ id }) => id)).toEqual(batch.map(({ id }) => id));
      expect(new Set(snapshot?.holders.map(({ acquiredAt }) => acquiredAt.getTime())).size).toBe(1);
      expect(snapshot?.waiters.map(({ mode }) => mode)).toEqual(['write', 'read', 'read']);
      expect(await staysOpen(Promise.race([writing, three, four]), 50)).toBe(true);

      for (const hold of batch) await hold.release();
      const writer = await within(10_000, 'the writer', writing);
      expect(await staysOpen(Promise.race([three, four]), 50)).toBe(true);
      await writer.release();
      expectTogether(await within(10_000, 'the second batch', Promise.all([three, four])));
    });

    it('holds a second upgradeable reader, and those behind it, back until the first has left', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { lockHere, lockThere } = world;
      const writer = await lockHere.acquireWrite();
      const [upgradeable, reader, second, behind] = await world.queueUp(
        () => lockThere.acquireUpgradeableRead(),
        () => lockHere.acquireRead(),
        () => lockHere.acquireUpgradeableRead(),
        () => lockThere.acquireRead(),
      );
      await writer.release();
      const batch = await within(10_000, 'the first batch', Promise.all([upgradeable, reader]));
      expectTogether(batch);
      expect(await staysOpen(Promise.race([second, behind]), 50)).toBe(true);
      await batch[0].release();
      expectTogether(await within(10_000, 'the second batch', Promise.all([second, behind])));
      expect(batch[1].isHeld).toBe(true);
    });

    it('serves writers one at a time, between the readers', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { lockHere, lockThere } = world;
      const served: string[] = [];
      const first = await lockHere.acquireWrite();
      const turn = (what: string) => (): number => served.push(what);
      const waits = await world.queueUp(
        () => lockThere.useWrite(turn('writer 1')),
        () => lockHere.useWrite(turn('writer 2')),
        () => lockThere.useRead(turn('reader 1')),
        () => lockHere.useWrite(turn('writer 3')),
        () => lockThere.useRead(turn('reader 2')),
      );
      await first.release();
      await within(20_000, 'all waiters are served', Promise.all(waits));
      expect(served).toEqual(['writer 1', 'writer 2', 'reader 1', 'writer 3', 'reader 2']);
    });
  });

  describe('under a load that never ends', () => {
    const quick = { pollMs: { min: 5, max: 30 } };

    it('readers that always overlap do not delay a writer beyond those ahead of it', async () => {
      await using world = await ReaderWriterWorld.opened(subject, quick);
      await expectNobodyStarves(world, {
        load: (locks) => world.open(locks).acquireRead(),
        probe: (locks) => world.open(locks).acquireWrite(),
      });
    });

    it('writers that always wait do not delay a reader beyond those ahead of it', async () => {
      await using world = await ReaderWriterWorld.opened(subject, quick);
      await expectNobodyStarves(world, {
        load: (locks) => world.open(locks).acquireWrite(),
        probe: (locks) => world.open(locks).acquireRead(),
      });
    });

    it('a mixture of readers and writers does not delay an upgradeable reader beyond those ahead of it', async () => {
      await using world = await ReaderWriterWorld.opened(subject, quick);
      let calls = 0;
      await expectNobodyStarves(world, {
        load: (locks) => {
          const lock = world.open(locks);
          calls += 1;
          if (calls % 3 === 0) return lock.acquireUpgradeableRead();
          return calls % 3 === 1 ? lock.acquireRead() : lock.acquireWrite();
        },
        probe: (locks) => world.open(locks).acquireUpgradeableRead(),
      });
    });
  });
}
