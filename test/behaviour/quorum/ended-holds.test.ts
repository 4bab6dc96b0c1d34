import { describe, expect, it } from 'vitest';

import { settled } from '../../../lab/patience.js';
import { keepHold } from '../../support/keep-hold.js';
import { MockQuorum, inTime, isSilent } from './mock-stores.js';
import type { MockStore } from './mock-stores.js';

const LEASE_MS = 3_000;

/** A quorum whose third store is silent, with a function that lets this store answer the request that probes it. */
async function probed(): Promise<{
  readonly quorum: MockQuorum;
  readonly silent: MockStore;
  readonly probe: () => Promise<void>;
  readonly answer: () => void;
}> {
  const quorum = new MockQuorum(3, { leaseMs: LEASE_MS });
  const [, , silent] = quorum.stores as [MockStore, MockStore, MockStore];
  const grants = silent.grants(900);
  silent.says = isSilent;
  await (await inTime(quorum, quorum.mutex.acquire())).release();
  let answer!: () => void;
  const answered = new Promise<void>((resolve) => (answer = resolve));
  const probe = async (): Promise<void> => {
    silent.says = async (wish) => {
      await answered;
      return await grants(wish);
    };
    await keepHold(quorum.lock.tryAcquireWrite());
  };
  return { quorum, silent, probe, answer };
}

/** The deadline passes while the event loop is blocked, so no timer has ended the hold before `act`. */
async function afterTheDeadline(quorum: MockQuorum, sinceMs: number, act: () => void): Promise<void> {
  quorum.clock.moveWithoutTimers(sinceMs + LEASE_MS - quorum.clock.nowMs());
  act();
  await settled();
}

describe('a store that was silent, and answers after the deadline of a hold, gets no try for this hold', () => {
  it('from the request that has acquired the hold', async () => {
    const { quorum, silent, probe, answer } = await probed();
    await probe();
    const sinceMs = quorum.clock.nowMs();
    const lock = await quorum.mutex.tryAcquire();
    expect(lock?.isHeld).toBe(true);
    const { asked } = silent;
    await afterTheDeadline(quorum, sinceMs, answer);
    expect(silent.asked).toBe(asked);
    expect(lock?.isHeld).toBe(false);
  });

  it('from the hold, which lacks a seat in this store', async () => {
    const { quorum, silent, probe, answer } = await probed();
    const sinceMs = quorum.clock.nowMs();
    const lock = await quorum.mutex.tryAcquire();
    expect(lock?.isHeld).toBe(true);
    await settled();
    await probe();
    const { asked } = silent;
    quorum.clock.advance(LEASE_MS / 3 + 1);
    await settled();
    await afterTheDeadline(quorum, sinceMs, answer);
    expect(silent.asked).toBe(asked);
    expect(lock?.isHeld).toBe(false);
  });
});
