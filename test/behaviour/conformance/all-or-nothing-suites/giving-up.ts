import { describe, expect, it } from 'vitest';

import { AcquireTimeoutError, LockKindMismatchError, ProviderClosedError } from '../../../../src/index.js';
import type { CompositeHandle, LockRequest } from '../../../../src/index.js';
import { eventually, later, nowMs, rejection, within } from '../../../../lab/patience.js';
import { answeredTimeout } from '../../../support/answered-timeout.js';
import { isSimulated } from '../../../support/on-servers.js';
import type { OwnSubject } from '../two-providers.js';
import { AllOrNothingWorld, mutexes } from '../all-or-nothing-world.js';

/**
 * A request waits for its releases for a second at most, which may be too short on a busy machine. In memory, where time is
 * virtual, all of them are told before the request ends.
 */
async function untilTold(events: readonly string[], count: number): Promise<void> {
  if (!isSimulated) await eventually('all events', () => events.length >= count);
}

/** Requests for several locks that acquire none of them. */
export function givingUp({ wakeups }: OwnSubject): void {
  /** Starts to acquire these by the first provider, and resolves when it waits for the busy one. */
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

  describe.concurrent('when one of several locks is not granted in time', () => {
    it('the others are released before the error, once each', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const busy = await world.there.acquireMutex('c');
      const events = world.listen();
      const requests = mutexes(world.here, ['b', 'd', 'c', 'a']);
      const error = await answeredTimeout((timeoutMs) => {
        events.length = 0;
        return world.here.acquireAll(requests, { timeoutMs });
      });
      await untilTold(events, 7);
      expect(events.slice(0, 3)).toEqual(['acquired a', 'acquired b', 'acquired d']);
      const timedOutAt = events.indexOf('timeout c');
      expect(events.slice(timedOutAt + 1)).toEqual(expect.arrayContaining(['released a', 'released b']));
      expect(events.slice(3).sort()).toEqual(['released a', 'released b', 'released d', 'timeout c']);
      expect(error).toBeInstanceOf(AcquireTimeoutError);
      expect(await world.freeOf('a', 'b', 'c', 'd')).toEqual(['a', 'b', 'd']);
      expect(events).toHaveLength(7);
      expect(busy.isHeld).toBe(true);
    });

    it('a try releases what it has acquired once, before it returns null', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const busy = await world.there.acquireMutex('b');
      const events = world.listen();
      expect(await world.here.tryAcquireAll(mutexes(world.here, ['a', 'b']))).toBeNull();
      await untilTold(events, 2);
      expect(events).toEqual(['acquired a', 'released a']);
      expect(await world.freeOf('a')).toEqual(['a']);
      expect(busy.isHeld).toBe(true);
    });

    it('the error names that lock and its holder', async () => {
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

    it('each lock is waited for in the time that is left, and all of them no longer than the timeout', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const [a, b] = [await world.there.acquireMutex('a'), await world.there.acquireMutex('b')];
      const timeoutMs = 12_000;
      const startedMs = nowMs();
      const taking = later(world.here.acquireAll(mutexes(world.here, ['a', 'b']), { timeoutMs }));
      await world.untilWaitingIn('a', 1);
      const releasedMs = await eventually('half of the time is over', () => {
        const passedMs = nowMs() - startedMs;
        return passedMs > timeoutMs / 2 && passedMs;
      });
      await a.release();
      const error = await rejection(within(60_000, 'the timeout', taking));
      const tookMs = nowMs() - startedMs;
      expect(error).toMatchObject({ code: 'ACQUIRE_TIMEOUT', lockName: 'b' });
      expect((error as AcquireTimeoutError).waitedMs).toBeLessThan(timeoutMs - releasedMs + 4_000);
      expect(tookMs).toBeGreaterThanOrEqual(timeoutMs - 1);
      // If the time were not shared, the second wait alone would take the whole timeout.
      expect(tookMs).toBeLessThan(timeoutMs + 4_000);
      expect(b.isHeld).toBe(true);
    });
  });

  describe.concurrent('when the request for several locks ends otherwise', () => {
    it('an abort releases everything, and its reason is the rejection', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const busy = await world.there.acquireMutex('b');
      const events = world.listen();
      const controller = new AbortController();
      const { taking } = await stuckAt(world, 'b', ['a', 'b'], controller.signal);
      controller.abort(new Error('not wanted any more'));
      expect(await rejection(within(10_000, 'the abort', taking))).toBe(controller.signal.reason);
      await untilTold(events, 2);
      expect(events).toEqual(['acquired a', 'released a']);
      expect(await world.freeOf('a')).toEqual(['a']);
      await world.untilWaitingIn('b', 0);
      expect(busy.isHeld).toBe(true);
    });

    it('an abort before the call rejects it before anything is sent', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const signal = AbortSignal.abort(new Error('aborted before'));
      const requests = mutexes(world.here, ['a', 'b']);
      expect(await rejection(world.here.acquireAll(requests, { signal }))).toBe(signal.reason);
      expect(await rejection(world.here.tryAcquireAll(requests, { signal }))).toBe(signal.reason);
      expect(world.hereClient.commands).toEqual([]);
    });

    it('an abort after the grant changes nothing', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const controller = new AbortController();
      const hold = await world.here.acquireAll(mutexes(world.here, ['a', 'b']), {
        signal: controller.signal,
      });
      controller.abort();
      await hold.confirm();
      expect([hold.isHeld, hold.signal.aborted]).toEqual([true, false]);
    });

    it('a lock in use as another kind is an error, after everything was released', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const permit = await world.there.createSemaphore('b', 2).acquire();
      const events = world.listen();
      const error = await rejection(world.takeHere('a', 'b'));
      expect(error).toBeInstanceOf(LockKindMismatchError);
      expect(error).toMatchObject({ lockName: 'b', expected: 'mutex', actual: 'semaphore' });
      await untilTold(events, 2);
      expect(events).toEqual(['acquired a', 'released a']);
      expect(await world.freeOf('a')).toEqual(['a']);
      expect(permit.isHeld).toBe(true);
    });

    it('the close of the provider rejects it, and nothing stays held', async () => {
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

  describe.concurrent('when one of several locks is lost while another is waited for', () => {
    it('it is acquired again in the time that is left, and all returned handles are held', async () => {
      await using world = new AllOrNothingWorld(wakeups, { leaseMs: 6_000, extendEveryMs: 200 });
      const busy = await world.there.acquireMutex('b');
      const events = world.listen();
      const { taking } = await stuckAt(world, 'b', ['a', 'b']);
      await world.destroyDocuments(['a']);
      await eventually(
        'the lost lock is acquired again',
        () => events.filter((each) => each === 'acquired a').length === 2,
      );
      expect(events.slice(0, 2)).toEqual(['acquired a', 'lost a']);
      await busy.release();
      const hold = await within(10_000, 'both', taking);
      expect(hold.handles.map(({ isHeld }) => isHeld)).toEqual([true, true]);
      await hold.confirm();
    });

    it('the timeout does not begin anew: the lock acquired again is released when the time is up', async () => {
      await using world = new AllOrNothingWorld(wakeups, { leaseMs: 6_000, extendEveryMs: 200 });
      const busy = await world.there.acquireMutex('b');
      const events = world.listen();
      const timeoutMs = 16_000;
      const startedMs = nowMs();
      const taking = later(world.here.acquireAll(mutexes(world.here, ['a', 'b']), { timeoutMs }));
      await world.untilWaitingIn('b', 1);
      await eventually('some of the time is over', () => nowMs() - startedMs > timeoutMs / 2);
      await world.destroyDocuments(['a']);
      const error = await rejection(within(60_000, 'the timeout', taking));
      expect(error).toBeInstanceOf(AcquireTimeoutError);
      expect(nowMs() - startedMs).toBeLessThan(timeoutMs * 1.5);
      expect(events).toEqual(['acquired a', 'lost a', 'acquired a', 'timeout b', 'released a']);
      expect(await world.freeOf('a')).toEqual(['a']);
      expect(busy.isHeld).toBe(true);
    });
  });
}
