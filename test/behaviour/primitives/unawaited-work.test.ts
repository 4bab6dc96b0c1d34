import { describe, expect, it } from 'vitest';

import { DeadlockError } from '../../../src/index.js';
import type { LockHandle } from '../../../src/index.js';
import { later, rejection, within } from '../../../lab/patience.js';
import { testProvider } from '../../support/test-provider.js';

describe.concurrent('work that is started inside use and not awaited there', () => {
  it('asks like any other once the use has ended, though somebody else holds the lock by then', async () => {
    const { locks } = await testProvider();
    const mutex = locks.createMutex('a');
    let end!: () => void;
    const ended = new Promise<void>((resolve) => (end = resolve));
    let asked: Promise<LockHandle> | undefined;
    await mutex.use(() => {
      asked = later(ended.then(() => mutex.acquire()));
    });
    const other = await mutex.acquire();
    const waiting = new Promise((resolve) => locks.once('waiting', resolve));
    end();
    await within(20_000, 'it waits', waiting);
    await other.release();
    const lock = await within(20_000, 'the grant', asked ?? Promise.reject(new Error('not asked')));
    expect(lock.isHeld).toBe(true);
    await lock.release();
  });

  it('gets the lock that it asked for inside, if the use ends before the answer', async () => {
    const { locks } = await testProvider();
    const mutex = locks.createMutex('a');
    let asked: Promise<LockHandle> | undefined;
    await mutex.use(() => {
      asked = later(mutex.acquire());
    });
    const lock = await within(20_000, 'the grant', asked ?? Promise.reject(new Error('not asked')));
    expect(lock.isHeld).toBe(true);
    await lock.release();
  });

  it('inherits the chain: while the use goes on, asking without a timeout is a deadlock', async () => {
    const { locks } = await testProvider();
    const mutex = locks.createMutex('a');
    await mutex.use(async () => {
      const asked = later(mutex.acquire());
      expect(await rejection(within(20_000, 'the error', asked))).toBeInstanceOf(DeadlockError);
    });
  });
});
