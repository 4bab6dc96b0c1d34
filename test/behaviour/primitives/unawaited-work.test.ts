import { describe, expect, it } from 'vitest';

import { DeadlockError } from '../../../src/index.js';
import type { LockHandle } from '../../../src/index.js';
import { eventually, later, rejection, within } from '../../../lab/patience.js';
import { collectGarbage } from '../../support/collect-garbage.js';
import { testProvider } from '../../support/test-provider.js';

describe.concurrent('work that is started inside use and not awaited there', () => {
  it('waits for the lock like any request once the use has ended and another caller holds the lock', async () => {
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

  it('gets the lock that it requested inside the use, if the use ends before the answer', async () => {
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

  it('inherits the chain of calls: a request without a timeout is a deadlock as long as the use goes on', async () => {
    const { locks } = await testProvider();
    const mutex = locks.createMutex('a');
    await mutex.use(async () => {
      const asked = later(mutex.acquire());
      expect(await rejection(within(20_000, 'the error', asked))).toBeInstanceOf(DeadlockError);
    });
  });
});

const TURNS = 30;

it('a chain of uses, in which each begins inside the work of the one before, keeps no handle of ended work', async () => {
  const { locks } = await testProvider({ createIndexes: false });
  const handles: WeakRef<LockHandle>[] = [];
  let end!: () => void;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const begin = (turn: number): Promise<void> =>
    new Promise((begun) => {
      const work = async (hold: LockHandle): Promise<void> => {
        handles.push(new WeakRef(hold));
        begun();
        await (turn === TURNS ? ended : begin(turn + 1));
      };
      void later(locks.useMutex(`turn ${String(turn)}`, work));
    });
  await begin(1);
  await eventually('only the last handle is left', (see) => {
    collectGarbage();
    const left = see(handles.map((handle) => handle.deref() !== undefined));
    return left.lastIndexOf(true) === TURNS - 1 && left.indexOf(true) === TURNS - 1;
  });
  end();
});
