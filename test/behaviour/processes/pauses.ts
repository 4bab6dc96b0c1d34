import { expect, it } from 'vitest';

import { eventually, later, within } from '../../../lab/patience.js';
import { beliefIn, beliefsOf, expectDisjoint } from './beliefs.js';
import { LEASE_MS, ProcessWorld, TAKEOVER_MS } from './process-world.js';
import type { Subject } from './process-world.js';

/** Tests of processes that are stopped or blocked while time goes on. */
export function pauses(subject: Subject): void {
  it('a holder stopped for longer than its lease finds out at its first check that it lost the lock', async () => {
    await using world = new ProcessWorld(subject);
    const worker = await world.worker();
    worker.order({ do: 'watch' });
    const { token } = await worker.tell({ do: 'acquire' }, 'granted');
    const wait = later(world.provider().createMutex(world.lockName).acquire());
    await world.untilWaiting(1);
    await worker.heard('look', 5);
    worker.signal('SIGSTOP');
    const hold = await within(TAKEOVER_MS, 'the takeover', wait);
    const belief = beliefIn(hold);

    const continuedNs = process.hrtime.bigint();
    worker.signal('SIGCONT');
    const first = await eventually('the first look', () =>
      worker.all('look').find(({ fromNs }) => BigInt(fromNs) > continuedNs),
    );
    expect(first).toMatchObject({ isHeld: false, remainingMs: 0, aborted: true, asserts: false });
    expect(await worker.heard('signalled')).toMatchObject({ why: 'expired' });
    expect(token).toBeLessThan(hold.fencingToken);
    expectDisjoint([...beliefsOf(worker.lines), belief]);

    // The hold stays lost, and its release does not take the lock from the next holder.
    const looksBefore = worker.all('look').length;
    await worker.heard('look', looksBefore + 20);
    expect(
      worker
        .all('look')
        .slice(looksBefore)
        .some(({ isHeld }) => isHeld),
    ).toBe(false);
    expect(await worker.tell({ do: 'release' }, 'released')).toMatchObject({ wasHeld: false });
    await hold.confirm();
    expect(hold.isHeld).toBe(true);
  });

  it('a holder stopped for longer than its lease is notified by its signal, even if it never checks', async () => {
    await using world = new ProcessWorld(subject);
    const worker = await world.worker();
    const { token } = await worker.tell({ do: 'acquire' }, 'granted');
    const wait = later(world.provider().createMutex(world.lockName).acquire());
    await world.untilWaiting(1);
    worker.signal('SIGSTOP');
    const hold = await within(TAKEOVER_MS, 'the takeover', wait);
    expect(hold.fencingToken).toBeGreaterThan(token);
    worker.signal('SIGCONT');
    expect(await worker.heard('signalled')).toMatchObject({ why: 'expired' });
    expect(worker.all('look')).toEqual([]);
    await hold.confirm();
  });

  it('a holder whose event loop was blocked for two leases finds out at its first check that it lost the lock', async () => {
    await using world = new ProcessWorld(subject);
    const worker = await world.worker();
    const { token } = await worker.tell({ do: 'acquire' }, 'granted');
    const wait = later(world.provider().createMutex(world.lockName).acquire());
    await world.untilWaiting(1);
    const blocked = later(worker.tell({ do: 'block', ms: 2 * LEASE_MS }, 'look after blocking'));
    const hold = await within(TAKEOVER_MS, 'the takeover', wait);
    const belief = beliefIn(hold);
    expect(await blocked).toMatchObject({ isHeld: false, remainingMs: 0, aborted: true, asserts: false });
    expect(await worker.heard('signalled')).toMatchObject({ why: 'expired' });
    expect(token).toBeLessThan(hold.fencingToken);
    expectDisjoint([...beliefsOf(worker.lines), belief]);
    expect(await worker.tell({ do: 'release' }, 'released')).toMatchObject({ wasHeld: false });
    await hold.confirm();
  });

  it('a waiter stopped for longer than its lease does not use the grant that it missed, and queues again', async () => {
    await using world = new ProcessWorld(subject);
    const worker = await world.worker();
    const [here, there] = [world.provider(), world.provider()];
    const first = await here.acquireMutex(world.lockName);
    await worker.tell({ do: 'acquire' }, 'waiting');
    const wait = later(there.acquireMutex(world.lockName));
    await world.untilWaiting(2);
    worker.signal('SIGSTOP');
    await first.release();
    // The stopped worker was granted the lock, and its lease has expired since.
    const second = await within(TAKEOVER_MS, 'the takeover', wait);
    const belief = beliefIn(second);
    worker.signal('SIGCONT');
    await world.untilWaiting(1);
    expect(worker.all('granted')).toEqual([]);
    expect(second.isHeld).toBe(true);
    const releasedNs = process.hrtime.bigint();
    await second.release();
    const { token } = await worker.heard('granted');
    expect(token).toBeGreaterThan(second.fencingToken);
    expectDisjoint([{ ...belief, untilNs: releasedNs }, ...beliefsOf(worker.lines)]);
  });
}
