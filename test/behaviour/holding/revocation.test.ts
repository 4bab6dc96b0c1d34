import { Double } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { textOf } from '../../../src/error-text.js';
import { LockLostError } from '../../../src/index.js';
import type { Hold, LockProviderOptions, LostEvent, ReleaseRequestedEvent } from '../../../src/index.js';
import { eventually, later, rejection } from '../../../lab/patience.js';
import { twoProviders } from '../../support/test-provider.js';
import type { TestProvider } from '../../support/test-provider.js';

const OPTIONS = { createIndexes: false };

interface World {
  readonly holder: TestProvider;
  readonly revoker: TestProvider;
  readonly losses: LostEvent[];
  readonly requests: ReleaseRequestedEvent[];
}

/** The lease is short, and its extension often: on a busy machine, the news of a revocation comes before its end. */
const SHORT = { ...OPTIONS, leaseMs: 10_000, extendEveryMs: 1_000 };

async function world(options: LockProviderOptions = SHORT): Promise<World> {
  const [holder, revoker] = await twoProviders({ ...options, label: 'billing' });
  const losses: LostEvent[] = [];
  const requests: ReleaseRequestedEvent[] = [];
  holder.locks.on('lost', (event) => losses.push(event));
  holder.locks.on('releaseRequested', (event) => requests.push(event));
  return { holder, revoker, losses, requests };
}

/** The message has to name the revoker and the reason. */
const expectNamesRevoker = (reason: unknown, { locks }: TestProvider, why: string): void => {
  expect(reason).toBeInstanceOf(Error);
  expect(textOf(reason)).toContain(why);
  expect(textOf(reason)).toContain(`billing (${locks.processId})`);
};

const expectRevoked = async (hold: Hold, revoker: TestProvider, why: string): Promise<void> => {
  const error = await rejection(hold.confirm());
  expect(error).toBeInstanceOf(LockLostError);
  expect(error).toMatchObject({ code: 'LOCK_LOST', why: 'revoked' });
  expectNamesRevoker(error, revoker, why);
};

describe('a polite revocation', () => {
  it('names the revoker and the reason in the request to release, and in the loss when the lease expires', async () => {
    const { holder, revoker, losses, requests } = await world();
    const lock = await holder.locks.acquireMutex('a');
    const { releaseRequested, signal } = lock;
    expect(await revoker.locks.revoke('a', { why: 'deploy of 12:00' })).toEqual({
      ...{ asked: [lock.id], gone: [], evicted: [] },
    });
    await eventually('the holder is asked to release', () => releaseRequested.aborted);
    expectNamesRevoker(releaseRequested.reason, revoker, 'deploy of 12:00');
    const by = `billing (${revoker.locks.processId})`;
    expect(requests).toMatchObject([{ id: lock.id, why: 'deploy of 12:00', by }]);
    expect(lock.isHeld).toBe(true);

    await eventually('the lease has expired', () => signal.aborted);
    expectNamesRevoker(signal.reason, revoker, 'deploy of 12:00');
    await expectRevoked(lock, revoker, 'deploy of 12:00');
    expect(losses).toMatchObject([{ id: lock.id, why: 'revoked' }]);
  });

  it('reaches a handle whose signals are read only later', async () => {
    const { holder, revoker } = await world();
    const lock = await holder.locks.createReaderWriterLock('a').acquireWrite();
    await revoker.locks.revoke('a', { why: 'deploy' });
    await eventually('the holder is asked to release', () =>
      lock.confirm().then(() => lock.releaseRequested.aborted),
    );
    expectNamesRevoker(lock.releaseRequested.reason, revoker, 'deploy');
    await eventually('the lease has expired', () => !lock.isHeld);
    expectNamesRevoker(lock.signal.reason, revoker, 'deploy');
  });

  it('keeps its first reason when it is repeated', async () => {
    const { holder, revoker, requests } = await world();
    const lock = await holder.locks.acquireMutex('a');
    await revoker.locks.revoke('a', { why: 'the first' });
    for (let repeats = 0; repeats < 10; repeats += 1) await revoker.locks.revoke('a', { why: 'the second' });
    await eventually('the lease has expired', () => !lock.isHeld);
    expectNamesRevoker(lock.signal.reason, revoker, 'the first');
    expect(requests).toHaveLength(1);
  });

  it('reaches a holder at once if its process has a stream open', async () => {
    const { holder, revoker } = await world({ ...OPTIONS, leaseMs: 600_000 });
    const lock = await holder.locks.acquireMutex('a');
    const other = await revoker.locks.acquireMutex('b');
    const waiting = later(holder.locks.acquireMutex('b'));
    await eventually('the stream is open', () => holder.locks.health().streams === 1);
    await revoker.locks.revoke('a', { why: 'now' });
    // Far less than a third of a lease.
    await eventually('it hears of it', () => lock.releaseRequested.aborted);
    expectNamesRevoker(lock.releaseRequested.reason, revoker, 'now');
    expect(await lock.release()).toBe(true);
    await other.release();
    await (await waiting).release();
  });
});

describe('a revocation by force', () => {
  it('reaches the holder at the next extension, with the revoker and the reason', async () => {
    const { holder, revoker, losses } = await world();
    const lock = await holder.locks.acquireMutex('a');
    const { signal } = lock;
    expect((await revoker.locks.revoke('a', { why: 'stuck', force: true })).evicted).toEqual([lock.id]);
    await eventually('the signal aborts', () => signal.aborted);
    expectNamesRevoker(signal.reason, revoker, 'stuck');
    await expectRevoked(lock, revoker, 'stuck');
    expect(losses).toMatchObject([{ why: 'revoked' }]);
  });

  it('makes a later release return false and report the loss', async () => {
    const { holder, revoker, losses } = await world({ ...OPTIONS, leaseMs: 600_000 });
    const lock = await holder.locks.acquireMutex('a');
    await revoker.locks.revoke('a', { why: 'stuck', force: true });
    expect(await lock.release()).toBe(false);
    expect(losses).toMatchObject([{ why: 'revoked' }]);
  });

  it('ends only the lease that it names, and gives the reason to that hold alone', async () => {
    const { holder, revoker } = await world();
    const semaphore = holder.locks.createSemaphore('s', 3);
    const [first, second, third] = await Promise.all([1, 2, 3].map(() => semaphore.acquire()));
    if (first === undefined || second === undefined || third === undefined) throw new Error('not granted');
    await revoker.locks.revoke('s', { id: second.id, why: 'this one', force: true });
    await expectRevoked(second, revoker, 'this one');
    await Promise.all([first.confirm(), third.confirm()]);
    await revoker.locks.revoke('s', { why: 'the others', force: true });
    await expectRevoked(first, revoker, 'the others');
    await expectRevoked(third, revoker, 'the others');
    expect(await rejection(second.confirm())).toMatchObject({
      message: expect.stringContaining('this one') as string,
    });
  });

  it('replaces the reason of an earlier polite one', async () => {
    const { holder, revoker } = await world({ ...OPTIONS, leaseMs: 600_000 });
    const lock = await holder.locks.acquireMutex('a');
    await revoker.locks.revoke('a', { why: 'please' });
    await lock.confirm();
    expectNamesRevoker(lock.releaseRequested.reason, revoker, 'please');
    await revoker.locks.revoke('a', { why: 'now', force: true });
    await expectRevoked(lock, revoker, 'now');
  });

  it('stores a bounded number of records, and removes outdated ones', async () => {
    const { holder, revoker } = await world({ ...OPTIONS, leaseMs: 600_000 });
    const mutex = holder.locks.createMutex('a');
    for (let turn = 0; turn < 20; turn += 1) {
      const lock = await mutex.acquire();
      await revoker.locks.revoke('a', { why: `turn ${turn}`, force: true });
      await expectRevoked(lock, revoker, `turn ${turn}`);
    }
    const records = (await revoker.document('a'))?.['revoked'] as unknown[];
    expect(records.length).toBeLessThanOrEqual(8);
    const past = [
      {
        $set: {
          revoked: { $map: { input: '$revoked', in: { $mergeObjects: ['$$this', { until: new Date(0) }] } } },
        },
      },
    ];
    await revoker.tamper('a', past);
    const last = await mutex.acquire();
    await revoker.locks.revoke('a', { force: true });
    expect((await revoker.document('a'))?.['revoked']).toHaveLength(1);
    expect(await rejection(last.confirm())).toMatchObject({ why: 'revoked' });
  });

  it.each<{ readonly revoked: unknown }>([
    ...[7, 'x', null, [], {}, [7]].map((revoked) => ({ revoked })),
    { revoked: [{ from: 1, to: 2 ** 60, by: 'x', forced: true }] },
    { revoked: [{ by: 7, why: {}, from: 'a', to: null }] },
  ])('ignores a corrupt record of earlier revocations: $revoked', async ({ revoked }) => {
    const { holder, revoker } = await world();
    const lock = await holder.locks.acquireMutex('a');
    await holder.tamper('a', { $set: { revoked, holder: null } });
    expect(await rejection(lock.confirm())).toMatchObject({ why: 'evicted' });
    const next = await holder.locks.acquireMutex('a');
    await next.confirm();
    await revoker.locks.revoke('a', { why: 'mended', force: true });
    await expectRevoked(next, revoker, 'mended');
  });
});

it('a hold whose seat was emptied by hand is evicted and not revoked, even if an earlier hold was revoked', async () => {
  const { holder, revoker } = await world();
  const first = await holder.locks.acquireMutex('a');
  await revoker.locks.revoke('a', { why: 'stuck', force: true });
  await expectRevoked(first, revoker, 'stuck');
  const second = await holder.locks.acquireMutex('a');
  await holder.tamper('a', { $set: { holder: null, strange: new Double(1) } });
  expect(await rejection(second.confirm())).toMatchObject({ why: 'evicted' });
});

it('one revocation asks hundreds of holds to release, in few commands', async () => {
  const { holder, revoker, requests } = await world({ ...OPTIONS, leaseMs: 600_000 });
  const semaphore = holder.locks.createSemaphore('s', 500);
  const permits = await Promise.all(Array.from({ length: 500 }, () => semaphore.acquire()));
  holder.commands.length = 0;
  revoker.commands.length = 0;
  const result = await revoker.locks.revoke('s', { why: 'all of them' });
  expect(result.asked).toHaveLength(500);
  expect(revoker.commands.length).toBeLessThan(10);
  // The process does not listen. The first confirmation finds the request, and the others share one or two batches.
  await Promise.all(permits.map((permit) => permit.confirm()));
  await eventually('all holds are asked to release', () => requests.length === 500);
  expect(holder.commands.length).toBeLessThan(30);
  expectNamesRevoker(permits[499]?.releaseRequested.reason, revoker, 'all of them');
});

it('a leader whose term is revoked is deposed', async () => {
  const { holder, revoker } = await world();
  const election = holder.locks.createLeaderElection('boss', { candidateId: 'first' });
  const deposed = new Promise<string>((resolve) => {
    election.on('deposed', ({ why }) => {
      resolve(why);
    });
  });
  await election.start();
  await eventually('it leads', () => election.isLeader);
  await revoker.locks.revoke('boss', { why: 'stuck', force: true });
  expect(await deposed).toBe('lost');
  await election.stop();
});
