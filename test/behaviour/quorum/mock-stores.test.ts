import { describe, expect, it } from 'vitest';

import {
  AcquireTimeoutError,
  CorruptLockDocumentError,
  LockLostError,
  LockModeError,
} from '../../../src/index.js';
import { QuorumError } from '../../../src/quorum/index.js';
import type { LeaseInfo } from '../../../src/index.js';
import { later, rejection, settled } from '../../../lab/patience.js';
import { MockQuorum, MockSeat, fails, hangs, holder, inTime, isSilent, refuses } from './mock-stores.js';

const LEASE_MS = 3_000;
const ALLOWANCE_MS = 300;

const quorumOf = (count = 3): MockQuorum =>
  new MockQuorum(count, { leaseMs: LEASE_MS, storeTimeoutMs: 1_000, pollMs: { min: 10, max: 800 } });

const seatAt = (quorum: MockQuorum, store: number): MockSeat => {
  const seat = quorum.stores[store]?.seats.at(-1);
  if (seat === undefined) throw new Error(`store ${store} has granted nothing`);
  return seat;
};

const storeAt = (quorum: MockQuorum, index: number) => {
  const store = quorum.stores[index];
  if (store === undefined) throw new Error(`there is no store ${index}`);
  return store;
};

const heldMutex = async (quorum: MockQuorum) => {
  const lock = await quorum.mutex.tryAcquire();
  if (lock === null) throw new Error('it was not granted');
  await settled();
  return lock;
};

describe('a majority of stores', () => {
  it('grants a hold with the highest of its tokens, after the fence of a majority is lifted to it', async () => {
    const quorum = quorumOf();
    quorum.say(undefined, undefined, hangs);
    const lock = await heldMutex(quorum);
    expect(lock.fencingToken).toBe(101);
    expect(lock.id).toBe('w101');
    expect(quorum.stores.slice(0, 2).map((store) => store.seats[0]?.fence)).toEqual([101, 101]);
    expect(lock.remainingMs).toBe(LEASE_MS - ALLOWANCE_MS);
    expect(quorum.events).toEqual(['acquired']);
  });

  it('is enough even if the other stores fail or never answer', async () => {
    const quorum = quorumOf(5);
    quorum.say(fails('down'), hangs);
    const lock = await heldMutex(quorum);
    expect(lock.isHeld).toBe(true);
    expect(await lock.release()).toBe(true);
    expect(quorum.held).toEqual([0, 0, 0, 0, 0]);
    expect(quorum.events).toEqual(['acquired', 'released']);
  });

  it('makes a try fail with a QuorumError that names the causes if it fails, and leaves nothing held', async () => {
    const quorum = quorumOf();
    quorum.say(undefined, fails('down one'), fails('down two'));
    const error = await rejection(quorum.mutex.tryAcquire());
    expect(error).toBeInstanceOf(QuorumError);
    expect(error).toMatchObject({ code: 'QUORUM', lockName: 'm', stores: 3 });
    expect((error as QuorumError).failures.map(String)).toEqual(['Error: down one', 'Error: down two']);
    expect((error as QuorumError).message).toContain('down two');
    expect(quorum.held).toEqual([0, 0, 0]);
  });

  it('makes a wait end at its timeout with a QuorumError if it never answers', async () => {
    const quorum = quorumOf();
    quorum.say(undefined, hangs, hangs);
    const acquiring = later(quorum.mutex.acquire({ timeoutMs: 400 }));
    await settled();
    quorum.clock.advance(400);
    expect(await rejection(acquiring)).toBeInstanceOf(QuorumError);
    expect(quorum.held).toEqual([0, 0, 0]);
  });

  it('makes a try return null and an acquire name the holder if another process holds it', async () => {
    const quorum = quorumOf();
    quorum.say(refuses(holder('w1', 'p')), refuses(holder('w2', 'p')));
    expect(await quorum.mutex.tryAcquire()).toBeNull();
    const error = await rejection(quorum.mutex.acquire({ timeoutMs: 0 }));
    expect(error).toBeInstanceOf(AcquireTimeoutError);
    expect((error as AcquireTimeoutError).holders.map(({ process }) => process)).toEqual(['p']);
    await settled();
    expect(quorum.held).toEqual([0, 0, 0]);
  });

  it('grants no hold if it answers so slowly that less than minValidityMs is left', async () => {
    const quorum = quorumOf();
    for (const store of quorum.stores) {
      const grants = store.grants(100);
      store.says = async (wish) => {
        const seat = await grants(wish);
        seat.extendTo(quorum.clock.nowMs() + LEASE_MS / 2 - 1);
        return seat;
      };
    }
    const error = await rejection(quorum.mutex.tryAcquire());
    expect(error).toBeInstanceOf(QuorumError);
    expect((error as QuorumError).message).toContain('too slowly');
    expect(quorum.held).toEqual([0, 0, 0]);
  });

  it('grants no hold if it does not confirm the token', async () => {
    const quorum = quorumOf();
    quorum.say(
      async (wish) => {
        const seat = new MockSeat(quorum.clock, wish, 1);
        seat.answerToRaise = () => Promise.reject(new Error('gone'));
        return Promise.resolve(seat);
      },
      undefined,
      fails('down'),
    );
    expect(await rejection(quorum.mutex.tryAcquire())).toBeInstanceOf(QuorumError);
    expect(quorum.held).toEqual([0, 0, 0]);
  });
});

describe('a store that is silent after its grant', () => {
  it('is replaced by a store that grants later', async () => {
    const quorum = quorumOf();
    let answer: (() => void) | undefined;
    for (const lateToken of [7, 900]) {
      const grants = storeAt(quorum, 2).grants(lateToken);
      quorum.say(
        (wish) => {
          const seat = new MockSeat(quorum.clock, wish, 1);
          seat.answerToRaise = () => new Promise(() => undefined);
          return Promise.resolve(seat);
        },
        undefined,
        async (wish) => {
          await new Promise<void>((resolve) => (answer = resolve));
          return await grants(wish);
        },
      );
      const trying = later(quorum.mutex.tryAcquire());
      await settled();
      answer?.();
      const lock = await trying;
      const [second, third] = [seatAt(quorum, 1), seatAt(quorum, 2)];
      expect(lock?.fencingToken).toBe(Math.max(second.fencingToken, lateToken));
      expect([second.fence, third.fence]).toEqual([lock?.fencingToken, lock?.fencingToken]);
      await lock?.release();
    }
  });
});

describe('a late grant of a store', () => {
  it('is given back if the attempt has failed', async () => {
    const quorum = quorumOf();
    let answer: (() => void) | undefined;
    const grants = storeAt(quorum, 2).grants(7);
    quorum.say(refuses(holder('w1', 'p')), refuses(holder('w2', 'p')), async (wish) => {
      await new Promise<void>((resolve) => (answer = resolve));
      return await grants(wish);
    });
    expect(await quorum.mutex.tryAcquire()).toBeNull();
    answer?.();
    await settled();
    expect(seatAt(quorum, 2).checkEnd()).toBe('released');
  });

  it('joins a hold that goes on, with its fence lifted, and is given back if the hold is over', async () => {
    for (const isReleased of [false, true]) {
      const quorum = quorumOf();
      let answer: (() => void) | undefined;
      const grants = storeAt(quorum, 2).grants(7);
      quorum.say(undefined, undefined, async (wish) => {
        await new Promise<void>((resolve) => (answer = resolve));
        return await grants(wish);
      });
      const lock = await heldMutex(quorum);
      if (isReleased) await lock.release();
      answer?.();
      await settled();
      const late = seatAt(quorum, 2);
      expect(late.checkEnd()).toBe(isReleased ? 'released' : undefined);
      expect(late.fence).toBe(isReleased ? 7 : 101);
      if (isReleased) continue;
      // So the hold survives the loss of another seat.
      seatAt(quorum, 0).end('evicted');
      expect(lock.isHeld).toBe(true);
    }
  });
});

describe('a hold', () => {
  it('is lost at the first look after its deadlines, even if no timer has fired', async () => {
    const quorum = quorumOf();
    const lock = await heldMutex(quorum);
    quorum.clock.moveWithoutTimers(LEASE_MS);
    expect(lock.signal.reason).toMatchObject({ why: 'expired' });
    expect(await lock.release()).toBe(false);
    expect(quorum.told.at(-1)).toMatchObject({ event: 'lost', payload: { why: 'expired' } });
  });

  it('lasts as long as a majority of its seats can be relied on', async () => {
    const quorum = quorumOf();
    const lock = await heldMutex(quorum);
    const now = quorum.clock.nowMs();
    for (const [index, leftMs] of [100, 700, 400].entries()) seatAt(quorum, index).extendTo(now + leftMs);
    expect(lock.remainingMs).toBe(400);
    quorum.clock.moveWithoutTimers(400);
    expect(lock.isHeld).toBe(false);
  });

  it('is lost at once when fewer than a majority of its seats are left, and the rest is given back', async () => {
    const quorum = quorumOf();
    const lock = await heldMutex(quorum);
    const { signal } = lock;
    seatAt(quorum, 0).end('evicted');
    expect(signal.aborted).toBe(false);
    seatAt(quorum, 1).end('document-missing');
    expect(signal.reason).toBeInstanceOf(LockLostError);
    expect(signal.reason).toMatchObject({ why: 'document-missing' });
    expect(quorum.held).toEqual([0, 0, 0]);
    expect(quorum.events).toEqual(['acquired', 'lost']);
    expect(await lock.release()).toBe(false);
    expect(() => {
      lock.assertHeld();
    }).toThrow(LockLostError);
  });

  it('keeps its other seats when it ends because the provider closed', async () => {
    const quorum = quorumOf();
    const lock = await heldMutex(quorum);
    for (const index of [0, 1]) seatAt(quorum, index).end('provider-closed');
    expect(lock.isHeld).toBe(false);
    expect(seatAt(quorum, 2).isHeld).toBe(true);
  });

  it('asks for its lost seats again every third of a lease, until it is released', async () => {
    const quorum = quorumOf();
    const lock = await heldMutex(quorum);
    for (const store of [0, 1, 2, 0]) {
      const before = storeAt(quorum, store).asked;
      seatAt(quorum, store).end('expired');
      expect(lock.isHeld).toBe(true);
      quorum.clock.advance(LEASE_MS / 3);
      await settled();
      expect(storeAt(quorum, store).asked).toBe(before + 1);
      expect(seatAt(quorum, store).isHeld).toBe(true);
      for (const index of [0, 1, 2]) seatAt(quorum, index).extendTo(quorum.clock.nowMs() + LEASE_MS);
    }
    seatAt(quorum, 0).end('expired');
    await lock.release();
    const asked = quorum.stores.map((store) => store.asked);
    quorum.clock.advance(LEASE_MS);
    expect(quorum.stores.map((store) => store.asked)).toEqual(asked);
    expect(quorum.clock.alarms).toBe(0);
  });

  it('does not ask a store again that owes an answer, and gives back a seat that comes after its release', async () => {
    const quorum = quorumOf();
    let answer: (() => void) | undefined;
    const lock = await heldMutex(quorum);
    const grants = storeAt(quorum, 0).grants(9);
    storeAt(quorum, 0).says = async (wish) => {
      await new Promise<void>((resolve) => (answer = resolve));
      return await grants(wish);
    };
    seatAt(quorum, 0).end('expired');
    quorum.clock.advance(LEASE_MS / 3);
    quorum.clock.advance(LEASE_MS / 3);
    await settled();
    expect(storeAt(quorum, 0).asked).toBe(2);
    await lock.release();
    answer?.();
    await settled();
    expect(seatAt(quorum, 0).checkEnd()).toBe('released');
  });

  it('is confirmed by a majority, and by nothing less', async () => {
    const quorum = quorumOf();
    const lock = await heldMutex(quorum);
    seatAt(quorum, 0).answerToConfirm = () => Promise.reject(new Error('no answer'));
    await lock.confirm();
    seatAt(quorum, 1).answerToConfirm = () => Promise.reject(new Error('no answer'));
    expect(await rejection(lock.confirm())).toBeInstanceOf(QuorumError);
    expect(lock.isHeld).toBe(true);
  });

  it('is released without waiting for a silent store, and every release() resolves to true', async () => {
    const quorum = quorumOf();
    const lock = await heldMutex(quorum);
    seatAt(quorum, 1).answerToRelease = () => new Promise(() => undefined);
    expect(await lock.release()).toBe(true);
    expect(await lock.release()).toBe(true);
  });

  it('counts as lost if its release finds that a majority of its seats is gone', async () => {
    const quorum = quorumOf();
    const lock = await heldMutex(quorum);
    for (const index of [0, 1]) seatAt(quorum, index).answerToRelease = () => Promise.resolve(false);
    expect(await lock.release()).toBe(false);
    expect(quorum.events).toEqual(['acquired', 'lost']);
  });

  it('passes on the first release request of a store, once', async () => {
    const quorum = quorumOf();
    const lock = await heldMutex(quorum);
    seatAt(quorum, 1).askToRelease();
    seatAt(quorum, 2).askToRelease();
    expect(lock.releaseRequested.aborted).toBe(true);
    expect(quorum.events).toEqual(['acquired', 'releaseRequested']);
  });
});

describe('a request that waits', () => {
  it('is woken when so many holders have left that a majority is free, and by nothing else', async () => {
    const quorum = quorumOf();
    quorum.say(...[0, 1, 2].map((index) => refuses(holder(`w${index}`, 'p'))));
    const acquiring = later(quorum.mutex.acquire());
    await settled();
    // Without a wake-up, the pauses between its looks grow.
    for (let looks = 0; looks < 20; looks += 1) {
      quorum.clock.advance(800);
      await settled();
    }
    const asked = storeAt(quorum, 0).asked;
    for (const index of [0, 1, 2]) storeAt(quorum, index).says = storeAt(quorum, index).grants(500);
    storeAt(quorum, 0).tell([]);
    storeAt(quorum, 0).tell(['-w9:1', '~nonce']);
    storeAt(quorum, 0).tell(['-w0:1']);
    await settled();
    expect(storeAt(quorum, 0).asked).toBe(asked);
    storeAt(quorum, 1).tell(['-w1:2']);
    const lock = await acquiring;
    expect(lock.fencingToken).toBe(500);
    expect(quorum.stores.map(({ watchers }) => watchers.size)).toEqual([0, 0, 0]);
  });

  it('is not woken by contenders that back out of a split vote: only time ends that pause', async () => {
    const quorum = quorumOf();
    quorum.say(refuses(holder('w1', 'p')), refuses(holder('w2', 'q')));
    const acquiring = later(quorum.mutex.acquire());
    await settled();
    const asked = storeAt(quorum, 2).asked;
    for (const index of [0, 1, 2]) storeAt(quorum, index).says = storeAt(quorum, index).grants(500);
    for (const store of quorum.stores) store.tell(['-w1:1', '-w2:1']);
    await settled();
    expect(storeAt(quorum, 2).asked).toBe(asked);
    quorum.clock.advance(800);
    await acquiring;
  });

  it('fails with an AcquireTimeoutError, not a QuorumError, if only the gate was asked', async () => {
    const quorum = quorumOf();
    quorum.say(...[0, 1, 2].map((index) => refuses(holder(`w${index}`, 'p'))));
    expect(await quorum.mutex.tryAcquire()).toBeNull();
    const asked = storeAt(quorum, 1).asked;
    const acquiring = later(quorum.mutex.acquire({ timeoutMs: 25 }));
    await settled();
    quorum.clock.advance(20);
    await settled();
    quorum.clock.advance(5);
    expect(await rejection(acquiring)).toBeInstanceOf(AcquireTimeoutError);
    expect(storeAt(quorum, 0).asked).toBeGreaterThan(asked);
    expect(storeAt(quorum, 1).asked).toBe(asked);
  });

  it('pauses between its rounds while the gate is busy and names no holder', async () => {
    const quorum = quorumOf();
    quorum.say(refuses(), refuses(), refuses());
    const isBusy = refuses();
    let asked = 0;
    storeAt(quorum, 0).says = (wish) => (++asked < 50 ? isBusy(wish) : hangs(wish));
    const end = new AbortController();
    const acquiring = later(quorum.mutex.acquire({ signal: end.signal }));
    for (let steps = 0; steps < 100; steps += 1) {
      await settled();
      quorum.clock.advance(10);
    }
    // The pauses grow from 10 ms on, and no two rounds follow each other without one.
    expect(asked).toBeLessThan(20);
    end.abort();
    await rejection(acquiring);
  });

  it('asks the other stores too if no event comes from the gate', async () => {
    const quorum = quorumOf();
    quorum.say(...[0, 1, 2].map((index) => refuses(holder(`w${index}`, 'p'))));
    expect(await quorum.mutex.tryAcquire()).toBeNull();
    quorum.say(undefined, storeAt(quorum, 1).grants(500), storeAt(quorum, 2).grants(500));
    const acquiring = later(quorum.mutex.acquire());
    for (let looks = 0; looks < 4; looks += 1) {
      quorum.clock.advance(800);
      await settled();
    }
    expect((await acquiring).isHeld).toBe(true);
    expect(quorum.held).toEqual([0, 1, 1]);
  });

  it('holds no seat while it pauses', async () => {
    const quorum = quorumOf();
    quorum.say(undefined, refuses(holder('w1', 'p')), refuses(holder('w2', 'q')));
    const end = new AbortController();
    const acquiring = later(quorum.mutex.acquire({ signal: end.signal }));
    await settled();
    expect(storeAt(quorum, 0).seats).toHaveLength(1);
    expect(quorum.held).toEqual([0, 0, 0]);
    const reason = new Error('enough');
    end.abort(reason);
    expect(await rejection(acquiring)).toBe(reason);
    expect(quorum.clock.alarms).toBe(0);
  });

  it('waits in a split vote for a formerly silent store for at most twice the time of the others, and counts it if it is back', async () => {
    for (const isBack of [false, true]) {
      const quorum = quorumOf();
      quorum.say(undefined, refuses(holder('w1', 'p')), isSilent);
      expect(await inTime(quorum, quorum.mutex.tryAcquire())).toBeNull();
      let answer: (() => void) | undefined;
      const grants = storeAt(quorum, 2).grants(7);
      quorum.say(undefined, undefined, async (wish) => {
        await new Promise<void>((resolve) => (answer = resolve));
        return await grants(wish);
      });
      const trying = later(quorum.mutex.tryAcquire());
      await settled();
      if (isBack) answer?.();
      // The others took no time at all, so the store gets the shortest pause.
      await settled();
      quorum.clock.advance(10);
      await settled();
      expect(seatAt(quorum, 0).isHeld).toBe(isBack);
      expect((await inTime(quorum, trying)) !== null).toBe(isBack);
      expect(quorum.clock.alarms).toBe(isBack ? 1 : 0);
    }
  });

  it('waits for a store whose only answer was that the document of another lock is corrupt', async () => {
    const quorum = quorumOf();
    quorum.say(({ name }) => Promise.reject(new CorruptLockDocumentError(name)));
    await (await heldMutex(quorum)).release();
    let answer: (() => void) | undefined;
    const grants = storeAt(quorum, 0).grants(7);
    quorum.say(
      async (wish) => {
        await new Promise<void>((resolve) => (answer = resolve));
        return await grants(wish);
      },
      refuses(holder('w1', 'p')),
    );
    const trying = later(quorum.lock.tryAcquireWrite());
    await settled();
    quorum.clock.advance(10);
    await settled();
    answer?.();
    expect((await trying)?.isHeld).toBe(true);
  });

  it('waits for the probe of a silent store by another request instead of asking the store as well', async () => {
    const quorum = quorumOf();
    quorum.say(undefined, undefined, isSilent);
    await (await heldMutex(quorum)).release();
    let answer: (() => void) | undefined;
    const grants = storeAt(quorum, 2).grants(7);
    quorum.say(undefined, undefined, async (wish) => {
      await new Promise<void>((resolve) => (answer = resolve));
      return await grants(wish);
    });
    const asked = storeAt(quorum, 2).asked;
    for (const index of [0, 1, 2]) {
      const lock = await heldMutex(quorum);
      expect(storeAt(quorum, 2).asked).toBe(asked + 1);
      if (index < 2) await lock.release();
    }
    storeAt(quorum, 2).says = storeAt(quorum, 2).grants(1_007);
    answer?.();
    await settled();
    // The seat of the probe is given back, because its request is over. The hold that waited for the probe asks now.
    expect(storeAt(quorum, 2).asked).toBe(asked + 2);
    expect(storeAt(quorum, 2).seats.map((seat) => seat.isHeld)).toEqual([false, true]);
  });

  it('asks before its timeout even if it lets others pass first', async () => {
    const quorum = quorumOf();
    quorum.say(...[0, 1, 2].map((index) => refuses(holder(`w${index}`, 'p'))));
    expect(await quorum.mutex.tryAcquire()).toBeNull();
    for (const store of quorum.stores) store.says = store.grants(500);
    const acquiring = later(quorum.mutex.acquire({ timeoutMs: 4 }));
    await settled();
    quorum.clock.advance(1);
    expect((await acquiring).isHeld).toBe(true);
  });

  it('names the holder even if it times out in the middle of a round', async () => {
    const quorum = quorumOf();
    quorum.say(...[0, 1, 2].map((index) => refuses(holder(`w${index}`, 'p'))));
    const acquiring = later(quorum.mutex.acquire({ timeoutMs: 3_000 }));
    await settled();
    quorum.say(hangs, hangs, hangs);
    for (let looks = 0; looks < 30; looks += 1) {
      quorum.clock.advance(100);
      await settled();
    }
    expect(await rejection(acquiring)).toMatchObject({
      code: 'ACQUIRE_TIMEOUT',
      holders: [{ process: 'p' }],
    });
  });

  it('gives up at its timeout, and says how long it has waited', async () => {
    const quorum = quorumOf();
    quorum.say(...[0, 1, 2].map((index) => refuses(holder(`w${index}`, 'p'))));
    const acquiring = later(quorum.mutex.acquire({ timeoutMs: 5_000 }));
    for (let seconds = 0; seconds < 50; seconds += 1) {
      quorum.clock.advance(100);
      await settled();
    }
    const error = await rejection(acquiring);
    expect(error).toBeInstanceOf(AcquireTimeoutError);
    expect(error).toMatchObject({ waitedMs: 5_000 });
    expect(quorum.events).toEqual(['timeout']);
    expect(quorum.told[0]?.payload).toHaveProperty('id', expect.stringMatching(/^w\w{24}$/));
    expect(quorum.clock.alarms).toBe(0);
  });
});

describe('a mode', () => {
  it('is write when a majority of all stores has changed to it', async () => {
    const quorum = quorumOf();
    const lock = await quorum.lock.acquireUpgradeableRead();
    await settled();
    seatAt(quorum, 0).answerToModeChange = () =>
      Promise.reject(new AcquireTimeoutError('rw', { waitedMs: 1 }));
    expect(await lock.tryUpgrade()).toBe(true);
    expect(lock.currentMode()).toBe('write');
    // The seat that did not change is given back, and its store is asked again at once for a write.
    await settled();
    expect(storeAt(quorum, 0).seats.map((seat) => seat.isHeld)).toEqual([false, true]);
    expect(seatAt(quorum, 0).currentMode()).toBe('write');
  });

  it('stays upgradeable in every store if too few stores changed to write', async () => {
    const quorum = quorumOf();
    const lock = await quorum.lock.acquireUpgradeableRead();
    await settled();
    for (const index of [0, 1]) {
      seatAt(quorum, index).answerToModeChange = () =>
        Promise.reject(new AcquireTimeoutError('rw', { waitedMs: 1 }));
    }
    expect(await lock.tryUpgrade()).toBe(false);
    expect(quorum.events).toEqual(['acquired']);
    expect(await rejection(lock.upgrade({ timeoutMs: 5 }))).toBeInstanceOf(AcquireTimeoutError);
    expect(quorum.events).toEqual(['acquired', 'timeout']);
    expect(lock.currentMode()).toBe('upgradeable');
    expect(quorum.stores.map((_, index) => seatAt(quorum, index).currentMode())).toEqual(
      Array.from({ length: 3 }, () => 'upgradeable'),
    );
    expect(await rejection(lock.downgrade('upgradeable'))).toBeInstanceOf(LockModeError);
  });

  it('is not write if a seat that changed is lost before the token is confirmed', async () => {
    const quorum = quorumOf();
    const lock = await quorum.lock.acquireUpgradeableRead();
    await settled();
    let raised: (() => void) | undefined;
    seatAt(quorum, 0).answerToRaise = () => new Promise<void>((resolve) => (raised = resolve));
    seatAt(quorum, 2).answerToModeChange = () =>
      Promise.reject(new AcquireTimeoutError('rw', { waitedMs: 1 }));
    const upgrading = later(lock.upgrade());
    await settled();
    seatAt(quorum, 1).end('evicted');
    raised?.();
    expect(await rejection(upgrading)).toBeInstanceOf(QuorumError);
    expect([lock.currentMode(), lock.isHeld]).toEqual(['upgradeable', true]);
    expect(seatAt(quorum, 0).currentMode()).toBe('upgradeable');
  });

  it('has a token to which the fence of a seat that joins meanwhile is lifted, however often the mode changes', async () => {
    const quorum = quorumOf();
    let raised: (() => void) | undefined;
    quorum.say(undefined, undefined, (wish) => {
      const seat = new MockSeat(quorum.clock, wish, 1);
      seat.answerToRaise = () => new Promise<void>((resolve) => (raised = resolve));
      return Promise.resolve(seat);
    });
    const lock = await quorum.lock.acquireUpgradeableRead();
    await settled();
    const [, , late] = [0, 1, 2].map((index) => seatAt(quorum, index));
    for (const index of [0, 1]) seatAt(quorum, index).tokenOfUpgrade = 7_000 + index;
    await lock.upgrade();
    await lock.downgrade('upgradeable');
    expect(lock.fencingToken).toBe(7_001);
    while (late?.fence !== 7_001) {
      raised?.();
      await settled();
    }
    expect(quorum.held).toEqual([1, 1, 1]);
  });

  it('is given up at once by a downgrade, which fails unless a majority follows', async () => {
    const quorum = quorumOf();
    const lock = await quorum.lock.acquireWrite();
    await settled();
    for (const index of [0, 1]) {
      seatAt(quorum, index).answerToModeChange = () => Promise.reject(new Error('no answer'));
    }
    const downgrading = later(lock.downgrade('read'));
    expect(lock.currentMode()).toBe('read');
    expect(await rejection(downgrading)).toBeInstanceOf(QuorumError);
    expect(lock.currentMode()).toBe('read');
    expect(lock.isHeld).toBe(true);
  });
});

describe('inspect()', () => {
  it('shows a process that may hold a majority, by all stores that answer and not only by the first ones', async () => {
    const quorum = quorumOf();
    const shows = (...holders: readonly LeaseInfo[]) => ({
      name: 'm',
      kind: 'mutex' as const,
      asOf: new Date(0),
      holders,
      waiters: [],
    });
    let answer: (() => void) | undefined;
    storeAt(quorum, 0).shows = () => Promise.resolve(shows());
    storeAt(quorum, 1).shows = () => Promise.resolve(shows(holder('w1', 'p')));
    storeAt(quorum, 2).shows = async () => {
      await new Promise<void>((resolve) => (answer = resolve));
      return shows(holder('w2', 'p'));
    };
    const inspecting = later(quorum.mutex.inspect());
    await settled();
    answer?.();
    expect((await inspecting)?.holders).toMatchObject([{ process: 'p' }]);
    storeAt(quorum, 2).shows = () => Promise.reject(new Error('down'));
    expect((await quorum.mutex.inspect())?.holders).toMatchObject([{ process: 'p' }]);
    storeAt(quorum, 2).shows = () => Promise.resolve(shows());
    expect((await quorum.mutex.inspect())?.holders).toEqual([]);
  });
});
