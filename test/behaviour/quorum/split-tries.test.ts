import { afterEach, describe, expect, it, vi } from 'vitest';
import { QuorumError } from '../../../src/quorum/index.js';
import { later, rejection, settled } from '../../../lab/patience.js';
import { MockQuorum, holder, inTime, isSilent, refuses } from './mock-stores.js';
import type { MockStore } from './mock-stores.js';

afterEach(() => {
  vi.restoreAllMocks();
});

const quorumOf = (): MockQuorum => new MockQuorum(3, { leaseMs: 30_000 });

const storeAt = (quorum: MockQuorum, index: number): MockStore => {
  const store = quorum.stores[index];
  if (store === undefined) throw new Error('there are three');
  return store;
};

describe('a try that meets another contender while one of three stores is away', () => {
  it('is repeated within its own bound, and gets the lock once the other contender has backed out', async () => {
    const quorum = quorumOf();
    quorum.say(undefined, refuses(holder('w1', 'p')), isSilent);
    const trying = quorum.mutex.tryAcquire();
    await settled();
    quorum.say(undefined, storeAt(quorum, 1).grants(500));
    const lock = await inTime(quorum, trying);
    expect(lock?.isHeld).toBe(true);
    await lock?.release();
    expect(quorum.held).toEqual([0, 0, 0]);
  });

  it('returns null with nothing held, after a few rounds within its bound, if the other contender keeps its seat', async () => {
    const quorum = quorumOf();
    quorum.say(undefined, refuses(holder('w1', 'p')), isSilent);
    const beganMs = quorum.clock.nowMs();
    expect(await inTime(quorum, quorum.mutex.tryAcquire())).toBeNull();
    expect(quorum.clock.nowMs() - beganMs).toBeLessThan(5_000);
    expect(storeAt(quorum, 1).asked).toBeGreaterThan(1);
    expect(storeAt(quorum, 1).asked).toBeLessThan(10);
    expect(quorum.held).toEqual([0, 0, 0]);
  });

  it('begins its last round within storeTimeoutMs, however long the pauses between the rounds are', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999);
    const quorum = new MockQuorum(3, { storeTimeoutMs: 1_000, pollMs: { min: 10, max: 800 } });
    quorum.say(undefined, refuses(holder('w1', 'p')), isSilent);
    const beganMs = quorum.clock.nowMs();
    expect(await inTime(quorum, quorum.mutex.tryAcquire())).toBeNull();
    // In the last round the silent store has 10 ms more to answer than the others.
    expect(quorum.clock.nowMs() - beganMs).toBeLessThanOrEqual(1_000 + 20);
  });

  it('returns null at once if one process holds a majority, and does not fail because a store is away', async () => {
    const quorum = quorumOf();
    let answer: (() => void) | undefined;
    const refusal = refuses(holder('w2', 'p'));
    quorum.say(
      refuses(holder('w1', 'p')),
      async (wish) => {
        await new Promise<void>((resolve) => (answer = resolve));
        return await refusal(wish);
      },
      isSilent,
    );
    const trying = later(quorum.mutex.tryAcquire());
    await settled();
    answer?.();
    expect(await trying).toBeNull();
    expect(quorum.stores.map(({ asked }) => asked)).toEqual([1, 1, 1]);
  });

  it('fails with a QuorumError if fewer than a majority answer, and is not repeated', async () => {
    const quorum = quorumOf();
    quorum.say(undefined, isSilent, isSilent);
    expect(await rejection(inTime(quorum, quorum.mutex.tryAcquire()))).toBeInstanceOf(QuorumError);
    expect(storeAt(quorum, 0).asked).toBe(1);
  });
});
