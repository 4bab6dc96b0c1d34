import { describe, expect, test } from 'vitest';

import {
  AcquireTimeoutError,
  DeadlockError,
  LockKindMismatchError,
  LockLostError,
  LockModeError,
  SemaphoreLimitMismatchError,
} from '../../src/index.js';
import type { LockHandle } from '../../src/index.js';
import { OwnDatabase } from '../support/test-provider.js';
import { eventually, later, rejection } from '../../lab/patience.js';
import { answeredTimeout } from '../support/answered-timeout.js';

/** Two processes on one database. */
class Two extends OwnDatabase {
  readonly #own = this.client();
  readonly here = this.#own.provider();
  readonly there = this.client().provider();

  /** The commands that this process has sent. */
  get sent(): number {
    return this.#own.commands.length;
  }

  async isWaitedFor(name: string): Promise<void> {
    await eventually(`a request waits for ${name}`, async () => (await this.there.inspect(name))?.waiters[0]);
  }

  async isHeld(name: string): Promise<boolean> {
    return ((await this.there.inspect(name))?.holders.length ?? 0) > 0;
  }
}

describe('the failures in docs/reader-writer-lock.md', () => {
  test('a timeout names the holders and why they hold, ten at most', async () => {
    await using two = new Two();
    const lock = two.there.createReaderWriterLock('r');
    const readers = await Promise.all(Array.from({ length: 25 }, () => lock.acquireRead({ why: 'look' })));
    const writing = two.here.createReaderWriterLock('r');
    const error = await answeredTimeout((timeoutMs) => writing.acquireWrite({ timeoutMs }));

    expect(error).toBeInstanceOf(AcquireTimeoutError);
    expect(error).toHaveProperty('holders', Array(10).fill(expect.objectContaining({ why: 'look' })));
    await Promise.all(readers.map((reader) => reader.release()));
  });

  test('after the timeout or the abort of an upgrade, the hold is an upgradeable read, and readers are admitted', async () => {
    await using two = new Two();
    const [lock, other] = [two.here.createReaderWriterLock('r'), two.there.createReaderWriterLock('r')];
    const [hold, reader] = [await lock.acquireUpgradeableRead(), await other.acquireRead()];
    expect(await hold.tryUpgrade()).toBe(false);
    expect(await rejection(hold.upgrade({ timeoutMs: 50 }))).toBeInstanceOf(AcquireTimeoutError);

    const aborting = new AbortController();
    const upgrade = later(hold.upgrade({ signal: aborting.signal }));
    await eventually('it keeps readers out', async () => {
      const tried = await other.tryAcquireRead();
      await tried?.release();
      return tried === null;
    });
    const parked = other.acquireRead();
    await two.isWaitedFor('r');
    const why = new Error('enough');
    aborting.abort(why);
    expect(await rejection(upgrade)).toBe(why);
    expect(hold.currentMode()).toBe('upgradeable');
    for (const each of [await parked, reader, hold]) expect(await each.release()).toBe(true);
  });

  test('a change of mode that is not possible leaves the hold as it was, and none is possible after its end', async () => {
    await using two = new Two();
    const hold = await two.here.createReaderWriterLock('r').acquireUpgradeableRead();
    const reader = await two.there.createReaderWriterLock('r').acquireRead();
    const upgrade = hold.upgrade();
    expect(await rejection(hold.upgrade())).toBeInstanceOf(LockModeError);
    await reader.release();
    await upgrade;
    await hold.downgrade('read');
    expect(await rejection(hold.upgrade())).toBeInstanceOf(LockModeError);
    expect(await rejection(hold.downgrade('read'))).toBeInstanceOf(LockModeError);
    expect([hold.currentMode(), hold.isHeld]).toEqual(['read', true]);

    await hold.release();
    expect(await rejection(hold.upgrade())).toBeInstanceOf(LockLostError);
    expect(await rejection(hold.downgrade('read'))).toBeInstanceOf(LockLostError);
  });

  test('a read within a read is granted, unless a writer waits', async () => {
    await using two = new Two();
    const lock = two.here.createReaderWriterLock('r');
    let writer: Promise<LockHandle> | undefined;
    await lock.useRead(async () => {
      await lock.useRead(() => undefined);
      writer = later(two.there.createReaderWriterLock('r').acquireWrite());
      await two.isWaitedFor('r');
      expect(await rejection(lock.useRead(() => undefined))).toBeInstanceOf(DeadlockError);
    });
    expect(await (await writer)?.release()).toBe(true);
  });
});

describe('the failures in docs/semaphore.md', () => {
  test('another stored limit is refused until both agree, and is followed or replaced if the option says so', async () => {
    await using two = new Two();
    const hold = await two.there.createSemaphore('s', 5).acquire();
    const other = two.here.createSemaphore('s', 8);
    for (const error of [await rejection(other.acquire()), await rejection(other.acquire())]) {
      expect(error).toBeInstanceOf(SemaphoreLimitMismatchError);
      expect(error).toMatchObject({ expected: 8, actual: 5 });
    }

    const following = two.here.createSemaphore('s', 8, { whenLimitDiffers: 'follow' });
    await following.use(() => undefined);
    expect(following.limit).toBe(5);
    const setting = two.here.createSemaphore('s', 8, { whenLimitDiffers: 'resize' });
    await setting.use(() => undefined);
    expect(await two.there.inspect('s')).toMatchObject({ limit: 8 });
    await other.use(() => undefined);
    await hold.release();

    await two.there.createSemaphore('s', 3).use(() => undefined);
    expect(await two.there.inspect('s')).toMatchObject({ limit: 3 });
  });

  test('more permits than the limit are refused before anything is sent', async () => {
    await using two = new Two();
    const asked = two.here.createSemaphore('s', 5).acquire({ permits: 6 });
    expect(await rejection(asked)).toBeInstanceOf(RangeError);
    expect(two.sent).toBe(0);
  });

  test('a lowered limit takes no permit away, and ends waits for more permits than that', async () => {
    await using two = new Two();
    const [here, there] = [two.here.createSemaphore('s', 5), two.there.createSemaphore('s', 5)];
    const holds = [await here.acquire({ permits: 3 }), await there.acquire()];
    const waiting = later(here.acquire({ permits: 2 }));
    await two.isWaitedFor('s');
    await there.resize(1);

    expect(await rejection(waiting)).toBeInstanceOf(SemaphoreLimitMismatchError);
    expect(await rejection(waiting)).toMatchObject({ expected: 2, actual: 1 });
    expect(await here.available()).toBe(0);
    for (const hold of holds) expect(await hold.release()).toBe(true);
    expect(await here.available()).toBe(1);
  });

  test('a name that another kind of lock uses is refused', async () => {
    await using two = new Two();
    const hold = await two.there.createSemaphore('s', 5).acquire();
    const asked = two.here.createReaderWriterLock('s').acquireRead();
    expect(await rejection(asked)).toBeInstanceOf(LockKindMismatchError);
    expect(await hold.release()).toBe(true);
  });
});

describe('the failures in docs/all-or-nothing.md', () => {
  test('a timeout names the lock that was not granted, and the others have been released', async () => {
    await using two = new Two();
    const hold = await two.there.acquireMutex('b', { why: 'charge' });
    const requests = ['c', 'b', 'a'].map((name) => ({ mutex: two.here.createMutex(name) }));
    const error = await answeredTimeout((timeoutMs) => two.here.acquireAll(requests, { timeoutMs }));

    expect(error).toBeInstanceOf(AcquireTimeoutError);
    expect(error).toMatchObject({ lockName: 'b', holders: [{ why: 'charge' }] });
    expect([await two.isHeld('a'), await two.isHeld('b'), await two.isHeld('c')]).toEqual([
      false,
      true,
      false,
    ]);
    expect(await two.here.tryAcquireAll(requests)).toBeNull();
    await hold.release();
  });

  test('the signal reports the loss of one lock, and the others are held until the release', async () => {
    await using two = new Two();
    const requests = ['a', 'b'].map((name) => ({ mutex: two.here.createMutex(name) }));
    const all = await two.here.acquireAll(requests);
    const { signal } = all;
    await two.here.revoke('a', { force: true });

    await eventually('the loss is reported', () => signal.aborted);
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', lockName: 'a' });
    expect([all.isHeld, await two.isHeld('b')]).toEqual([false, true]);
    expect(await all.release()).toBe(false);
    expect(await two.isHeld('b')).toBe(false);
  });

  test('a lock that is lost during the wait for the next one is requested again, and so are the others', async () => {
    await using two = new Two();
    const hold = await two.there.acquireMutex('b');
    const asked = two.here.acquireAll(['a', 'b'].map((name) => ({ mutex: two.here.createMutex(name) })));
    await two.isWaitedFor('b');
    const [first] = (await two.there.inspect('a'))?.holders ?? [];
    await two.here.revoke('a', { force: true });
    await eventually('it is held anew', async () => {
      const [again] = (await two.there.inspect('a'))?.holders ?? [];
      return again !== undefined && again.id !== first?.id;
    });

    await two.isWaitedFor('b');
    await hold.release();
    const all = await asked;
    expect(all.isHeld).toBe(true);
    expect(await all.release()).toBe(true);
  });

  test('an abort ends the wait at once with its reason, also if the reason is the loss of another lock', async () => {
    await using two = new Two();
    const outer = await two.here.acquireMutex('outer');
    const { signal } = outer;
    const hold = await two.there.acquireMutex('b');
    const requests = ['a', 'b'].map((name) => ({ mutex: two.here.createMutex(name) }));
    const asked = later(two.here.acquireAll(requests, { signal, timeoutMs: 120_000 }));
    const startedMs = performance.now();
    await two.isWaitedFor('b');
    await two.here.revoke('outer', { force: true });

    expect(await rejection(asked)).toBe(signal.reason);
    expect(performance.now() - startedMs).toBeLessThan(60_000);
    expect(await two.isHeld('a')).toBe(false);
    await hold.release();
  });

  test('an empty list, a lock named twice and a lock of another provider are refused', async () => {
    await using two = new Two();
    const [a, foreign] = [two.here.createMutex('a'), two.there.createMutex('b')];
    const twice = [{ mutex: a }, { read: two.here.createReaderWriterLock('a') }];
    for (const requests of [[], twice, [{ mutex: foreign }]]) {
      expect(await rejection(two.here.acquireAll(requests))).toBeInstanceOf(TypeError);
    }
    expect(two.sent).toBe(0);
  });
});
