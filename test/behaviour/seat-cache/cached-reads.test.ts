import { describe, expect, it } from 'vitest';
import { momentNow, after } from '../../../src/clock.js';
import type { LossCause } from '../../../src/errors.js';
import { Hold } from '../../../src/lease/holding/hold.js';
import { Seat } from '../../../src/lease/holding/seat.js';
import type { SeatHold } from '../../../src/lease/holding/holds-of-seat.js';
import { CachedReads } from '../../../src/lease/seat-cache/cached-reads.js';
import { readerWriterRules } from '../../../src/protocol/kinds/reader-writer-rules.js';
import type { Lease, Mode } from '../../../src/protocol/lock-document.js';
import type { Reply } from '../../../src/protocol/replies/reply.js';
import { later, settled } from '../../../lab/patience.js';
import { ManualClock } from '../../support/manual-clock.js';

const TERMS = { leaseMs: 30_000, extendEveryMs: 10_000, clockAllowanceMs: 1_000, retentionMs: 60_000 };
const KEEP_MS = 5_000;
/** How long a process relies on a lease that was just granted or extended. */
const RELIED_MS = TERMS.leaseMs - TERMS.clockAllowanceMs;

type Answer = (outcome: Hold | Error) => void;

/** The cached reads of one lock, whose server is the test, and whose time stands still. */
class World {
  readonly clock = new ManualClock();
  /** The requests that are in flight, first come first. */
  readonly asked: Answer[] = [];
  /** Everything that has left the process: idle seats given back, seats lost, seats asked about. */
  readonly events: string[] = [];
  readonly reads: CachedReads;
  gaplessSinceMs = 0;
  #seats = 0;

  constructor() {
    this.reads = new CachedReads('a', readerWriterRules, {
      ...{ process: 'p', clock: this.clock, report: () => undefined },
      closing: new AbortController().signal,
      gaplessSinceMs: () => this.gaplessSinceMs,
      returnIdle: (idle) => {
        this.events.push(`given back ${idle.id}`);
        idle.giveUp();
        this.reads.seatEnded(idle);
      },
      changed: () => undefined,
      used: () => undefined,
    });
  }

  acquire(mode: Mode = 'read', leaseMs = TERMS.leaseMs, timeoutMs = Infinity): Promise<Hold> {
    const request = { durations: { ...TERMS, leaseMs }, timeoutMs, why: undefined, signal: undefined };
    return later(
      this.reads.acquire(
        { ...request, startedMs: this.clock.nowMs(), demand: { mode }, keepMs: KEEP_MS, passes: 0 },
        () =>
          new Promise((resolve, reject) => {
            this.asked.push((outcome) => {
              if (outcome instanceof Hold) resolve(outcome);
              else reject(outcome);
            });
          }),
      ),
    );
  }

  /** The server grants a read to the first request in flight. Its answer shows what `shown` says. */
  async grant(shown: Partial<Reply> = {}): Promise<void> {
    this.#seats += 1;
    const id = `w${String(this.#seats)}`;
    this.note({ leases: [leaseOf(id)], ...shown });
    const deadline = after(momentNow(this.clock), RELIED_MS);
    const grant = { name: 'a', rules: readerWriterRules, id, token: this.#seats, durations: TERMS, deadline };
    const seat = new Seat({ ...grant, demand: { mode: 'read' } }, this.clock, this, this.reads);
    const hold = new Hold(seat);
    this.reads.seatGranted(seat);
    this.asked.shift()?.(hold);
    await settled();
  }

  note(shown: Partial<Reply> = {}, sinceMs = this.clock.nowMs()): void {
    this.reads.note({ ...REPLY, ...shown }, sinceMs);
  }

  /** What `Holds` does with a released hold. */
  release(hold: Hold): void {
    if (!hold.release() || !hold.seat.isIdle) return;
    if (this.reads.mayKeep(hold.seat)) this.reads.keepIdle(hold.seat);
    else this.reads.returnIdle(hold.seat);
  }

  lost(seat: Seat, holds: readonly SeatHold[], why: LossCause): void {
    this.events.push(`lost ${seat.id} with ${String(holds.length)}: ${why}`);
    this.reads.seatEnded(seat);
  }

  doubtful(seat: Seat): void {
    this.events.push(`doubt ${seat.id}`);
  }

  /** Whether a new reader has to ask the server. */
  async asks(): Promise<boolean> {
    const before = this.asked.length;
    void this.acquire();
    await settled();
    return this.asked.length > before;
  }
}

const leaseOf = (id: string): Lease => ({
  ...{ id, process: 'p', token: 1, mode: 'read', keeps: 1, leaseMs: TERMS.leaseMs },
  ...{ acquiredAt: new Date(0), expiresAt: new Date(TERMS.leaseMs) },
});

const REPLY: Reply = {
  ...{ nowMs: 0, kind: 'reader-writer', isWellFormed: true, fence: 1, wake: [], leases: [leaseOf('w1')] },
  ...{ leaseCount: 1, limit: undefined, places: [], waiters: 0, ownWaiters: undefined },
  ...{ isWriterWaiting: false, earliestExpiryMs: null },
};

/** A world with one reader, which shares its seat. */
async function sharing(): Promise<{ readonly world: World; readonly first: Hold }> {
  const world = new World();
  const acquired = world.acquire();
  await world.grant();
  return { world, first: await acquired };
}

describe('a kept read seat', () => {
  it('is shared without the server while nobody waits', async () => {
    const { world, first } = await sharing();
    const second = await world.acquire();
    expect([second.id, second.token]).toEqual([first.id, first.token]);
    expect(world.asked).toHaveLength(0);
  });

  it('is not shared past its deadline, even if no timer has fired, and all its holds are lost then', async () => {
    const { world, first } = await sharing();
    const second = await world.acquire();
    world.clock.moveWithoutTimers(RELIED_MS);
    expect(await world.asks()).toBe(true);
    expect([first.checkEnd(), second.checkEnd()]).toEqual(['expired', 'expired']);
    expect(world.events).toEqual(['lost w1 with 2: expired']);
  });

  it('is not shared with less than a third of its lease left, and is shared again after an extension', async () => {
    const { world, first } = await sharing();
    world.clock.advance(RELIED_MS - TERMS.leaseMs / 3);
    expect(await world.asks()).toBe(false);
    world.clock.advance(1);
    expect(await world.asks()).toBe(true);
    first.seat.extendTo(after(momentNow(world.clock), RELIED_MS));
    expect(await world.asks()).toBe(false);
  });

  it('is not shared while it is in doubt after a suspension, and the server is asked about it (E19)', async () => {
    const { world, first } = await sharing();
    world.clock.suspend(2_000);
    expect(await world.asks()).toBe(true);
    expect(world.events).toEqual(['doubt w1']);
    expect(first.checkRemainingMs()).toBe(0);
    first.seat.extendTo(after(momentNow(world.clock), RELIED_MS));
    expect(await world.asks()).toBe(false);
  });

  it('is not shared once it is evicted, and all its holds are lost with that cause', async () => {
    const { world, first } = await sharing();
    const second = await world.acquire();
    first.seat.lose('evicted', { by: 'an operator' });
    expect([first.checkEnd(), second.checkEnd()]).toEqual(['revoked', 'revoked']);
    expect(await world.asks()).toBe(true);
  });

  it('is not shared once its release is requested, and is given back at once if it is idle', async () => {
    const { world, first } = await sharing();
    first.seat.requestRelease({});
    expect(await world.asks()).toBe(true);
    const idle = await sharing();
    idle.world.release(idle.first);
    idle.first.seat.requestRelease({});
    expect(idle.world.events).toEqual(['given back w1']);
  });

  it('is given back by the last of its readers, and not before, once somebody waits', async () => {
    const { world, first } = await sharing();
    const second = await world.acquire();
    world.reads.othersWait();
    world.release(first);
    expect(world.events).toEqual([]);
    world.release(second);
    expect(world.events).toEqual(['given back w1']);
  });

  it('is given back after keepMs without a reader, counted anew after each reader', async () => {
    const { world, first } = await sharing();
    world.release(first);
    world.clock.advance(KEEP_MS - 1);
    world.release(await world.acquire());
    world.clock.advance(KEEP_MS - 1);
    expect(world.events).toEqual([]);
    world.clock.advance(1);
    expect(world.events).toEqual(['given back w1']);
  });

  it('is given back if it is idle and cannot be shared when the server grants another', async () => {
    const { world, first } = await sharing();
    world.release(first);
    world.gaplessSinceMs = world.clock.nowMs() + 1;
    world.clock.advance(1);
    void world.acquire();
    await settled();
    // The answer was lost, so that nothing is known of other waiters.
    await world.grant({ isWellFormed: false });
    expect(world.events).toEqual(['given back w1']);
  });
});

describe('a read of a far keeper', () => {
  /** The process has read its locks, and has closed its stream. */
  async function far() {
    const { world, first } = await sharing();
    world.release(first);
    world.reads.noneWaits(world.clock.nowMs(), world.clock.nowMs() + 2_000);
    world.gaplessSinceMs = Infinity;
    return world;
  }

  it('is shared until it is too old, although no events arrive', async () => {
    const world = await far();
    world.clock.advance(1_999);
    world.release(await world.acquire());
    world.clock.advance(1);
    expect(await world.asks()).toBe(true);
  });

  it('is shared for longer after each read that shows nobody', async () => {
    const world = await far();
    for (let reads = 0; reads < 3; reads += 1) {
      world.clock.advance(1_000);
      world.reads.noneWaits(world.clock.nowMs(), world.clock.nowMs() + 2_000);
    }
    world.clock.advance(1_999);
    expect(await world.asks()).toBe(false);
  });

  it('is shared after the stream has opened and a read was sent after that', async () => {
    const world = await far();
    world.clock.advance(100);
    world.gaplessSinceMs = world.clock.nowMs();
    world.reads.noneWaits(world.clock.nowMs(), -Infinity);
    world.clock.advance(2_000);
    expect(await world.asks()).toBe(false);
  });

  it.each<readonly [string, (world: World) => void]>([
    [
      'after a notice that somebody waits',
      (world) => {
        world.reads.othersWait();
      },
    ],
    [
      'after it has become too old',
      (world) => {
        world.clock.advance(2_000);
      },
    ],
  ])('is not shared %s, whatever later reads show', async (_, happens) => {
    const world = await far();
    happens(world);
    world.reads.noneWaits(world.clock.nowMs(), Infinity);
    expect(await world.asks()).toBe(true);
  });
});

describe('after a notice that somebody waits', () => {
  it('every reader asks the server, until an answer to a later request shows nobody', async () => {
    const { world } = await sharing();
    world.clock.advance(10);
    world.reads.othersWait();
    expect(await world.asks()).toBe(true);
    world.note({}, world.clock.nowMs() - 1);
    expect(await world.asks()).toBe(true);
    world.note();
    expect(await world.asks()).toBe(false);
  });

  it.each([
    ['a waiter', { waiters: 1 }],
    ['an upgrade that waits', { isWriterWaiting: true }],
    ['no lease of this process that it may keep', { leases: [] }],
  ])('an answer that shows %s changes nothing', async (_, shown) => {
    const { world } = await sharing();
    world.reads.othersWait();
    world.note(shown);
    expect(await world.asks()).toBe(true);
  });
});

describe('without a notice, every reader asks the server', () => {
  it('after an answer that shows a waiter, also one of this process', async () => {
    const { world } = await sharing();
    world.note({ waiters: 1, ownWaiters: 1 });
    expect(await world.asks()).toBe(true);
  });

  it('after a gap in the wake-ups', async () => {
    const { world } = await sharing();
    world.gaplessSinceMs = world.clock.nowMs() + 1;
    expect(await world.asks()).toBe(true);
  });

  it('after the last seat has ended, until the next answer', async () => {
    const { world, first } = await sharing();
    first.seat.lose('evicted');
    void world.acquire();
    await settled();
    await world.grant({ leases: [] });
    expect(await world.asks()).toBe(true);
  });

  it('while a write of this process is asked for, and the idle seat is given back before that', async () => {
    const { world, first } = await sharing();
    world.release(first);
    const write = world.acquire('write');
    expect(world.events).toEqual(['given back w1']);
    expect(await world.asks()).toBe(true);
    world.asked.shift()?.(new Error('given up'));
    await expect(write).rejects.toThrow('given up');
  });

  it('while a write of this process waits for the readers before it, and no longer', async () => {
    const { world } = await sharing();
    const write = world.acquire('write');
    expect(await world.asks()).toBe(true);
    world.asked.shift()?.(new Error('given up'));
    await expect(write).rejects.toThrow('given up');
    expect(await world.asks()).toBe(false);
  });

  it('for a hold whose mode can change', async () => {
    const { world } = await sharing();
    void world.acquire('upgradeable');
    expect(world.asked).toHaveLength(1);
    expect(await world.asks()).toBe(false);
  });
});

describe('readers that come together', () => {
  it('wait for the answer to the first one, and share its seat', async () => {
    const world = new World();
    const readers = Array.from({ length: 5 }, () => world.acquire());
    expect(world.asked).toHaveLength(1);
    await world.grant();
    const holds = await Promise.all(readers);
    expect(new Set(holds.map(({ id }) => id))).toEqual(new Set(['w1']));
    expect(world.asked).toHaveLength(0);
  });

  it('ask one by one if the answer is an error', async () => {
    const world = new World();
    const [first, second, third] = [world.acquire(), world.acquire(), world.acquire()];
    world.asked.shift()?.(new Error('refused'));
    await expect(first).rejects.toThrow('refused');
    await settled();
    expect(world.asked).toHaveLength(1);
    await world.grant();
    expect((await second).id).toBe((await third).id);
  });

  it('all ask if the first one has to wait, or if its seat is not to be shared', async () => {
    const queued = new World();
    for (let count = 0; count < 3; count += 1) void queued.acquire();
    queued.note({ leases: [], waiters: 1 });
    await settled();
    expect(queued.asked).toHaveLength(3);
    const unsure = new World();
    for (let count = 0; count < 3; count += 1) void unsure.acquire();
    await unsure.grant({ leases: [] });
    expect(unsure.asked).toHaveLength(2);
  });

  it('all ask at once if no wake-ups arrive, and a try never waits for another reader', () => {
    const deaf = new World();
    deaf.gaplessSinceMs = Infinity;
    for (let count = 0; count < 3; count += 1) void deaf.acquire();
    expect(deaf.asked).toHaveLength(3);
    const world = new World();
    void world.acquire();
    void world.acquire('read', TERMS.leaseMs, 0);
    expect(world.asked).toHaveLength(2);
  });

  it('all ask before a later write of their process (L3)', async () => {
    const world = new World();
    const readers = [world.acquire(), world.acquire(), world.acquire()];
    const write = world.acquire('write');
    await settled();
    const order: string[] = [];
    readers.forEach((reader, index) => void reader.catch(() => order.push(`reader ${String(index)}`)));
    void write.catch(() => order.push('writer'));
    for (const answer of world.asked) answer(new Error('refused'));
    await settled();
    expect(order).toEqual(['reader 0', 'reader 1', 'reader 2', 'writer']);
  });

  it('ask the server themselves if they want another lease time', async () => {
    const world = new World();
    void world.acquire();
    void world.acquire('read', 7_000);
    await world.grant();
    expect(world.asked).toHaveLength(1);
  });

  it('leave nothing behind when all is over', async () => {
    const { world, first } = await sharing();
    world.release(first);
    world.clock.advance(KEEP_MS);
    expect([world.reads.isInUse, world.reads.hasSeats, world.clock.alarms]).toEqual([false, false, 0]);
  });
});
