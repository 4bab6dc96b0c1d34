import { describe, expect, it } from 'vitest';

import type {
  AcquireOptions,
  LockHandle,
  ReaderWriterHandle,
  ReaderWriterLock,
} from '../../../../src/index.js';
import { AcquireTimeoutError, DeadlockError, LockLostError } from '../../../../src/index.js';
import { later, rejection, staysOpen, within } from '../../../../lab/patience.js';
import type { OwnSubject } from '../two-providers.js';
import { ReaderWriterWorld } from '../reader-writer-world.js';
import type { Way } from '../reader-writer-world.js';

type Work = (lock: LockHandle | ReaderWriterHandle) => unknown;
type Use = (lock: ReaderWriterLock, work: Work, options?: AcquireOptions) => Promise<unknown>;

const useRead: Use = (lock, work, options) => lock.useRead(work, options);
const useWrite: Use = (lock, work, options) => lock.useWrite(work, options);
const useUpgradeableRead: Use = (lock, work, options) => lock.useUpgradeableRead(work, options);

/** Each way to use the lock, and the tries that are granted meanwhile. */
const USES: readonly (readonly [string, Use, readonly Way[]])[] = [
  ['useRead', useRead, ['Read', 'UpgradeableRead']],
  ['useUpgradeableRead', useUpgradeableRead, ['Read']],
  ['useWrite', useWrite, []],
];

/** Work under the lock, and requests inside such work. */
export function using(subject: OwnSubject): void {
  describe.concurrent.each(USES)('%s', (_, use, openBeside) => {
    it('holds the lock in its mode while the work runs, returns its result, and releases', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const result = await use(world.lockHere, async (lock) => {
        expect(lock.isHeld).toBe(true);
        await world.expectOpen(...openBeside);
        return 42;
      });
      expect(result).toBe(42);
      await world.expectOpen('Read', 'UpgradeableRead', 'Write');
    });

    it('releases if the work fails, and rejects with its error', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const failure = new Error('the work failed');
      const failed = use(world.lockHere, () => Promise.reject(failure));
      expect(await rejection(failed)).toBe(failure);
      await world.expectOpen('Read', 'UpgradeableRead', 'Write');
    });

    it('rejects with the loss if the lock was lost before the work ended', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const work = use(world.lockHere, async (lock) => {
        await world.destroyDocuments([world.name]);
        expect(await rejection(lock.confirm())).toBeInstanceOf(LockLostError);
      });
      expect(await rejection(work)).toMatchObject({ code: 'LOCK_LOST', why: 'document-missing' });
    });
  });

  describe.concurrent('inside the work of the same chain of calls', () => {
    it.each(USES)(
      'in %s, a write without a timeout is a deadlock, because only the chain itself could let it in',
      async (_, use) => {
        await using world = await ReaderWriterWorld.opened(subject);
        const { lockHere } = world;
        await use(lockHere, async () => {
          const write = within(10_000, 'an answer', lockHere.acquireWrite());
          expect(await rejection(write)).toBeInstanceOf(DeadlockError);
          expect(await lockHere.tryAcquireWrite()).toBeNull();
          const timed = lockHere.acquireWrite({ timeoutMs: 50 });
          expect(await rejection(timed)).toBeInstanceOf(AcquireTimeoutError);
          const { signal } = new AbortController();
          expect(await rejection(lockHere.useWrite(() => 1, { signal }))).toMatchObject({
            code: 'DEADLOCK',
            lockName: world.name,
          });
        });
        await world.expectOpen('Read', 'UpgradeableRead', 'Write');
      },
    );

    it('a read beside its own read is granted at once, but is a deadlock behind a waiting writer', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { lockHere, lockThere } = world;
      const writing = await lockHere.useRead(async () => {
        await lockHere.useRead((inner) => {
          expect(inner.isHeld).toBe(true);
        });
        const [behind] = await world.queueUp(() => lockThere.acquireWrite());
        await world.expectOpen();
        expect(await rejection(within(10_000, 'an answer', lockHere.acquireRead()))).toBeInstanceOf(
          DeadlockError,
        );
        return { behind };
      });
      expect((await within(10_000, 'the writer', writing.behind)).isHeld).toBe(true);
    });

    it('a request of any mode inside a write is a deadlock', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { lockHere } = world;
      await lockHere.useWrite(async () => {
        const requests = [
          lockHere.acquireRead(),
          lockHere.acquireUpgradeableRead(),
          lockHere.acquireWrite(),
          world.open(world.here).acquireRead(),
        ].map(later);
        for (const request of requests) {
          expect(await rejection(within(10_000, 'an answer', request))).toBeInstanceOf(DeadlockError);
        }
      });
    });

    it('a request by another provider, for another lock or from outside the chain is no deadlock', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const { lockHere, lockThere } = world;
      let leave = (): void => undefined;
      const left = new Promise<void>((resolve) => (leave = resolve));
      const work = later(
        lockHere.useWrite(async () => {
          const elsewhere = later(lockThere.acquireRead());
          await world.here.createReaderWriterLock(world.freshName()).useWrite((other) => {
            expect(other.isHeld).toBe(true);
          });
          await left;
          return { elsewhere };
        }),
      );
      await world.untilWaiting(1);
      const [outside] = await world.queueUp(() => lockHere.acquireRead());
      expect(await staysOpen(outside, 50)).toBe(true);
      leave();
      const { elsewhere } = await work;
      const holds = await within(10_000, 'both readers', Promise.all([elsewhere, outside]));
      expect(holds.map(({ isHeld }) => isHeld)).toEqual([true, true]);
    });
  });
}
