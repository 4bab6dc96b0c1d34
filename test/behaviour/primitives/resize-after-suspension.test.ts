import { expect, it } from 'vitest';
import { whenTestEnds } from '../../support/current-test.js';
import { testProvider } from '../../support/test-provider.js';
import { pause } from '../../../lab/patience.js';

it('a resize succeeds after a suspension in which the monotonic clock stood still', async () => {
  const { locks } = await testProvider({ storeTimeoutMs: 4_000 });
  const semaphore = locks.createSemaphore('s', 3);
  await (await semaphore.acquire()).release();

  // The server's clock runs on meanwhile, and the monotonic clock of this process does not show it.
  const now = performance.now.bind(performance);
  const suspendedMs = 5_000;
  await pause(suspendedMs);
  performance.now = () => now() - suspendedMs;
  whenTestEnds(() => {
    performance.now = now;
  });

  await semaphore.resize(5);
  expect(semaphore.limit).toBe(5);
  expect(await semaphore.available()).toBe(5);
});
