import { describe, expect, it } from 'vitest';

import type { LockProviderEvents } from '../../../src/index.js';
import { eventually, later, pause } from '../../../lab/patience.js';
import { keepHold } from '../../support/keep-hold.js';
import { failCommands, testProvider, twoProviders, useOwnServer } from '../../support/test-provider.js';
import type { TestProvider } from '../../support/test-provider.js';
import { untilWaiting } from '../../support/waiters.js';

useOwnServer();

/** Long enough to tell a correct figure from zero, and from the duration of something else. */
const LONG_MS = 150;

/** The first event of this name. */
function first<const E extends 'acquired' | 'released' | 'lost' | 'timeout'>(
  { locks }: TestProvider,
  event: E,
): Promise<LockProviderEvents[E][0]> {
  return new Promise((resolve) => {
    locks.on(event, resolve);
  });
}

describe('the events of a provider', () => {
  it('report how long a request waited for its grant, and how long it then held the lock', async () => {
    const [one, other] = await twoProviders();
    const hold = await one.locks.acquireMutex('a');
    const [acquired, released] = [first(other, 'acquired'), first(other, 'released')];
    const askedMs = performance.now();
    const wait = later(other.locks.acquireMutex('a'));
    await untilWaiting(one.locks, 'a');
    const waitsMs = performance.now();
    await pause(LONG_MS);
    const leastWaitedMs = performance.now() - waitsMs;
    await hold.release();
    const next = await wait;
    const grantedMs = performance.now();
    const { waitedMs } = await acquired;
    expect(waitedMs).toBeGreaterThanOrEqual(leastWaitedMs - 1);
    expect(waitedMs).toBeLessThanOrEqual(grantedMs - askedMs + 1);

    await pause(LONG_MS);
    const leastHeldMs = performance.now() - grantedMs;
    await next.release();
    const { heldMs, confirmed } = await released;
    expect(confirmed).toBe(true);
    expect(heldMs).toBeGreaterThanOrEqual(leastHeldMs - 1);
    // The upper bound counts from the call, because the grant came after it.
    expect(heldMs).toBeLessThanOrEqual(performance.now() - askedMs - leastWaitedMs + 1);
  });

  it('report how long a lost hold had lasted', async () => {
    const one = await testProvider();
    const lost = first(one, 'lost');
    const askedMs = performance.now();
    const hold = await one.locks.acquireMutex('a');
    const grantedMs = performance.now();
    await pause(LONG_MS);
    const leastMs = performance.now() - grantedMs;
    await one.locks.revoke('a', { force: true });
    await eventually('the loss', () => hold.signal.aborted);
    const { heldMs, why } = await lost;
    expect(why).toBe('revoked');
    expect(heldMs).toBeGreaterThanOrEqual(leastMs - 1);
    expect(heldMs).toBeLessThanOrEqual(performance.now() - askedMs + 1);
  });

  it('report that the store did not confirm a release', async () => {
    const one = await testProvider({ storeTimeoutMs: 500 });
    const hold = await one.locks.acquireMutex('a');
    const released = first(one, 'released');
    const heal = await failCommands(one, 'alwaysOn', { failCommands: ['findAndModify'], errorCode: 189 });
    await hold.release();
    expect((await released).confirmed).toBe(false);
    await heal();
    await eventually('it is free', async () => (await one.document('a'))?.['holder'] === null);
  });

  it('report how long a request waited until it timed out', async () => {
    const [one, other] = await twoProviders();
    const timeout = first(other, 'timeout');
    await keepHold(one.locks.acquireMutex('a'));
    const askedMs = performance.now();
    const timeoutMs = 2 * LONG_MS;
    expect(await other.locks.tryAcquireMutex('a', { timeoutMs })).toBeNull();
    const { waitedMs } = await timeout;
    expect(waitedMs).toBeGreaterThanOrEqual(timeoutMs - 1);
    expect(waitedMs).toBeLessThanOrEqual(performance.now() - askedMs + 1);
  });
});
