import { expect, it } from 'vitest';
import { integer, number } from '../../../src/options/checks.js';
import { eventually } from '../../../lab/patience.js';
import { testProvider } from '../../support/test-provider.js';

it('negative zero is zero in every number option', () => {
  expect(integer('transitionMs', -0, 0, 10)).toBe(0);
  expect(number('wakeIdleMs', -0, 0, 10)).toBe(0);
});

it('a second candidate can stand beside one with a transitionMs of negative zero', async () => {
  const provider = await testProvider();
  const { locks } = provider;
  const first = locks.createLeaderElection('boss', { candidateId: 'first', transitionMs: -0 });
  const second = locks.createLeaderElection('boss', { candidateId: 'second' });
  await first.start();
  await eventually('the first candidate leads', () => first.isLeader);
  await second.start();
  await eventually('the second candidate waits', async () => {
    const stored = await provider.document('boss');
    return Object.keys(stored?.['queue'] as object).length === 1;
  });
  await first.stop();
  await eventually('the second candidate leads', () => second.isLeader);
  await second.stop();
});
