import type { Document } from 'mongodb';
import { describe, expect, it, vi } from 'vitest';

import type { Inspector, StoredLock } from '../../../src/admin/inspector.js';
import { Board } from '../../../src/dashboard/board.js';
import { HandOverRate } from '../../../src/dashboard/hand-over-rate.js';
import { LockFeed } from '../../../src/dashboard/lock-feed.js';
import { engineOf } from '../../../src/engine-of.js';
import { LockProvider } from '../../../src/index.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';
import { eventually } from '../../../lab/patience.js';
import { lockDocument } from '../../model/documents/corruptions.js';
import { whenTestEnds } from '../../support/current-test.js';

type Reads = Pick<Inspector, 'readStored' | 'pageStored'>;

/** A feed on a replica set in memory. Its reads are those of the inspector, unless the test replaces them. */
class World {
  readonly set = new MemoryReplicaSet({ seed: 13 });
  readonly locks = new LockProvider(this.set.db('app'));
  readonly #engine = engineOf(this.locks);
  readonly board = new Board(this.#engine.requester.context.clock);
  readonly clock = this.#engine.requester.context.clock;
  readonly inspector: Reads = this.#engine.inspector;

  /** Stores so many held locks. To acquire each of them would take most of the time of a test. */
  async storeHeld(count: number): Promise<void> {
    const stored = this.set.db('app').collection<Document & { _id: string }>('distributed.locks');
    await stored.insertMany(Array.from({ length: count }, (_, at) => heldLock(at) as { _id: string }));
  }

  feed(reads: Reads = this.inspector): LockFeed {
    const { requester, overseeing: settings } = this.#engine;
    const { collection, clock, report } = requester.context;
    const context = { collection, settings, clock, report };
    this.locks.on('storeError', () => undefined);
    const feed = new LockFeed(context, reads, this.board, new HandOverRate(clock), () => undefined);
    whenTestEnds(async () => {
      await feed.close();
      await this.locks.close({ drainMs: 0 });
      await this.set.close();
    });
    return feed;
  }
}

function heldLock(at: number): Document {
  const document = lockDocument('mutex', `lock ${String(at)}`);
  return { ...document, holder: { ...(document['holder'] as Document), id: `w${String(at)}` }, queue: {} };
}

it('a feed that starts again before its stream has ended is live again', async () => {
  const feed = new World().feed();
  feed.start();
  await eventually('it is live', () => feed.state === 'live');
  feed.stop();
  feed.start();
  expect(feed.state).toBe('connecting');
  await eventually('it is live again', () => feed.state === 'live');
});

it('a feed reads at most 500 locks at a time', async () => {
  const world = new World();
  const { inspector } = world;
  const sizes: number[] = [];
  let goOn: (() => void) | undefined;
  const mayGoOn = new Promise<void>((resolve) => (goOn = resolve));
  const feed = world.feed({
    pageStored: inspector.pageStored.bind(inspector),
    readStored: async (names) => {
      sizes.push(names.length);
      await mayGoOn;
      return await inspector.readStored(names);
    },
  });
  feed.start();
  await eventually('it is live', () => feed.state === 'live');
  const heard = vi.spyOn(world.board, 'heard');
  const first = await world.locks.acquireMutex('first');
  await eventually('the first read is under way', () => sizes.length === 1);
  await world.storeHeld(1_201);
  await eventually(
    'all changes are reported',
    () => new Set(heard.mock.calls.map(([name]) => name)).size === 1_202,
  );
  goOn?.();
  await eventually('all are shown', () => world.board.totals.locks === 1_202);
  expect(sizes.slice(0, 3)).toEqual([1, 500, 500]);
  expect(Math.max(...sizes)).toBe(500);
  expect(first.isHeld).toBe(true);
});

const withoutHolders = (stored: StoredLock): StoredLock => ({
  ...stored,
  snapshot: stored.snapshot === null ? null : { ...stored.snapshot, holders: [] },
});

/** The lock with leases that are over at the time of the read. */
const withEndedLeases = (stored: StoredLock): StoredLock => {
  const { asOf, snapshot } = stored;
  if (snapshot === null) return stored;
  const holders = snapshot.holders.map((holder) => ({ ...holder, expiresAt: asOf }));
  return { ...stored, snapshot: { ...snapshot, holders } };
};

describe('a lease that is over and gone', () => {
  it.each([
    ['is lost if the stream reports no release', false, 1],
    ['is not lost if it may have been released while the stream was broken', true, 0],
  ])('%s', async (_, isBroken, losses) => {
    const world = new World();
    const { inspector } = world;
    const lock = await world.locks.acquireMutex('x');
    let isGone = false;
    const feed = world.feed({
      pageStored: async (after) =>
        (await inspector.pageStored(after)).map(isGone ? withoutHolders : withEndedLeases),
      readStored: async (names) => {
        const found = await inspector.readStored(names);
        isGone = true;
        if (isBroken) world.set.breakStreams();
        if (isBroken) await eventually('the feed knows it', () => feed.state === 'unavailable');
        return found.map(withoutHolders);
      },
    });
    feed.start();
    await eventually('it is held', () => world.board.totals.held === 1);
    await eventually('it is free', () => world.board.totals.held === 0);
    expect(world.board.totals.losses).toBe(losses);
    expect(lock.isHeld).toBe(true);
  });
});

it.each([
  ['is no loss if the read after the event still shows the lease', 1, 0],
  ['does not end the lease if two reads after the event show the lease', 2, 1],
])('what may be a release %s', async (_, reads, losses) => {
  const world = new World();
  const { board, inspector } = world;
  world.feed();
  const lock = await world.locks.acquireMutex('x');
  const shown = (await inspector.readStored(['x'])).map(withEndedLeases);
  board.put(shown, true);
  board.heard('x', 0, [lock.id]);
  for (let read = 0; read < reads; read += 1) board.put(shown, true);
  board.put(shown.map(withoutHolders), true);
  expect([board.totals.held, board.totals.losses]).toEqual([0, losses]);
  expect(lock.isHeld).toBe(true);
});

it('all leases that are over are read at once, 500 locks by one command', async () => {
  const world = new World();
  const { inspector } = world;
  const first = await world.locks.acquireMutex('first');
  await world.storeHeld(1_200);
  const sizes: number[] = [];
  const feed = world.feed({
    pageStored: async (after) => (await inspector.pageStored(after)).map(withEndedLeases),
    readStored: async (some) => {
      sizes.push(some.length);
      return (await inspector.readStored(some)).map(withoutHolders);
    },
  });
  const endedBy = vi.spyOn(world.board, 'endedBy');
  feed.start();
  await eventually('all are held', () => world.board.totals.held === 1_201);
  await eventually('all are free', () => world.board.totals.held === 0);
  expect(sizes).toEqual([500, 500, 201]);
  const found = endedBy.mock.results.map(({ value }) => (value as readonly string[]).length);
  expect(found.filter((count) => count > 0)).toEqual([1_201]);
  expect(first.isHeld).toBe(true);
});

it('the pause after a read is three times as long as the read', async () => {
  const world = new World();
  const { inspector, clock } = world;
  const lock = await world.locks.acquireMutex('x');
  const reads: { readonly startedMs: number; readonly endedMs: number }[] = [];
  const feed = world.feed({
    pageStored: async (after) => (await inspector.pageStored(after)).map(withEndedLeases),
    readStored: async (names) => {
      const startedMs = clock.nowMs();
      const found = await inspector.readStored(names);
      await world.set.sleep(400);
      reads.push({ startedMs, endedMs: clock.nowMs() });
      return found.map(withEndedLeases);
    },
  });
  feed.start();
  await eventually('three reads are over', () => reads.length >= 3);
  for (const [at, { startedMs, endedMs }] of reads.slice(0, -1).entries()) {
    // No pause is longer than three seconds.
    const leastMs = Math.min(3 * (endedMs - startedMs), 3_000);
    expect((reads[at + 1]?.startedMs ?? 0) - endedMs).toBeGreaterThanOrEqual(leastMs);
  }
  expect(lock.isHeld).toBe(true);
});

it('after a gap in the stream, a read of 500 locks is followed by the read of all locks', async () => {
  const world = new World();
  const { inspector, board } = world;
  const heard = vi.spyOn(board, 'heard');
  const commands: string[] = [];
  const first = await world.locks.acquireMutex('first');
  await world.storeHeld(1_200);
  const feed = world.feed({
    pageStored: async (after) => {
      if (after === null) commands.push('all');
      return (await inspector.pageStored(after)).map(
        commands.length === 1 ? withEndedLeases : (each) => each,
      );
    },
    readStored: async (some) => {
      commands.push(String(some.length));
      world.set.breakStreams();
      await eventually('the stream is broken', () => feed.state === 'unavailable');
      // An event shows that the stream is open again.
      await eventually('the stream is open again', async () => {
        await (await world.locks.acquireMutex('later')).release();
        return heard.mock.calls.some(([name]) => name === 'later');
      });
      return await inspector.readStored(some);
    },
  });
  feed.start();
  await eventually('all locks are read again', () => commands.length >= 3);
  expect(commands.slice(0, 3)).toEqual(['all', '500', 'all']);
  expect(first.isHeld).toBe(true);
});
