import { describe, expect, it } from 'vitest';

import { AcquireTimeoutError } from '../../../../src/index.js';
import type { Hold } from '../../../../src/index.js';
import { later, nowMs, rejection, staysOpen, within } from '../../../../lab/patience.js';
import { answeredTimeout } from '../../../support/answered-timeout.js';
import { LockWorld } from '../lock-world.js';
import type { Subject } from '../lock-world.js';

/** The longest delay of a Node.js timer: a longer one fires at once unless it is cut into slices. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Waits, and each way in which they end. */
export function waiting(subject: Subject): void {
  describe.concurrent('the queue', () => {
    it('gives the lock to the first waiter as soon as it is released', async () => {
      await using world = new LockWorld(subject);
      const name = await world.name();
      const hold = await world.openHere(name).acquire();
      const next = later(world.openThere(name).acquire());
      await world.untilWaiting(name, 1);
      expect(await staysOpen(next, 50)).toBe(true);
      await hold.release();
      const granted = await within(10_000, 'the hand-over', next);
      expect(granted.isHeld).toBe(true);
      const [before = Infinity] = subject.adapter.tokensOf(hold);
      expect(subject.adapter.tokensOf(granted)[0]).toBeGreaterThan(before);
    });

    it('serves the waiters of all providers in the order of their requests (L3)', async () => {
      await using world = new LockWorld(subject);
      const name = await world.name();
      const hold = await world.openHere(name).acquire();
      const served: number[] = [];
      const waits: Promise<void>[] = [];
      for (let index = 0; index < 6; index += 1) {
        const lock = index % 2 === 0 ? world.openThere(name) : world.openHere(name);
        waits.push(
          later(
            lock.use(() => {
              served.push(index);
            }),
          ),
        );
        await world.untilWaiting(name, index + 1);
      }
      await hold.release();
      await within(20_000, 'all waiters are served', Promise.all(waits));
      expect(served).toEqual([0, 1, 2, 3, 4, 5]);
    });

    it('serves the first waiters of a new provider in the order of the calls, after one hello', async () => {
      await using world = new LockWorld(subject);
      const name = await world.name();
      const hold = await world.openHere(name).acquire();
      const calls = Array.from({ length: 10 }, (_, index) => index);
      const served: number[] = [];
      const client = world.database.client();
      const lock = subject.adapter.open(world.provider(client), name);
      const waits = calls.map((index) =>
        later(
          lock.use(() => {
            served.push(index);
          }),
        ),
      );
      await world.untilWaiting(name, calls.length);
      await hold.release();
      await within(20_000, 'all waiters are served', Promise.all(waits));
      expect(served).toEqual(calls);
      expect(client.count('hello')).toBe(1);
    });

    it('does not let a try pass a waiter', async () => {
      await using world = new LockWorld(subject);
      const name = await world.name();
      const hold = await world.openHere(name).acquire();
      const order: string[] = [];
      const waiter = later(world.openThere(name).use(() => order.push('waiter')));
      await world.untilWaiting(name, 1);
      const [tried] = await Promise.all([world.openHere(name).tryAcquire(), hold.release()]);
      if (tried !== null) order.push('try');
      await within(10_000, 'the hand-over', waiter);
      expect(order[0]).toBe('waiter');
    });

    it('does not time out a waiter whose timeout is longer than the longest timer', async () => {
      await using world = new LockWorld(subject);
      const name = await world.name();
      const warnings: string[] = [];
      const note = (warning: Error): number => warnings.push(warning.name);
      process.on('warning', note);
      const hold = await world.openHere(name).acquire();
      const waits = [
        world.openThere(name).acquire({ timeoutMs: MAX_TIMER_MS + 10 }),
        world.openThere(name).acquire({ timeoutMs: Infinity }),
        world.openThere(name).tryAcquire({ timeoutMs: Number.MAX_VALUE }),
      ].map(later);
      await world.untilWaiting(name, 3);
      expect(await staysOpen(Promise.race(waits), 100)).toBe(true);
      await hold.release();
      const passedOn = Promise.all(waits.map(async (wait) => await (await wait)?.release()));
      expect(await within(10_000, 'all waiters are served', passedOn)).toEqual([true, true, true]);
      process.off('warning', note);
      expect(warnings).not.toContain('TimeoutOverflowWarning');
    });
  });

  describe.concurrent('a timeout', () => {
    it('ends a wait of 200 ms in time', async () => {
      await using world = new LockWorld(subject);
      const name = await world.name();
      const hold = await world.openHere(name).acquire();
      const lock = world.openThere(name);
      const timeoutMs = 200;
      expect(await lock.tryAcquire()).toBeNull();

      const timed = async (run: () => Promise<unknown>): Promise<readonly [unknown, number]> => {
        const startedMs = nowMs();
        const settled = await run();
        return [settled, nowMs() - startedMs];
      };
      const outcomes = await Promise.all([
        timed(() => rejection(lock.acquire({ timeoutMs }))),
        timed(() => rejection(lock.use(() => 1, { timeoutMs }))),
        timed(() => lock.tryAcquire({ timeoutMs })),
      ]);
      for (const [, tookMs] of outcomes) {
        expect(tookMs).toBeGreaterThanOrEqual(timeoutMs - 1);
        expect(tookMs).toBeLessThan(4_500);
      }
      const [[acquireError], [useError], [tried]] = outcomes;
      expect(tried).toBeNull();
      for (const error of [acquireError, useError]) {
        expect(error).toBeInstanceOf(AcquireTimeoutError);
        expect((error as AcquireTimeoutError).waitedMs).toBeGreaterThanOrEqual(timeoutMs - 1);
      }
      expect(hold.isHeld).toBe(true);
    });

    it('names the holders, their reasons, and the number of waiters ahead', async () => {
      await using world = new LockWorld(subject);
      const name = await world.name();
      await using hold = await world.openHere(name).acquire({ why: 'to be waited for' });
      const ahead = later(subject.adapter.open(world.provider(), name).acquire());
      await world.untilWaiting(name, 1);
      const error = await answeredTimeout((timeoutMs) => world.openThere(name).acquire({ timeoutMs }));
      expect(error).toMatchObject({ code: 'ACQUIRE_TIMEOUT', place: 1 });
      const { holders, message } = error;
      expect(holders).toHaveLength(subject.adapter.bystanders + 1);
      const holder = holders.find(({ token }) => subject.adapter.tokensOf(hold).includes(token));
      expect(holder).toMatchObject({ process: world.here.processId, why: 'to be waited for' });
      // A message names only the first holders.
      for (const { process, why, acquiredAt } of holders.slice(0, 3)) {
        for (const part of [process, String(why), acquiredAt.toISOString()]) expect(message).toContain(part);
      }
      await hold.release();
      await (await ahead).release();
    });

    it('leaves no waiter in the queue', async () => {
      await using world = new LockWorld(subject);
      const name = await world.name();
      const hold = await world.openHere(name).acquire();
      expect(await world.openThere(name).tryAcquire({ timeoutMs: 30 })).toBeNull();
      await world.untilWaiting(name, 0);
      await hold.release();
      expect(await world.openHere(name).tryAcquire()).not.toBeNull();
    });
  });

  describe.concurrent('an abort', () => {
    type Start = (world: LockWorld, name: string, signal: AbortSignal) => Promise<unknown>;
    const starts: readonly (readonly [string, Start])[] = [
      ['acquire', (world, name, signal) => world.openThere(name).acquire({ signal })],
      [
        'tryAcquire',
        (world, name, signal) => world.openThere(name).tryAcquire({ signal, timeoutMs: 60_000 }),
      ],
      ['use', (world, name, signal) => world.openThere(name).use(() => 1, { signal })],
    ];

    it.each(starts)(
      'ends a waiting %s with the reason of the signal, and removes its place',
      async (_, start) => {
        await using world = new LockWorld(subject);
        const name = await world.name();
        const hold = await world.openHere(name).acquire();
        for (const reason of [new Error('not wanted any more'), 'a string', undefined]) {
          const controller = new AbortController();
          const blocked = later(start(world, name, controller.signal));
          await world.untilWaiting(name, 1);
          controller.abort(reason);
          expect(await rejection(within(10_000, 'the abort', blocked))).toBe(controller.signal.reason);
          await world.untilWaiting(name, 0);
        }
        expect(hold.isHeld).toBe(true);
      },
    );

    it.each(starts)('before the call makes %s reject even if the lock is free', async (_, start) => {
      await using world = new LockWorld(subject);
      const name = await world.name();
      const reason = new Error('aborted before');
      expect(await rejection(start(world, name, AbortSignal.abort(reason)))).toBe(reason);
      expect(world.thereClient.commands).toEqual([]);
    });

    it('before the call makes a single try reject', async () => {
      await using world = new LockWorld(subject);
      const lock = world.openHere(await world.name());
      const signal = AbortSignal.abort();
      expect(await rejection(lock.tryAcquire({ signal }))).toBe(signal.reason);
    });

    it('after the grant does not end the hold', async () => {
      await using world = new LockWorld(subject);
      const name = await world.name();
      const controller = new AbortController();
      const hold: Hold = await world.openHere(name).acquire({ signal: controller.signal });
      controller.abort();
      await hold.confirm();
      expect(hold.isHeld).toBe(true);
      expect(await world.openThere(name).tryAcquire()).toBeNull();
    });
  });
}
