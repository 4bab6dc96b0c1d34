import { afterEach, describe, expect, it } from 'vitest';

import type { LockProviderHealth } from '../../../src/index.js';
import { QuorumLockProvider } from '../../../src/quorum/index.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';
import { later, rejection } from '../../../lab/patience.js';
import { Fleet, untilSettled } from '../testing/fleet.js';
import type { Member } from '../testing/fleet.js';
import { keepHold } from '../../support/keep-hold.js';

let fleet = new Fleet(1);

afterEach(async () => {
  await fleet.close();
});

/** Two processes of a new fleet, with leases of 10 s. */
function two(seed: number): readonly [Member, Member] {
  fleet = new Fleet(seed);
  const [one, other] = fleet.members;
  if (one === undefined || other === undefined) throw new Error('no fleet');
  return [one, other];
}

const NEW: LockProviderHealth = {
  healthy: true,
  reasons: [],
  wakeups: null,
  answeredMsAgo: null,
  leastLeaseShare: null,
  streams: 0,
  held: 0,
  waiting: 0,
};

describe('the health of a provider', () => {
  it('is good before the first command', () => {
    const [{ locks }] = two(61);
    expect(locks.health()).toEqual(NEW);
  });

  it('counts holds, waits and streams, and tells how waiters are woken', async () => {
    const [one, other] = two(62);
    const hold = await fleet.until(one.locks.acquireMutex('a'));
    const permits = one.locks.createSemaphore('s', 3);
    await keepHold(fleet.until(permits.acquire()));
    expect(one.locks.health()).toMatchObject({ held: 2, waiting: 0, streams: 0, wakeups: null });
    const waited = other.locks.acquireMutex('a');
    await fleet.set.advance(1_000);
    expect(other.locks.health()).toMatchObject({ held: 0, waiting: 1, streams: 1, wakeups: 'change-stream' });
    await fleet.until(hold.release());
    await keepHold(fleet.until(waited));
    expect(other.locks.health()).toMatchObject({ held: 1, waiting: 0 });
    expect(one.locks.health()).toMatchObject({ held: 1, healthy: true });
  });

  it('tells the age of the last answer, and keeps the share of leases high while extensions are answered', async () => {
    const [{ locks }] = two(63);
    await keepHold(fleet.until(locks.acquireMutex('a')));
    for (let ms = 0; ms < 30_000; ms += 500) {
      const { healthy, leastLeaseShare, answeredMsAgo } = locks.health();
      expect(healthy).toBe(true);
      expect(leastLeaseShare).toBeGreaterThan(0.6);
      expect(leastLeaseShare).toBeLessThanOrEqual(1);
      expect(answeredMsAgo).toBeLessThan(4_000);
      await fleet.set.advance(500);
    }
  });

  it('is bad while the store does not answer for longer than storeTimeoutMs, with the reason, and good again after that', async () => {
    const [{ db, locks }] = two(64);
    await keepHold(fleet.until(locks.acquireMutex('a')));
    fleet.set.cut(db);
    const asked = later(locks.acquireMutex('b', { timeoutMs: 60_000 }));
    await fleet.set.advance(4_000);
    expect(locks.health()).toMatchObject({ healthy: true, waiting: 1 });
    await fleet.set.advance(3_000);
    const { healthy, reasons, answeredMsAgo } = locks.health();
    expect(healthy).toBe(false);
    expect(reasons[0]).toMatch(/^the store has not answered for \d\.\d s: /);
    expect(answeredMsAgo).toBeGreaterThanOrEqual(7_000);
    fleet.set.heal(db);
    await keepHold(fleet.until(asked));
    // The hold, too, is extended again.
    await fleet.set.advance(1_000);
    expect(locks.health()).toMatchObject({ healthy: true, reasons: [] });
  });

  it('is bad when little of a lease is left', async () => {
    const [{ db, locks }] = two(65);
    await keepHold(fleet.until(locks.acquireMutex('a')));
    fleet.set.cut(db);
    await fleet.set.advance(8_500);
    const { healthy, reasons, leastLeaseShare } = locks.health();
    expect(leastLeaseShare).toBeLessThan(0.25);
    expect([healthy, reasons.at(-1)]).toEqual([
      false,
      expect.stringMatching(/^only \d+ % of a lease is left$/),
    ]);
  });

  it('does not count a lease that was revoked: it is not extended, and that is no trouble', async () => {
    const [one, other] = two(66);
    const hold = await fleet.until(one.locks.acquireMutex('a'));
    await fleet.until(other.locks.revoke('a'));
    await fleet.set.advance(8_500);
    expect(hold.releaseRequested.aborted).toBe(true);
    expect(one.locks.health()).toMatchObject({ healthy: true, leastLeaseShare: null, held: 1 });
  });

  it('forgets a failure that nothing was sent after, because the store may be back', async () => {
    const [{ db, locks }] = two(67);
    fleet.set.cut(db);
    await rejection(fleet.until(locks.inspect('a')));
    const asked = await rejection(fleet.until(locks.inspect('a')));
    expect(asked).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(locks.health().healthy).toBe(false);
    await fleet.set.advance(11_000);
    expect(locks.health()).toMatchObject({ healthy: true, answeredMsAgo: null });
  });

  it('counts a new silence after a forgotten failure from the new failure', async () => {
    const [{ db, locks }] = two(69);
    fleet.set.cut(db);
    await rejection(fleet.until(locks.inspect('a')));
    await fleet.set.advance(3_600_000);
    await rejection(fleet.until(locks.inspect('a')));
    await fleet.set.advance(1_000);
    expect(locks.health().reasons).toEqual([
      expect.stringMatching(/^the store has not answered for \d\.\d s: /),
    ]);
  });

  it('counts a silence from the last answer, if the store has answered another command meanwhile', async () => {
    const [{ db, locks }] = two(72);
    const answer = db.command.bind(db);
    // The first command gets no answer, as if its connection alone were cut. Later ones are answered.
    db.command = () => new Promise(() => undefined);
    const asked = later(locks.inspect('a'));
    await fleet.set.advance(100);
    db.command = answer;
    await fleet.set.advance(4_800);
    await fleet.until(locks.inspect('b'));
    expect(await rejection(fleet.until(asked))).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await fleet.set.advance(100);
    const { healthy, reasons, answeredMsAgo } = locks.health();
    expect(answeredMsAgo).toBeLessThan(1_000);
    expect({ healthy, reasons }).toEqual({ healthy: true, reasons: [] });
  });

  it('is bad while the driver refuses, with the reason, however long ago it was', async () => {
    const [{ db, locks }] = two(70);
    await fleet.until(locks.inspect('a'));
    await db.client.close();
    expect(await rejection(fleet.until(locks.acquireMutex('a')))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
    const refused = {
      healthy: false,
      reasons: [expect.stringMatching(/^the driver refuses commands: the client is closed: /)],
    };
    expect(locks.health()).toMatchObject(refused);
    await fleet.set.advance(3_600_000);
    expect(locks.health()).toMatchObject(refused);
  });

  it('is good while the server refuses commands, because the server has answered', async () => {
    const [{ db, locks }] = two(71);
    const refusal = Object.assign(new Error('not authorized'), { name: 'MongoServerError', code: 13 });
    db.command = () => Promise.reject(refusal);
    expect(await rejection(fleet.until(locks.inspect('a')))).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(locks.health()).toMatchObject({
      healthy: true,
      reasons: [],
      answeredMsAgo: expect.any(Number) as number,
    });
  });

  it('is bad once the provider closes', async () => {
    const [{ locks }] = two(68);
    await fleet.until(locks.close());
    expect(locks.health()).toMatchObject({
      healthy: false,
      reasons: ['the provider is closed, or about to close'],
    });
  });
});

it('the health of a quorum is good as long as that of a majority of its stores is', async () => {
  const first = new MemoryReplicaSet({ time: 'virtual', seed: 71 });
  const others = [72, 73].map((seed) => new MemoryReplicaSet({ time: first, seed }));
  const sets = [first, ...others];
  const locks = new QuorumLockProvider(sets.map((set) => set.db('app')));
  for (const event of ['storeError', 'lost'] as const) locks.on(event, () => undefined);
  await keepHold(untilSettled(first, locks.createMutex('a').acquire()));
  expect(locks.health()).toMatchObject({
    healthy: true,
    reasons: [],
    stores: [{ held: 1 }, { held: 1 }, { held: 1 }],
  });
  others[0]?.stop();
  await first.advance(26_000);
  const one = locks.health();
  expect(one).toMatchObject({
    healthy: true,
    stores: [{ healthy: true }, { healthy: false }, { healthy: true }],
  });
  expect(one.reasons[0]).toMatch(/^store 1: /);
  others[1]?.stop();
  await first.advance(26_000);
  expect(locks.health().healthy).toBe(false);
  await untilSettled(first, locks.close({ drainMs: 0 }));
  await Promise.all(sets.map((set) => set.close()));
});
