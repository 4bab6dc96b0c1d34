import { describe, expect, it, vi } from 'vitest';
import { whenTestEnds } from '../../support/current-test.js';
import type { LockHandle } from '../../../src/index.js';
import { eventually } from '../../../lab/patience.js';
import { keepHold } from '../../support/keep-hold.js';
import { testProvider, twoProviders } from '../../support/test-provider.js';
import type { TestProvider } from '../../support/test-provider.js';
import { untilWaiting } from '../../support/waiters.js';

const MANY = 300;

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** Counts the updates of a client from now on, and how many of them were in flight at once. */
function updatesOf({ client }: TestProvider): { readonly sent: number; readonly mostAtOnce: number } {
  const counted = { sent: 0, mostAtOnce: 0 };
  const open = new Set<number>();
  client.on('commandStarted', ({ commandName, requestId }) => {
    if (commandName !== 'update') return;
    counted.sent += 1;
    open.add(requestId);
    counted.mostAtOnce = Math.max(counted.mostAtOnce, open.size);
  });
  const answered = ({ requestId }: { readonly requestId: number }): void => void open.delete(requestId);
  client.on('commandSucceeded', answered).on('commandFailed', answered);
  return counted;
}

describe('many holds of one process', () => {
  it('are confirmed together by few updates, one after the other', async () => {
    const here = await testProvider({ createIndexes: false });
    const semaphore = here.locks.createSemaphore('s', MANY);
    const holds = await Promise.all(times(MANY, () => semaphore.acquire()));
    const updates = updatesOf(here);
    await Promise.all(holds.map((hold) => hold.confirm()));
    expect(updates.sent).toBeLessThanOrEqual(4);
    expect(updates.mostAtOnce).toBe(1);
  });

  it('are all asked to release within few updates after a revocation', async () => {
    const [there, here] = await twoProviders({ leaseMs: 60_000, createIndexes: false });
    const semaphore = here.locks.createSemaphore('s', MANY);
    const holds = await Promise.all(times(MANY, () => semaphore.acquire()));
    // The wait makes this process open its stream.
    await keepHold(there.locks.acquireMutex('busy'));
    const waiting = here.locks.acquireMutex('busy');
    waiting.catch(() => undefined);
    await new Promise<void>((resolve) =>
      here.locks.once('wakeups', () => {
        resolve();
      }),
    );
    const updates = updatesOf(here);
    const asked = new Set<string>();
    here.locks.on('releaseRequested', ({ id }) => asked.add(id));
    await there.locks.revoke('s');
    await eventually('every hold is asked to release', () => asked.size === MANY);
    expect(holds.every(({ releaseRequested }) => releaseRequested.aborted)).toBe(true);
    expect(updates.sent).toBeLessThanOrEqual(6);
  });

  it('end within few updates when their own process revokes them by force', async () => {
    const here = await testProvider({ leaseMs: 60_000, createIndexes: false });
    const semaphore = here.locks.createSemaphore('s', MANY);
    const holds = await Promise.all(times(MANY, () => semaphore.acquire()));
    const updates = updatesOf(here);
    await here.locks.revoke('s', { force: true });
    expect(holds.filter(({ isHeld }) => isHeld)).toEqual([]);
    expect(updates.sent).toBeLessThanOrEqual(4);
  });

  it('are confirmed together by few updates after a step of the wall clock', async () => {
    const here = await testProvider({ leaseMs: 60_000, createIndexes: false });
    const holds = await Promise.all(times(MANY, (index) => here.locks.acquireMutex(`n${String(index)}`)));
    const updates = updatesOf(here);
    const now = Date.now.bind(Date);
    const stepped = vi.spyOn(Date, 'now').mockImplementation(() => now() + 5_000);
    whenTestEnds(() => {
      stepped.mockRestore();
    });
    expect(holds.filter(({ isHeld }) => isHeld)).toEqual([]);
    await eventually('all are confirmed', () => holds.every(({ isHeld }) => isHeld));
    expect(updates.sent).toBeLessThanOrEqual(4);
  });
});

describe('the deletion of lock documents', () => {
  it('sends no event of a purge to a process that listens', async () => {
    const [there, here] = await twoProviders({ leaseMs: 60_000, createIndexes: false });
    const stored = there.db.collection<{ _id: string; purgeAt: Date }>('distributed.locks');
    await stored.insertMany(
      times(2_000, (index) => ({ _id: `idle ${String(index)}`, purgeAt: new Date(0) })),
    );
    const [busy] = await Promise.all([
      there.locks.acquireMutex('busy'),
      ...times(100, (index) => here.locks.acquireMutex(`held ${String(index)}`)),
    ]);
    let events = 0;
    here.client.on('commandSucceeded', ({ reply }) => {
      const { cursor } = reply as { cursor?: { nextBatch?: readonly unknown[] } };
      events += cursor?.nextBatch?.length ?? 0;
    });
    const waiting = here.locks.acquireMutex('busy');
    await new Promise<void>((resolve) =>
      here.locks.once('wakeups', () => {
        resolve();
      }),
    );
    await untilWaiting(there.locks, 'busy');
    await stored.deleteMany({ purgeAt: new Date(0) });
    await busy.release();
    // The stream keeps the order, so events of the purge would have arrived before the grant.
    expect((await waiting).isHeld).toBe(true);
    expect(events).toBeLessThanOrEqual(1);
  });

  it('is found by the next look of a process that waits for the lock', async () => {
    const [there, here] = await twoProviders({ leaseMs: 3_000, createIndexes: false });
    const lock = await there.locks.acquireMutex('a');
    const waiting = here.locks.acquireMutex('a');
    await untilWaiting(there.locks, 'a');
    await there.db.collection('distributed.locks').deleteMany({});
    const next = await waiting;
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
  });
});

describe('an extension', () => {
  it('loses no hold if the stored leases do not fit into one answer of the server', async () => {
    // A third of a lease is enough to write 20 MB again, also on a slow machine.
    const here = await testProvider({ leaseMs: 20_000, createIndexes: false });
    const holds: LockHandle[] = await Promise.all(
      times(20, (index) => here.locks.createSemaphore(`s${String(index)}`, 5).acquire()),
    );
    // The answer contains the records of revocations. A malformed record has no effect, but takes up space.
    const filling = 'x'.repeat(1_000_000);
    await Promise.all(holds.map(({ name }) => here.tamper(name, { $set: { revoked: [filling] } })));
    const extended = new Set<string>();
    here.locks.on('extended', ({ id }) => extended.add(id));
    const lost: unknown[] = [];
    here.locks.on('lost', (event) => lost.push(event));
    await eventually('all are extended', () => extended.size === holds.length || lost.length > 0);
    expect(lost).toEqual([]);
  });

  it('is not reported if it ends after the release', async () => {
    const here = await testProvider({ createIndexes: false });
    const hold = await here.locks.acquireMutex('a');
    const reported: string[] = [];
    for (const event of ['extended', 'released'] as const) here.locks.on(event, () => reported.push(event));
    // The release begins when the read after the update is sent, so the answer comes after the release.
    const released = new Promise<boolean>((resolve) => {
      here.client.on('commandStarted', ({ commandName }) => {
        if (commandName === 'find') resolve(hold.release());
      });
    });
    await expect(hold.confirm()).rejects.toMatchObject({ why: 'released' });
    expect(await released).toBe(true);
    expect(reported).toEqual(['released']);
  });
});

it('a release after the deletion of the document returns false, and reports the missing document', async () => {
  const here = await testProvider({ createIndexes: false });
  const hold = await here.locks.acquireMutex('a');
  const lost: string[] = [];
  here.locks.on('lost', ({ why }) => lost.push(why));
  await here.db.collection('distributed.locks').deleteMany({});
  expect(await hold.release()).toBe(false);
  expect(lost).toEqual(['document-missing']);
});
