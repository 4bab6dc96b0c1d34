import { describe, expect, it } from 'vitest';

import { AcquireTimeoutError, LockKindMismatchError, ProviderClosedError } from '../../../../src/index.js';
import type { CompositeHandle, LockRequest } from '../../../../src/index.js';
import { answeredTimeout, eventually, later, rejection, within } from '../../../../lab/patience.js';
import type { ModeOfWaiting } from '../adapters.js';
import { AllOrNothingWorld, mutexes } from '../all-or-nothing-world.js';

/** None of several locks. */
export function givingUp(wakeups: ModeOfWaiting): void {
  /** Starts to take these for the first provider, and waits until it is stuck at the one that another has. */
  async function stuckAt(
    world: AllOrNothingWorld,
    busy: string,
    names: readonly string[],
    signal?: AbortSignal,
  ): Promise<{ readonly taking: Promise<CompositeHandle<readonly LockRequest[]>> }> {
    const taking = later(world.here.acquireAll(mutexes(world.here, names), { signal }));
    await world.untilWaitingIn(busy, 1);
    return { taking };
  }

  describe.concurrent('when one is not granted in time', () => {
    it('everything is given back before the error, once each', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const busy = await world.there.acquireMutex('c');
      const told = world.listen();
      const requests = mutexes(world.here, ['b', 'd', 'c', 'a']);
      const error = await answeredTimeout((timeoutMs) => {
        told.length = 0;
        return world.here.acquireAll(requests, { timeoutMs });
      });
      expect(told.slice(0, 3)).toEqual(['acquired a', 'acquired b', 'timeout c']);
      expect(told.slice(3).sort()).toEqual(['released a', 'released b']);
      expect(error).toBeInstanceOf(AcquireTimeoutError);
      expect(await world.freeOf('a', 'b', 'c', 'd')).toEqual(['a', 'b', 'd']);
      expect(told).toHaveLength(5);
      expect(busy.isHeld).toBe(true);
    });

    it('a try gives back what it had, once, before it says no', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const busy = await world.there.acquireMutex('b');
      const told = world.listen();
      expect(await world.here.tryAcquireAll(mutexes(world.here, ['a', 'b']))).toBeNull();
      expect(told).toEqual(['acquired a', 'released a']);
      expect(await world.freeOf('a')).toEqual(['a']);
      expect(busy.isHeld).toBe(true);
    });

    it('the error names the lock that was not granted, and who has it', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const busy = await world.there.acquireMutex('b', { why: 'the other work' });
      const requests = mutexes(world.here, ['a', 'b']);
      const error = await answeredTimeout((timeoutMs) => world.here.acquireAll(requests, { timeoutMs }));
      expect(error).toMatchObject({
        code: 'ACQUIRE_TIMEOUT',
        lockName: 'b',
        place: 0,
        holders: [{ id: busy.id, why: 'the other work' }],
      });
      expect(error.message).toContain('the other work');
    });

    it('each has what is left of the time, and the whole no more than was given', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const [a, b] = [await world.there.acquireMutex('a'), await world.there.acquireMutex('b')];
      const timeoutMs = 4_000;
      const startedMs = performance.now();
      const taking = later(world.here.acquireAll(mutexes(world.here, ['a', 'b']), { timeoutMs }));
      await world.untilWaitingIn('a', 1);
      const releasedMs = await eventually('half of the time is over', () => {
        const passedMs = performance.now() - startedMs;
        return passedMs > timeoutMs / 2 && passedMs;
      });
      await a.release();
      const error = await rejection(within(10_000, 'the timeout', taking));
      const tookMs = performance.now() - startedMs;
      expect(error).toMatchObject({ code: 'ACQUIRE_TIMEOUT', lockName: 'b' });
      expect((error as AcquireTimeoutError).waitedMs).toBeLessThan(timeoutMs - releasedMs + 1_000);
      expect(tookMs).toBeGreaterThanOrEqual(timeoutMs - 1);
      // Were the time not shared, the second wait alone would take as long as this.
      expect(tookMs).toBeLessThan(releasedMs + timeoutMs);
      expect(b.isHeld).toBe(true);
    });
  });

  describe.concurrent('when the wait ends otherwise', () => {
    it('an abort gives everything back, and is the reason', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const busy = await world.there.acquireMutex('b');
      const told = world.listen();
      const controller = new AbortController();
      const { taking } = await stuckAt(world, 'b', ['a', 'b'], controller.signal);
      controller.abort(new Error('not wanted any more'));
      expect(await rejection(within(10_000, 'the abort', taking))).toBe(controller.signal.reason);
      expect(told).toEqual(['acquired a', 'released a']);
      expect(await world.freeOf('a')).toEqual(['a']);
      await world.untilWaitingIn('b', 0);
      expect(busy.isHeld).toBe(true);
    });

    it('a signal that is aborted already keeps everything from being sent', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const signal = AbortSignal.abort(new Error('aborted before'));
      const requests = mutexes(world.here, ['a', 'b']);
      expect(await rejection(world.here.acquireAll(requests, { signal }))).toBe(signal.reason);
      expect(await rejection(world.here.tryAcquireAll(requests, { signal }))).toBe(signal.reason);
      expect(world.hereClient.commands).toEqual([]);
    });

    it('an abort after the grant does nothing', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const controller = new AbortController();
      const hold = await world.here.acquireAll(mutexes(world.here, ['a', 'b']), {
        signal: controller.signal,
      });
      controller.abort();
      await hold.confirm();
      expect([hold.isHeld, hold.signal.aborted]).toEqual([true, false]);
    });

    it('a lock that is in use as another kind is an error, after everything has been given back', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const permit = await world.there.createSemaphore('b', 2).acquire();
      const told = world.listen();
      const error = await rejection(world.takeHere('a', 'b'));
      expect(error).toBeInstanceOf(LockKindMismatchError);
      expect(error).toMatchObject({ lockName: 'b', expected: 'mutex', actual: 'semaphore' });
      expect(told).toEqual(['acquired a', 'released a']);
      expect(await world.freeOf('a')).toEqual(['a']);
      expect(permit.isHeld).toBe(true);
    });

    it('the close of the provider ends it, and nothing stays taken', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const busy = await world.there.acquireMutex('b');
      const { taking } = await stuckAt(world, 'b', ['a', 'b']);
      const closing = world.here.close({ drainMs: 60_000 });
      expect(await rejection(taking)).toBeInstanceOf(ProviderClosedError);
      await within(10_000, 'the close', closing);
      expect(await world.freeOf('a')).toEqual(['a']);
      expect(await rejection(world.here.acquireAll(mutexes(world.here, ['a'])))).toBeInstanceOf(
        ProviderClosedError,
      );
      expect(busy.isHeld).toBe(true);
    });
  });

  describe.concurrent('when one is lost while others are waited for', () => {
    it('it is taken again while there is time, and what is returned is held', async () => {
      await using world = new AllOrNothingWorld(wakeups, { leaseMs: 6_000, extendEveryMs: 200 });
      const busy = await world.there.acquireMutex('b');
      const told = world.listen();
      const { taking } = await stuckAt(world, 'b', ['a', 'b']);
      await world.destroyDocuments(['a']);
      await eventually('it is taken again', () => told.filter((each) => each === 'acquired a').length === 2);
      expect(told.slice(0, 2)).toEqual(['acquired a', 'lost a']);
      await busy.release();
      const hold = await within(10_000, 'both', taking);
      expect(hold.handles.map(({ isHeld }) => isHeld)).toEqual([true, true]);
      await hold.confirm();
    });

    it('it does not begin the time anew: what is taken again is given back when the time is up', async () => {
      await using world = new AllOrNothingWorld(wakeups, { leaseMs: 6_000, extendEveryMs: 200 });
      const busy = await world.there.acquireMutex('b');
      const told = world.listen();
      const timeoutMs = 8_000;
      const startedMs = performance.now();
      const taking = later(world.here.acquireAll(mutexes(world.here, ['a', 'b']), { timeoutMs }));
      await world.untilWaitingIn('b', 1);
      await eventually('some of the time is over', () => performance.now() - startedMs > timeoutMs / 2);
      await world.destroyDocuments(['a']);
      const error = await rejection(within(20_000, 'the timeout', taking));
      expect(error).toBeInstanceOf(AcquireTimeoutError);
      expect(performance.now() - startedMs).toBeLessThan(timeoutMs * 1.5);
      expect(told).toEqual(['acquired a', 'lost a', 'acquired a', 'timeout b', 'released a']);
      expect(await world.freeOf('a')).toEqual(['a']);
      expect(busy.isHeld).toBe(true);
    });
  });
}
