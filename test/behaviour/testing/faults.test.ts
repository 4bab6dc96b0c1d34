import { afterEach, describe, expect, it } from 'vitest';
import type { Fault } from './faults.js';
import { FAULTS } from './faults.js';
import { Fleet } from './fleet.js';
import type { Member } from './fleet.js';

const HOLD_MS = 200;
const ROUNDS = 6;

let fleet: Fleet | undefined;

afterEach(async () => {
  await fleet?.close();
  fleet = undefined;
});

/** Each process works several times while the fault befalls the set or the first process. */
async function workUnder({ begin, end }: Fault, work: (member: Member) => Promise<void>): Promise<Fleet> {
  fleet = new Fleet(11);
  const { set, members } = fleet;
  const [first] = members;
  if (first === undefined) throw new Error('no process');
  const working = fleet.work(ROUNDS, work);
  await set.advance(700);
  begin(set, first.db);
  await set.advance(14_000);
  end?.(set, first.db);
  await fleet.until(working);
  expect(set.violations()).toEqual([]);
  return fleet;
}

/** Counts who is inside at the same time. */
class Room {
  inside = 0;
  most = 0;
  entered = 0;

  async stay(member: Member): Promise<void> {
    this.inside += 1;
    this.entered += 1;
    this.most = Math.max(this.most, this.inside);
    await member.sleep(HOLD_MS);
    this.inside -= 1;
  }
}

describe.each(FAULTS)('under $what, in virtual time', (fault) => {
  it('a mutex is passed on', async () => {
    const room = new Room();
    const { reports } = await workUnder(fault, (member) =>
      member.locks.createMutex('a').use(() => room.stay(member)),
    );
    if (fault.reported !== undefined) expect(reports).toContainEqual(expect.stringMatching(fault.reported));
    expect(room.entered).toBeGreaterThanOrEqual(3 * ROUNDS);
  });

  it('a kept mutex is passed on', async () => {
    const room = new Room();
    const keeping = { keepMs: 2_000 };
    await workUnder(fault, (member) => member.locks.createMutex('a', keeping).use(() => room.stay(member)));
    expect(room.entered).toBeGreaterThanOrEqual(3 * ROUNDS);
  });

  it('readers share a reader-writer lock, and writers have it alone', async () => {
    let round = 0;
    await workUnder(fault, async (member) => {
      const lock = member.locks.createReaderWriterLock('a');
      round += 1;
      if (round % 3 === 0) await lock.useWrite(() => member.sleep(HOLD_MS));
      else await lock.useRead(() => member.sleep(HOLD_MS));
    });
    expect(round).toBeGreaterThanOrEqual(3 * ROUNDS);
  });

  it('a semaphore has two holders', async () => {
    const room = new Room();
    await workUnder(fault, (member) => member.locks.createSemaphore('a', 2).use(() => room.stay(member)));
    expect(room.most).toBeGreaterThanOrEqual(2);
  });

  it('several locks are acquired together', async () => {
    const room = new Room();
    await workUnder(fault, async (member) => {
      const { locks } = member;
      const held = await locks.acquireAll([
        { mutex: locks.createMutex('a') },
        { semaphore: locks.createSemaphore('b', 2) },
      ]);
      await room.stay(member);
      await held.release();
    });
    expect(room.entered).toBeGreaterThanOrEqual(3 * ROUNDS);
  });
});
