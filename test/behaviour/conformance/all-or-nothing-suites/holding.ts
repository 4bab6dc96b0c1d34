import { describe, expect, it } from 'vitest';

import { LockLostError } from '../../../../src/index.js';
import { eventually, nowMs, rejection, within } from '../../../../lab/patience.js';
import type { OwnSubject } from '../two-providers.js';
import { AllOrNothingWorld, mutexes } from '../all-or-nothing-world.js';

/** Several locks as one hold. */
export function holding({ wakeups }: OwnSubject): void {
  describe.concurrent('a composite', () => {
    it.each([0, 1, 2])('is lost when any of its locks is lost: number %i', async (which) => {
      await using world = new AllOrNothingWorld(wakeups, { leaseMs: 6_000, extendEveryMs: 200 });
      const names = ['a', 'b', 'c'];
      const hold = await world.takeHere(...names);
      const { signal } = hold;
      let fired = 0;
      signal.addEventListener('abort', () => (fired += 1));
      await world.destroyDocuments([names[which] ?? '']);
      await eventually('the loss', () => signal.aborted, 10_000);
      expect(signal.reason).toBeInstanceOf(LockLostError);
      expect(signal.reason).toMatchObject({ lockName: names[which], why: 'document-missing' });
      expect([hold.isHeld, hold.remainingMs, fired]).toEqual([false, 0, 1]);
      expect(hold.signal).toBe(signal);
      expect(() => {
        hold.assertHeld();
      }).toThrow(expect.objectContaining({ code: 'LOCK_LOST', lockName: names[which] }));
      expect(await rejection(hold.confirm())).toMatchObject({ code: 'LOCK_LOST', lockName: names[which] });
      // The others are held until they are released.
      expect(hold.handles.map(({ isHeld }) => isHeld)).toEqual(names.map((_, index) => index !== which));
      expect(await world.freeOf(...names)).toEqual([names[which]]);
      expect(await hold.release()).toBe(false);
      expect(await world.freeOf(...names)).toEqual(names);
      expect(fired).toBe(1);
    });

    it('reports a loss that came before its signal was first read', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const hold = await world.takeHere('a', 'b');
      await world.there.revoke('b', { force: true });
      expect(await rejection(hold.confirm())).toMatchObject({ why: 'revoked', lockName: 'b' });
      expect(hold.signal.aborted).toBe(true);
      expect(hold.signal.reason).toMatchObject({ why: 'revoked', lockName: 'b' });
    });

    it('is released once, in the reverse order of its grants, and its signal does not abort', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const events = world.listen();
      const hold = await world.takeHere('c', 'a', 'b');
      const { signal } = hold;
      const released = await Promise.all([hold.release(), hold.release()]);
      await hold[Symbol.asyncDispose]();
      expect([...released, await hold.release()]).toEqual([true, true, true]);
      expect(events.slice(3)).toEqual(['released c', 'released b', 'released a']);
      expect([hold.isHeld, hold.remainingMs, signal.aborted]).toEqual([false, 0, false]);
      expect(hold.signal).toBe(signal);
      expect(() => {
        hold.assertHeld();
      }).toThrow(expect.objectContaining({ code: 'LOCK_LOST', why: 'released' }));
    });

    it('releases the locks that are left if some are lost, and returns false', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const hold = await world.takeHere('a', 'b', 'c');
      await world.destroyDocuments(['b', 'c']);
      expect(await within(10_000, 'the release', hold.release())).toBe(false);
      expect(await world.freeOf('a', 'b', 'c')).toEqual(['a', 'b', 'c']);
    });

    it('is released at the end of an `await using` scope', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      {
        await using hold = await world.takeHere('a', 'b');
        expect(hold.isHeld).toBe(true);
        expect(await world.freeOf('a', 'b')).toEqual([]);
      }
      expect(await world.freeOf('a', 'b')).toEqual(['a', 'b']);
    });

    it('is no longer held once one of its handles is released, which is no loss', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const hold = await world.takeHere('a', 'b');
      const { signal } = hold;
      expect(await hold.handles[0]?.release()).toBe(true);
      expect([hold.isHeld, signal.aborted]).toEqual([false, false]);
      expect(await world.freeOf('a', 'b')).toEqual(['a']);
      expect(await hold.release()).toBe(true);
      expect(await world.freeOf('a', 'b')).toEqual(['a', 'b']);
    });

    it('is asked to release when one of its locks is revoked politely', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const hold = await world.takeHere('a', 'b');
      const { releaseRequested } = hold;
      expect(releaseRequested.aborted).toBe(false);
      expect(await world.there.revoke('b')).toMatchObject({ asked: [hold.handles[1]?.id] });
      await eventually('it is asked to release', async () => {
        await hold.confirm();
        return releaseRequested.aborted;
      });
      expect([hold.releaseRequested, hold.isHeld]).toEqual([releaseRequested, true]);
      expect(await hold.release()).toBe(true);
    });

    it('is extended as a whole when it is confirmed', async () => {
      // No extension comes by itself before the end of the test.
      await using world = new AllOrNothingWorld(wakeups, { leaseMs: 600_000 });
      const hold = await world.takeHere('a', 'b');
      const deadlineMs = (): number => nowMs() + hold.remainingMs;
      const [atFirstMs, usedUpMs] = [deadlineMs(), nowMs() + 1_000];
      await eventually('some of the lease is used up', () => nowMs() > usedUpMs);
      const askedMs = nowMs();
      await hold.confirm();
      // The deadline counts from before the answer: a late one extends by less.
      expect(deadlineMs()).toBeGreaterThan(atFirstMs + 990 - (nowMs() - askedMs));
    });

    it('has the shortest remaining time of its locks', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const [short, long] = [world.here.createMutex('a', { leaseMs: 10_000 }), world.here.createMutex('b')];
      const hold = await world.here.acquireAll([{ mutex: long }, { mutex: short }]);
      const [ofLong, ofShort] = hold.handles.map(({ remainingMs }) => remainingMs);
      expect(ofLong).toBeGreaterThan(20_000);
      expect(hold.remainingMs).toBeGreaterThan(0);
      expect(hold.remainingMs).toBeLessThanOrEqual(ofShort ?? NaN);
    });

    it('can change the modes of its reader-writer locks', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const { mutex, upgradeableRead, write } = world.kindsOf(world.here);
      const hold = await world.here.acquireAll([{ write }, { mutex }, { upgradeableRead }]);
      const [writer, , upgradeable] = hold.handles;
      const { signal } = hold;
      await upgradeable.upgrade();
      await writer.downgrade('read');
      expect([writer.currentMode(), upgradeable.currentMode()]).toEqual(['read', 'write']);
      await hold.confirm();
      expect([hold.isHeld, signal.aborted]).toEqual([true, false]);
      expect(await world.there.createReaderWriterLock('write').tryAcquireRead()).not.toBeNull();
      expect(await hold.release()).toBe(true);
    });

    it('passes the lease and the reason of its request on to each lock', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const options = { why: 'a transfer', leaseMs: 10_000 };
      const hold = await world.here.acquireAll(mutexes(world.here, ['a', 'b']), options);
      for (const name of ['a', 'b']) {
        const holders = (await world.there.inspect(name))?.holders;
        expect(holders).toMatchObject([{ why: 'a transfer', process: world.here.processId }]);
      }
      for (const { remainingMs } of hold.handles) expect(remainingMs).toBeLessThanOrEqual(10_000);
    });
  });
}
