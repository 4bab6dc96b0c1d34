import { expect, it } from 'vitest';

import { later, settled } from '../../../lab/patience.js';
import { MockQuorum, holder, refuses } from './mock-stores.js';
import type { MockStore } from './mock-stores.js';

it('a seat that is granted while the next round waits for its gate counts in that round, and its store is not asked again', async () => {
  const quorum = new MockQuorum(3, { leaseMs: 3_000, storeTimeoutMs: 1_000, pollMs: { min: 10, max: 800 } });
  const [gate, other, late] = quorum.stores as [MockStore, MockStore, MockStore];
  const isTaken = refuses(holder('w1', 'p'));
  let answerLate: (() => void) | undefined;
  let asked = 0;
  const grants = late.grants(7);
  quorum.say(isTaken, isTaken, async (wish) => {
    asked += 1;
    // Another try would find the seat of the first one.
    if (asked > 1) return await isTaken(wish);
    await new Promise<void>((resolve) => (answerLate = resolve));
    return await grants(wish);
  });
  const acquiring = later(quorum.mutex.acquire());
  await settled();

  let answerGate: (() => void) | undefined;
  const gateGrants = gate.grants(8);
  quorum.say(async (wish) => {
    await new Promise<void>((resolve) => (answerGate = resolve));
    return await gateGrants(wish);
  }, other.grants(9));
  for (let steps = 0; answerGate === undefined && steps < 100; steps += 1) {
    quorum.clock.advance(20);
    await settled();
  }
  answerLate?.();
  await settled();
  answerGate?.();
  const lock = await acquiring;
  await settled();
  expect(asked).toBe(1);
  await lock.release();
  await settled();
  expect(quorum.held).toEqual([0, 0, 0]);
});
