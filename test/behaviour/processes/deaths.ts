import { expect, it } from 'vitest';

import { eventually, later, within } from '../../../lab/patience.js';
import { beliefIn, beliefsOf, expectDisjoint } from './beliefs.js';
import { LEASE_MS, ProcessWorld, SLACK_MS, TAKEOVER_MS } from './process-world.js';
import type { Subject, WorkerProcess } from './process-world.js';
import { PERMITS } from './worker-lines.js';

/** Tests of holders and waiters that die without a release. */
export function deaths(subject: Subject): void {
  /** How the holder ends, and whether another provider keeps trying, which would find an early end of the lease. */
  const ends: readonly (readonly [string, (worker: WorkerProcess) => Promise<unknown>, boolean])[] = [
    ['is killed', (worker) => worker.kill(), false],
    ['is killed while others keep trying', (worker) => worker.kill(), true],
    ['exits without a release', (worker) => exit(worker), false],
  ];

  it.each(ends)(
    'when the holder %s, the next waiter gets the lock after the lease has expired, and never before',
    async (_, end, othersTry) => {
      await using world = new ProcessWorld(subject);
      const worker = await world.worker();
      worker.order({ do: 'watch' });
      const { token } = await worker.tell({ do: 'acquire' }, 'granted');
      const heir = world.provider();
      const wait = later(heir.acquireMutex(world.lockName));
      await world.untilWaiting(1);
      await eventually('the lease has been extended', () => isExtended(worker));

      const takeover = later(world.watchTakeover(heir, othersTry));
      await end(worker);
      const hold = await within(TAKEOVER_MS, 'the takeover', wait);
      const belief = beliefIn(hold);
      const { from, to, lateMs } = await takeover;
      expect([from.token, to.token]).toEqual([token, hold.fencingToken]);
      expect(lateMs).toBeGreaterThanOrEqual(0);
      expect(lateMs).toBeLessThan(SLACK_MS);
      // On the clock of both processes: not while the dead holder could still have believed that it held the lock.
      expectDisjoint([...beliefsOf(worker.lines), belief]);
    },
  );

  it('a reader that is killed keeps a writer out until its lease has expired, and no longer', async () => {
    await using world = new ProcessWorld(subject);
    const worker = await world.worker('read');
    const [beside, heir] = [world.provider(), world.provider()];
    const living = await beside.createReaderWriterLock(world.lockName).acquireRead();
    worker.order({ do: 'watch' });
    const { token } = await worker.tell({ do: 'acquire' }, 'granted');
    expect(living.isHeld).toBe(true);
    const wait = later(heir.createReaderWriterLock(world.lockName).acquireWrite());
    await world.untilWaiting(1);
    await eventually('the lease has been extended', () => isExtended(worker));
    expect(await living.release()).toBe(true);

    const takeover = later(world.watchTakeover(heir, false));
    await worker.kill();
    const writer = await within(TAKEOVER_MS, 'the takeover', wait);
    const belief = beliefIn(writer);
    const { from, to, lateMs } = await takeover;
    expect([from.token, from.mode, to.token, to.mode]).toEqual([token, 'read', writer.fencingToken, 'write']);
    expect(lateMs).toBeGreaterThanOrEqual(0);
    expect(lateMs).toBeLessThan(SLACK_MS);
    expectDisjoint([...beliefsOf(worker.lines), belief]);
  });

  it('the permit of a killed holder is granted again after its lease has expired, and never before', async () => {
    await using world = new ProcessWorld(subject);
    const worker = await world.worker('permit');
    const [beside, heir] = [world.provider(), world.provider()];
    const living = await beside.createSemaphore(world.lockName, PERMITS).acquire({ permits: PERMITS - 1 });
    worker.order({ do: 'watch' });
    const { token } = await worker.tell({ do: 'acquire' }, 'granted');
    const wait = later(heir.createSemaphore(world.lockName, PERMITS).acquire());
    await world.untilWaiting(1);
    await eventually('the lease has been extended', () => isExtended(worker));

    const takeover = later(world.watchTakeover(heir, false));
    await worker.kill();
    const hold = await within(TAKEOVER_MS, 'the takeover', wait);
    const belief = beliefIn(hold);
    const { from, to, lateMs } = await takeover;
    expect([from.token, to.token]).toEqual([token, hold.fencingToken]);
    expect(lateMs).toBeGreaterThanOrEqual(0);
    expect(lateMs).toBeLessThan(SLACK_MS);
    expectDisjoint([...beliefsOf(worker.lines), belief]);
    expect(living.isHeld).toBe(true);
  });

  it('a waiter that is killed at the head of the queue delays the others by no more than its lease', async () => {
    await using world = new ProcessWorld(subject);
    const worker = await world.worker();
    const [first, heir] = [world.provider(), world.provider()];
    const hold = await first.acquireMutex(world.lockName);
    await worker.tell({ do: 'acquire' }, 'waiting');
    const wait = later(heir.acquireMutex(world.lockName));
    await world.untilWaiting(2);
    await worker.kill();
    // The dead worker is the head of the queue.
    const takeover = later(world.watchTakeover(heir, false));
    expect(await hold.release()).toBe(true);
    const next = await within(TAKEOVER_MS, 'the grant', wait);
    const { from, lateMs } = await takeover;
    expect([first.processId, heir.processId]).not.toContain(from.process);
    expect(from.expiresAt.getTime() - from.acquiredAt.getTime()).toBeLessThanOrEqual(LEASE_MS);
    expect(lateMs).toBeGreaterThanOrEqual(0);
    expect(lateMs).toBeLessThan(SLACK_MS);
    expect(next.fencingToken).toBeGreaterThan(hold.fencingToken);
    expect(worker.all('granted')).toEqual([]);
  });

  it('a waiter that is killed further behind does not delay the others', async () => {
    await using world = new ProcessWorld(subject, { leaseMs: 60_000 });
    const worker = await world.worker();
    const [here, there] = [world.provider(), world.provider()];
    const hold = await here.acquireMutex(world.lockName);
    const wait = later(there.acquireMutex(world.lockName));
    await world.untilWaiting(1);
    await worker.tell({ do: 'acquire' }, 'waiting');
    await worker.kill();
    await hold.release();
    expect((await within(10_000, 'the hand-off', wait)).isHeld).toBe(true);
  });
}

/** Makes the process exit in the middle of everything. */
async function exit(worker: WorkerProcess): Promise<void> {
  worker.order({ do: 'exit' });
  await worker.ended;
}

/** Whether a later look promised more time than the one before it. */
function isExtended(worker: WorkerProcess): boolean {
  const looks = worker.all('look');
  return looks.some(
    ({ remainingMs }, index) => remainingMs > (looks[index - 1]?.remainingMs ?? Infinity) + 50,
  );
}
