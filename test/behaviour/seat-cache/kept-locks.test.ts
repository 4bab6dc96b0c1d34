import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.js';
import { AcquireTimeoutError } from '../../../src/errors.js';
import { KeeperWatch } from '../../../src/lease/seat-cache/keeper-watch.js';
import { SeatCache } from '../../../src/lease/seat-cache/seat-cache.js';
import { mutexRules } from '../../../src/protocol/kinds/mutex-rules.js';
import { twoProviders } from '../../support/test-provider.js';
import { untilKept } from './until-kept.js';

const KEEP_MS = 60_000;

describe('a lock with keepMs', () => {
  it('is not cached if its first request is rejected before it begins', async () => {
    const closing = new AbortController();
    const context = {
      ...{ process: 'p', clock: systemClock, report: () => undefined, closing: closing.signal },
      ...{ gaplessSinceMs: () => Infinity, returnIdle: () => undefined },
    };
    const watch = new KeeperWatch({
      ...context,
      wakeIdleMs: 0,
      collection: { read: () => Promise.reject(new Error('nothing may be read')) },
      isPolling: () => false,
      listen: () => undefined,
      confirm: () => undefined,
    });
    const keeping = new SeatCache(context, watch);
    const durations = {
      leaseMs: 30_000,
      extendEveryMs: 10_000,
      clockAllowanceMs: 1_000,
      retentionMs: 60_000,
    };
    const first = keeping.lock('a', mutexRules, KEEP_MS);
    const refused = first?.acquire(
      {
        ...{
          durations,
          timeoutMs: Infinity,
          why: undefined,
          startedMs: 0,
          demand: {},
          keepMs: KEEP_MS,
          passes: 0,
        },
        signal: AbortSignal.abort(new Error('aborted')),
      },
      () => Promise.reject(new Error('nothing may be sent')),
    );
    await expect(refused).rejects.toThrow('aborted');
    expect(keeping.lock('a', mutexRules, 0)).toBeUndefined();
  });

  it('times out in the queue of its process with a stack that leads to the caller', async () => {
    const [here] = await twoProviders({ leaseMs: 60_000 });
    const mutex = here.locks.createMutex('a', { keepMs: KEEP_MS });
    await untilKept(here, mutex);
    const hold = await mutex.acquire();
    const theCaller = async (): Promise<unknown> => {
      return await mutex.acquire({ timeoutMs: 50 });
    };
    const error = await theCaller().catch((thrown: unknown) => thrown);
    await hold.release();
    if (!(error instanceof AcquireTimeoutError)) throw new Error('no timeout', { cause: error });
    expect(error.stack).toContain('theCaller');
  });

  it('gives its seat back when a listener of released closes the provider', async () => {
    const [here, there] = await twoProviders({ leaseMs: 60_000 });
    const mutex = here.locks.createMutex('a', { keepMs: KEEP_MS });
    await untilKept(here, mutex);
    const hold = await mutex.acquire();
    const closed = new Promise<void>((resolve) => {
      here.locks.once('released', () => {
        resolve(here.locks.close({ drainMs: 30_000 }));
      });
    });
    await hold.release();
    await closed;
    expect((await there.document('a'))?.['holder']).toBeNull();
  });
});
