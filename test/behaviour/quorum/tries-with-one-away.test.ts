import { afterEach, expect, it } from 'vitest';

import { randomName } from '../../support/test-provider.js';
import { eventually, nowMs } from '../../../lab/patience.js';
import { useThreeDeployments } from './deployments.js';

const deployments = useThreeDeployments();

const ROUNDS = 30;

afterEach(async () => {
  await deployments.heal();
});

it('while one of three stores is stopped, two simultaneous tries of a free lock give it to one of them or rarely to none, and never fail', async () => {
  const name = randomName('tried');
  const providers = [0, 1].map(() => deployments.provider({ storeTimeoutMs: 3_000 }));
  const mutexes = providers.map((locks) => locks.createMutex(name));
  const silentFor = new Set<object>();
  for (const locks of providers) locks.on('storeError', () => silentFor.add(locks));
  deployments.at(0).hang();
  for (const mutex of mutexes) await (await mutex.acquire()).release();
  await eventually('both know that the store is silent', () => silentFor.size === providers.length);
  let without = 0;
  const beganMs = nowMs();
  for (let round = 0; round < ROUNDS; round += 1) {
    const locks = await Promise.all(mutexes.map((mutex) => mutex.tryAcquire()));
    const held = locks.filter((lock) => lock !== null);
    expect(held.length).toBeLessThanOrEqual(1);
    if (held.length === 0) without += 1;
    for (const lock of held) expect(await lock.release()).toBe(true);
  }
  const tookMs = (nowMs() - beganMs) / ROUNDS;
  console.log(`${without} of ${ROUNDS} rounds without a holder, ${tookMs.toFixed(0)} ms a round`);
  expect(without).toBeLessThan(ROUNDS / 5);
});
