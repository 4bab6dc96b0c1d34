import { setMaxListeners } from 'node:events';

import { describe, expect, it } from 'vitest';
import { momentNow, after } from '../../../src/clock.js';
import { Hold } from '../../../src/lease/holding/hold.js';
import { Seat } from '../../../src/lease/holding/seat.js';
import { CachedLock } from '../../../src/lease/seat-cache/cached-lock.js';
import { mutexRules } from '../../../src/protocol/kinds/mutex-rules.js';
import { semaphoreRules } from '../../../src/protocol/kinds/semaphore-rules.js';
import type { Lease } from '../../../src/protocol/lock-document.js';
import type { KindRules } from '../../../src/protocol/kind-rules.js';
import type { Reply } from '../../../src/protocol/replies/reply.js';
import { later, settled } from '../../../lab/patience.js';
import { ManualClock } from '../../support/manual-clock.js';

const TERMS = { leaseMs: 30_000, extendEveryMs: 10_000, clockAllowanceMs: 1_000, retentionMs: 60_000 };
const RELIED_MS = TERMS.leaseMs - TERMS.clockAllowanceMs;
const KEEP_MS = 5_000;
const PASSES = 3;

interface Setting {
  readonly passes?: number;
  readonly rules?: KindRules;
}

/** The seats of one lock, whose server and whose other processes are the test, and whose time stands still. */
class World {
  readonly clock = new ManualClock();
  readonly lock: CachedLock;
  /** The callers whose requests are in flight or in the queue on the server, first come first. */
  readonly asked: { readonly caller: string; answer(outcome: Hold | Error): void }[] = [];
  /** The callers that were served, each with its token, and the seats that were given back. */
  readonly log: string[] = [];
  gaplessSinceMs = 0;
  readonly #passes: number;
  #callers = 0;
  /** The last token that was given or reserved. */
  #fence = 0;

  constructor({ passes = PASSES, rules = mutexRules }: Setting = {}) {
    this.#passes = passes;
    const closing = new AbortController();
    setMaxListeners(0, closing.signal);
    this.lock = new CachedLock('a', rules, {
      ...{ process: 'p', clock: this.clock, report: () => undefined },
      closing: closing.signal,
      gaplessSinceMs: () => this.gaplessSinceMs,
      returnIdle: (idle) => {
        if (!idle.giveUp()) return;
        this.log.push('given back');
        this.lock.seatEnded(idle);
      },
      changed: () => undefined,
      used: () => undefined,
    });
  }

  acquire({ timeoutMs = Infinity, leaseMs = TERMS.leaseMs } = {}): Promise<Hold> {
    this.#callers += 1;
    const caller = `c${String(this.#callers)}`;
    const request = { durations: { ...TERMS, leaseMs }, timeoutMs, why: undefined, signal: undefined };
    const keeping = { keepMs: KEEP_MS, passes: this.#passes };
    const ask = (): Promise<Hold> =>
      new Promise((resolve, reject) => {
        const answer = (outcome: Hold | Error): void => {
          if (outcome instanceof Hold) resolve(outcome);
          else reject(outcome);
        };
        this.asked.push({ caller, answer });
      });
    const acquired = this.lock.acquire(
      { ...request, startedMs: this.clock.nowMs(), demand: {}, ...keeping },
      ask,
    );
    return later(
      acquired.then((hold) => {
        this.log.push(`${caller} has ${String(hold.token)}`);
        return hold;
      }),
    );
  }

  /** Many callers, each of which releases its hold in the turn in which it has got it. */
  crowd(count: number): void {
    for (let index = 0; index < count; index += 1) {
      void later(this.acquire().then((hold) => this.release(hold)));
    }
  }

  /** The server grants a seat to the first request. `others`: whether its answer shows that another process waits. */
  async grant({ others = false } = {}): Promise<void> {
    const token = this.#fence + 1;
    this.#fence += 1 + this.lock.keeps;
    const id = `w${String(token)}`;
    this.note({ leases: [leaseOf('p', token)], waiters: others ? 1 : 0 });
    const deadline = after(momentNow(this.clock), RELIED_MS);
    const grant = { name: 'a', rules: this.lock.rules, id, token, durations: TERMS, deadline, demand: {} };
    const listener = {
      lost: (seat: Seat) => {
        this.log.push('lost');
        this.lock.seatEnded(seat);
      },
      doubtful: () => undefined,
    };
    const hold = new Hold(new Seat(grant, this.clock, listener, this.lock));
    this.lock.seatGranted(hold.seat);
    this.asked.shift()?.answer(hold);
    await settled();
  }

  /** Another process is granted a seat, which the answer to a request of this process shows. */
  grantToOthers(): void {
    this.#fence += 1;
    this.note({
      leases: [leaseOf('q', this.#fence)],
      waiters: this.asked.length,
      ownWaiters: this.asked.length,
    });
  }

  note(shown: Partial<Reply> = {}): void {
    this.lock.note({ ...REPLY, ...shown }, this.clock.nowMs());
  }

  /** What `Holds` does with a released hold. */
  async release(hold: Hold): Promise<void> {
    if (!hold.release()) return;
    const { seat } = hold;
    if (this.lock.mayKeep(seat)) this.lock.keepIdle(seat);
    else if (seat.giveUp()) {
      this.log.push('given back');
      this.lock.seatEnded(seat);
    }
    await settled();
  }

  get askedBy(): readonly string[] {
    return this.asked.map(({ caller }) => caller);
  }
}

const leaseOf = (process: string, token: number): Lease => ({
  ...{ id: `w${String(token)}`, process, token, keeps: 255, leaseMs: TERMS.leaseMs },
  ...{ acquiredAt: new Date(0), expiresAt: new Date(TERMS.leaseMs) },
});

const REPLY: Reply = {
  ...{ nowMs: 0, kind: 'mutex', isWellFormed: true, fence: 1, wake: [], leases: [] },
  ...{ leaseCount: 1, limit: undefined, places: [], waiters: 0, ownWaiters: 0 },
  ...{ isWriterWaiting: false, earliestExpiryMs: null },
};

/** A world in which the first caller has the seat. */
async function held(setting?: Setting): Promise<{ readonly world: World; readonly first: Hold }> {
  const world = new World(setting);
  const acquired = world.acquire();
  await world.grant();
  return { world, first: await acquired };
}

describe('while another process waits, a kept seat', () => {
  it('passes as often as allowed, in the order of the callers, and is given back then', async () => {
    const { world, first } = await held();
    world.crowd(6);
    world.lock.othersWait();
    await world.release(first);
    const passes = ['c2 has 2', 'c3 has 3', 'c4 has 4'];
    expect(world.log).toEqual(['c1 has 1', ...passes, 'given back']);
    expect(world.askedBy).toEqual(['c5']);
  });

  it('passes to no caller if passes is 0, and all callers ask the server', async () => {
    const { world, first } = await held({ passes: 0 });
    world.crowd(3);
    world.lock.othersWait();
    await settled();
    expect(world.askedBy).toEqual(['c2', 'c3', 'c4']);
    await world.release(first);
    expect(world.log).toEqual(['c1 has 1', 'given back']);
  });

  it('passes only within keepMs after the process has heard of the waiter', async () => {
    const { world, first } = await held();
    const second = world.acquire();
    world.crowd(1);
    world.clock.advance(2 * KEEP_MS);
    world.lock.othersWait();
    world.clock.advance(KEEP_MS - 1);
    await world.release(first);
    world.clock.advance(1);
    await world.release(await second);
    expect(world.log).toEqual(['c1 has 1', 'c2 has 2', 'given back']);
  });

  it('does not pass with less than a third of its lease left', async () => {
    const { world, first } = await held();
    world.crowd(1);
    world.clock.advance(RELIED_MS - TERMS.leaseMs / 3 + 1);
    world.lock.othersWait();
    await world.release(first);
    expect(world.log).toEqual(['c1 has 1', 'given back']);
  });

  it('does not pass once its release is requested', async () => {
    const { world, first } = await held();
    world.crowd(2);
    world.lock.othersWait();
    first.seat.requestRelease({ by: 'an operator' });
    await world.release(first);
    expect(world.log).toEqual(['c1 has 1', 'given back']);
    expect(world.askedBy).toEqual(['c2']);
  });

  it('does not pass when the tokens of its block are used up', async () => {
    const { world, first } = await held({ passes: 255 });
    world.crowd(200);
    await world.release(first);
    const last = await world.acquire();
    expect(last.token).toBe(202);
    world.crowd(100);
    world.lock.othersWait();
    await world.release(last);
    expect(world.log.at(-2)).toMatch(/has 256$/);
    expect(world.log.at(-1)).toBe('given back');
  });

  it('does not pass while no wake-ups arrive, and all callers ask the server', async () => {
    const { world, first } = await held();
    world.crowd(2);
    world.gaplessSinceMs = Infinity;
    world.lock.othersWait();
    await settled();
    expect(world.askedBy).toEqual(['c2', 'c3']);
    await world.release(first);
    expect(world.log).toEqual(['c1 has 1', 'given back']);
  });

  it('does not even pass to a caller in the turn of the release while no wake-ups arrive', async () => {
    const { world, first } = await held();
    world.lock.othersWait();
    world.gaplessSinceMs = Infinity;
    void world.release(first);
    void world.acquire();
    await settled();
    expect(world.log).toEqual(['c1 has 1', 'given back']);
    expect(world.askedBy).toEqual(['c2']);
  });

  it('goes to a caller that asks in the turn of the release, and is given back after that turn', async () => {
    const { world, first } = await held();
    world.lock.othersWait();
    void world.release(first);
    const second = await world.acquire();
    void world.release(second);
    expect(world.log).toEqual(['c1 has 1', 'c2 has 2']);
    await settled();
    expect(world.log.at(-1)).toBe('given back');
  });

  it('is given back at once if it is idle', async () => {
    const { world, first } = await held();
    await world.release(first);
    world.lock.othersWait();
    expect(world.log).toEqual(['c1 has 1', 'given back']);
  });
});

describe('the count of passes', () => {
  /** All passes of the seat are made, and the next caller has asked the server. */
  async function usedUp(): Promise<World> {
    const { world, first } = await held();
    world.crowd(12);
    world.lock.othersWait();
    await world.release(first);
    world.log.length = 0;
    return world;
  }

  it('starts anew after another process has had the seat', async () => {
    const world = await usedUp();
    world.grantToOthers();
    await world.grant({ others: true });
    const served = world.log.map((line) => line.split(' ')[0]);
    expect(served).toEqual(['c5', 'c6', 'c7', 'c8', 'given']);
    world.log.length = 0;
    // The seat comes back at once, and was with no other process meanwhile.
    await world.grant({ others: true });
    expect(world.log.map((line) => line.split(' ')[0])).toEqual(['c9', 'given']);
  });

  it('goes on if the waiter of another process has given up and comes back', async () => {
    const world = await usedUp();
    expect(world.askedBy).toEqual(['c5']);
    await world.grant();
    // Nobody waits any more, so the seat passes as often as tokens are left.
    expect(world.log.at(-1)).toMatch(/^c13 /);
    const next = await world.acquire();
    world.crowd(1);
    world.lock.othersWait();
    await world.release(next);
    expect(world.log.at(-1)).toBe('given back');
  });

  it('is not moved by an answer that shows an earlier lease of another process', async () => {
    const { world, first } = await held();
    world.crowd(12);
    world.lock.othersWait();
    await world.release(first);
    world.log.length = 0;
    world.note({ leases: [leaseOf('q', 0)], waiters: 1, ownWaiters: 1 });
    await world.grant({ others: true });
    expect(world.log.map((line) => line.split(' ')[0])).toEqual(['c5', 'given']);
  });
});

describe('callers behind a request of their process', () => {
  it('have one place on the server, and the next of them asks if its caller gives up', async () => {
    const world = new World();
    world.crowd(4);
    world.grantToOthers();
    await settled();
    expect(world.askedBy).toEqual(['c1']);
    world.asked.shift()?.answer(new Error('time is up'));
    await settled();
    expect(world.askedBy).toEqual(['c2']);
  });

  it('each have their own place if passes is 0', async () => {
    const world = new World({ passes: 0 });
    world.crowd(4);
    world.grantToOthers();
    await settled();
    expect(world.askedBy).toEqual(['c1', 'c2', 'c3', 'c4']);
  });

  it('do not hold up a try, which asks the server', async () => {
    const world = new World();
    world.crowd(1);
    world.grantToOthers();
    void later(world.acquire({ timeoutMs: 0 }));
    await settled();
    expect(world.askedBy).toEqual(['c1', 'c2']);
  });

  it('ask the server if they want another lease time, and the others go on in their order', async () => {
    const { world, first } = await held();
    void later(world.acquire({ leaseMs: 7_000 }));
    world.crowd(1);
    world.lock.othersWait();
    await world.release(first);
    expect(world.log).toEqual(['c1 has 1', 'given back']);
    expect(world.askedBy).toEqual(['c2']);
  });
});

describe('while another process waits, kept permits', () => {
  const held2 = (): ReturnType<typeof held> => held({ rules: semaphoreRules });

  it('pass as often as allowed to a caller that asks in the turn of the release', async () => {
    const { world, first } = await held2();
    world.lock.othersWait();
    let hold = first;
    for (let pass = 0; pass < PASSES; pass += 1) {
      void world.release(hold);
      hold = await world.acquire();
    }
    expect(world.log.at(-1)).toBe('c4 has 4');
    await world.release(hold);
    expect(world.log.at(-1)).toBe('given back');
  });

  it('do not pass while a caller of the process waits on the server, because it came first', async () => {
    const { world, first } = await held2();
    void world.acquire();
    world.note({ leases: [leaseOf('p', 1)], waiters: 2, ownWaiters: 1 });
    expect(world.askedBy).toEqual(['c2']);
    void world.release(first);
    void world.acquire();
    await settled();
    expect(world.log).toEqual(['c1 has 1', 'given back']);
    expect(world.askedBy).toEqual(['c2', 'c3']);
  });
});
