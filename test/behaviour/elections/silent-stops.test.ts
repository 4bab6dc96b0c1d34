import { expect, it } from 'vitest';
import { eventually, later, within } from '../../../lab/patience.js';
import { failCommands, testProvider, twoProviders, useOwnServer } from '../../support/test-provider.js';

useOwnServer();

const STORE_TIMEOUT_MS = 2_000;
const SOON_MS = 60_000;
const SILENT = {
  failCommands: ['findAndModify'],
  blockConnection: true,
  blockTimeMS: 1.5 * STORE_TIMEOUT_MS,
};

it('a stop does not wait for repeats of a hand-over that the store does not answer', async () => {
  const [one, other] = await twoProviders({ storeTimeoutMs: STORE_TIMEOUT_MS });
  const a = one.locks.createLeaderElection('e', { candidateId: 'a' });
  const b = other.locks.createLeaderElection('e', { candidateId: 'b' });
  await a.start();
  await a.untilElected();
  await b.start();
  const heal = await failCommands(one, 'alwaysOn', SILENT);
  const handing = later(a.handOverTo('b'));
  await eventually('the end of the term', () => a.term === null);
  // All repeats would take six times the timeout.
  await within(4 * STORE_TIMEOUT_MS, 'both', Promise.all([a.stop({ drainMs: 0 }), handing]));
  expect(await handing).toBe(false);
  expect(a.state).toBe('stopped');
  await heal();
  await b.stop();
});

it('drainMs of a stop limits both callbacks together', async () => {
  const { locks } = await testProvider();
  const drainMs = 10_000;
  const a = locks.createLeaderElection('e', {
    onElected: ({ signal }) =>
      new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => setTimeout(resolve, drainMs - 500));
      }),
    onDeposed: () => new Promise(() => undefined),
  });
  await a.start();
  await a.untilElected();
  const startedMs = performance.now();
  await within(SOON_MS, 'the stop', a.stop({ drainMs }));
  const tookMs = performance.now() - startedMs;
  // If each callback had the whole time, the stop would take 19.5 s.
  expect(tookMs).toBeLessThan(drainMs + 6_000);
});
