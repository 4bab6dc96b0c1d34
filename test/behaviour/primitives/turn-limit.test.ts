import { describe, expect, it, vi } from 'vitest';

import { later, pause, settled } from '../../../lab/patience.js';
import { systemClock } from '../../../src/clock.js';
import { TurnLimit } from '../../../src/primitives/turn-limit.js';
import { QuorumLockProvider } from '../../../src/quorum/index.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';
import { untilTestEnds, whenTestEnds } from '../../support/current-test.js';
import { ManualClock } from '../../support/manual-clock.js';
import { twoProviders } from '../../support/test-provider.js';
import { untilKept, untilReadKept } from '../seat-cache/until-kept.js';

const KEEP_MS = 60_000;

/** Calls again as soon as a call is answered, and expects that the event loop turns meanwhile. */
async function again(call: () => Promise<unknown>, isOver: () => boolean): Promise<void> {
  let callsInTurn = 0;
  while (!isOver()) {
    if (callsInTurn === 0) setImmediate(() => (callsInTurn = 0));
    callsInTurn += 1;
    if (callsInTurn > 5_000) throw new Error('the event loop does not turn');
    await call();
  }
}

describe('callers that ask again as soon as they are answered', () => {
  it('share a read no longer once the process of a writer waits', async () => {
    const [here, there] = await twoProviders({ leaseMs: 60_000, createIndexes: false });
    const lock = here.locks.createReaderWriterLock('a', { keepMs: KEEP_MS });
    await untilReadKept(here, lock);
    let isWritten = false;
    const write = later(there.locks.createReaderWriterLock('a').useWrite(() => (isWritten = true)));
    await again(
      async () => await (await lock.acquireRead()).release(),
      () => isWritten,
    );
    expect(await write).toBe(true);
  });

  it('pass a mutex on no longer once another process waits', async () => {
    const [here, there] = await twoProviders({ leaseMs: 60_000, createIndexes: false });
    const mutex = here.locks.createMutex('a', { keepMs: KEEP_MS });
    await untilKept(here, mutex);
    let isTaken = false;
    const other = later(there.locks.useMutex('a', () => (isTaken = true)));
    await again(
      async () => await (await mutex.acquire()).release(),
      () => isTaken,
    );
    expect(await other).toBe(true);
  });

  it('get a mutex whose holder releases it after a timer, although their tries fail without the server', async () => {
    const [here] = await twoProviders({ leaseMs: 60_000, createIndexes: false });
    const mutex = here.locks.createMutex('a', { keepMs: KEEP_MS });
    await untilKept(here, mutex);
    const first = await mutex.acquire();
    const releasing = pause(20).then(() => first.release());
    let last = await mutex.tryAcquire();
    expect(last).toBeNull();
    await again(
      async () => (last = await mutex.tryAcquire()),
      () => last !== null,
    );
    expect(await releasing).toBe(true);
    expect(await last?.release()).toBe(true);
  });

  it('are served in the order of their calls, also those that wait for the next turn', async () => {
    const [here] = await twoProviders({ leaseMs: 60_000, createIndexes: false });
    const lock = here.locks.createReaderWriterLock('a', { keepMs: KEEP_MS });
    await untilReadKept(here, lock);
    const served: number[] = [];
    const before = here.commands.length;
    const calls = Array.from({ length: 1_000 }, async (_, index) => {
      const hold = await lock.acquireRead();
      served.push(index);
      await hold.release();
    });
    await Promise.all(calls);
    expect(served).toEqual(calls.map((_, index) => index));
    expect(here.commands.length).toBe(before);
  });

  it('get the lock one after the other if it was not kept before', async () => {
    const [here] = await twoProviders({ leaseMs: 60_000, createIndexes: false });
    const reads = here.locks.createReaderWriterLock('a', { keepMs: KEEP_MS });
    await untilReadKept(here, reads);
    const mutex = here.locks.createMutex('b', { keepMs: KEEP_MS });
    const order: number[] = [];
    const uses = Array.from({ length: 600 }, async (_, index) => {
      await (await reads.acquireRead()).release();
      await mutex.use(() => order.push(index));
    });
    await Promise.all(uses);
    expect(order).toEqual(uses.map((_, index) => index));
  });

  it('have what they were granted in the turn before, if their provider closes or their signal aborts', async () => {
    const [here] = await twoProviders({ leaseMs: 60_000, createIndexes: false });
    const lock = here.locks.createReaderWriterLock('a', { keepMs: KEEP_MS });
    await untilReadKept(here, lock);
    const controller = new AbortController();
    await settled();
    const first = Array.from({ length: 256 }, () => lock.acquireRead());
    const last = later(lock.acquireRead({ signal: controller.signal }));
    const holds = await Promise.all(first);
    expect(here.locks.health()).toMatchObject({ held: 257, waiting: 0 });
    controller.abort();
    const closed = here.locks.close({ drainMs: 60_000 });
    holds.push(await last);
    expect(await Promise.all(holds.map((hold) => hold.release()))).not.toContain(false);
    await closed;
  });

  it('let their provider close, although each request fails at once', async () => {
    const [here] = await twoProviders({ leaseMs: 60_000, createIndexes: false });
    const hold = await here.locks.acquireMutex('a');
    let isClosed = false;
    const closing = here.locks.close({ drainMs: 50 }).then(() => (isClosed = true));
    await again(
      () => here.locks.acquireMutex('b').catch(() => undefined),
      () => isClosed,
    );
    await closing;
    expect(hold.isHeld).toBe(false);
  });

  it('let a quorum provider close, although each request fails at once', async () => {
    const sets = [1, 2, 3].map((seed) => new MemoryReplicaSet({ seed }));
    for (const set of sets) whenTestEnds(() => set.close());
    const locks = untilTestEnds(new QuorumLockProvider(sets.map((set) => set.db('app'))));
    const hold = await locks.createMutex('a').acquire();
    const other = locks.createReaderWriterLock('b');
    let isClosed = false;
    const closing = locks.close({ drainMs: 50 }).then(() => (isClosed = true));
    await again(
      () => other.acquireRead().catch(() => undefined),
      () => isClosed,
    );
    await closing;
    expect(hold.isHeld).toBe(false);
  });
});

describe('the limit of a turn', () => {
  it('lets the callers after 256 requests wait for a turn, in their order', async () => {
    const limit = new TurnLimit(new ManualClock());
    for (let round = 0; round < 3; round += 1) {
      for (let count = 0; count < 256; count += 1) expect(limit.ended()).toBeUndefined();
      const told: string[] = [];
      const waits = ['first', 'second', 'third'].map((who) => limit.ended()?.then(() => told.push(who)));
      expect(told).toEqual([]);
      for (const wait of waits) await wait;
      expect(told).toEqual(['first', 'second', 'third']);
    }
  });

  it.each([1, 2, 5])(
    'gives %i callers that ask again at once 256 requests in a turn together',
    async (callers) => {
      const limit = new TurnLimit(new ManualClock());
      let requests = 0;
      let isOver = false;
      const loops = Array.from({ length: callers }, async () => {
        while (!isOver) {
          requests += 1;
          await limit.ended();
        }
      });
      const [from, turns] = [requests, 100];
      for (let turn = 0; turn < turns; turn += 1) await settled();
      isOver = true;
      await Promise.all(loops);
      const inATurn = (requests - from) / turns;
      expect(inATurn).toBeGreaterThan(120);
      expect(inATurn).toBeLessThan(256 + 2 * callers + 10);
    },
  );

  it('is not reached by requests that the server has answered', () => {
    const limit = new TurnLimit(new ManualClock());
    for (let count = 0; count < 1_000; count += 1) {
      limit.turned();
      expect(limit.ended()).toBeUndefined();
    }
  });

  it('does not depend on a turn that was dropped with the faked timers of a test', async () => {
    vi.useFakeTimers();
    const limit = new TurnLimit(systemClock);
    for (let count = 0; count < 300; count += 1) void limit.ended();
    vi.useRealTimers();
    for (let count = 0; count < 300; count += 1) await limit.ended();
  });
});
