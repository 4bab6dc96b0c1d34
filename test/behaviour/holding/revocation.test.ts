import { Double } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { LockLostError } from '../../../src/index.js';
import type { Hold, LostEvent, ReleaseRequestedEvent } from '../../../src/index.js';
import { eventually, later, rejection } from '../../../lab/patience.js';
import { twoProviders } from '../../support/test-provider.js';
import type { TestProvider } from '../../support/test-provider.js';

const OPTIONS = { leaseMs: 3_000, createIndexes: false };

interface World {
  readonly holder: TestProvider;
  readonly revoker: TestProvider;
  readonly losses: LostEvent[];
  readonly requests: ReleaseRequestedEvent[];
}

async function world(options = OPTIONS): Promise<World> {
  const [holder, revoker] = await twoProviders({ ...options, label: 'billing' });
  const losses: LostEvent[] = [];
  const requests: ReleaseRequestedEvent[] = [];
  holder.locks.on('lost', (event) => losses.push(event));
  holder.locks.on('releaseRequested', (event) => requests.push(event));
  return { holder, revoker, losses, requests };
}

const messageOf = (reason: unknown): string => (reason instanceof Error ? reason.message : String(reason));

/** Whom the messages have to name, and why. */
const expectTold = (reason: unknown, { locks }: TestProvider, why: string): void => {
  expect(reason).toBeInstanceOf(Error);
  expect(messageOf(reason)).toContain(why);
  expect(messageOf(reason)).toContain(`billing (${locks.processId})`);
};

const expectRevoked = async (hold: Hold, revoker: TestProvider, why: string): Promise<void> => {
  const error = await rejection(hold.confirm());
  expect(error).toBeInstanceOf(LockLostError);
  expect(error).toMatchObject({ code: 'LOCK_LOST', why: 'revoked' });
  expectTold(error, revoker, why);
};

describe('a polite revocation', () => {
  it('tells the holder who revoked and why, and so does the loss when the lease has run out', async () => {
    const { holder, revoker, losses, requests } = await world();
    const lock = await holder.locks.acquireMutex('a');
    const { releaseRequested, signal } = lock;
    expect(await revoker.locks.revoke('a', { why: 'deploy of 12:00' })).toEqual({
      ...{ asked: [lock.id], gone: [], evicted: [] },
    });
    await eventually('it hears of it', () => releaseRequested.aborted);
    expectTold(releaseRequested.reason, revoker, 'deploy of 12:00');
    const by = `billing (${revoker.locks.processId})`;
    expect(requests).toMatchObject([{ id: lock.id, why: 'deploy of 12:00', by }]);
    expect(lock.isHeld).toBe(true);

    await eventually('the lease has run out', () => signal.aborted);
    expectTold(signal.reason, revoker, 'deploy of 12:00');
    await expectRevoked(lock, revoker, 'deploy of 12:00');
    expect(losses).toMatchObject([{ id: lock.id, why: 'revoked' }]);
  });

  it('is told to a handle that asks for the signal only later', async () => {
    const { holder, revoker } = await world();
    const lock = await holder.locks.createReaderWriterLock('a').acquireWrite();
    await revoker.locks.revoke('a', { why: 'deploy' });
    await eventually('it hears of it', () => lock.confirm().then(() => lock.releaseRequested.aborted));
    expectTold(lock.releaseRequested.reason, revoker, 'deploy');
    await eventually('the lease has run out', () => !lock.isHeld);
    expectTold(lock.signal.reason, revoker, 'deploy');
  });

  it('that is repeated does not change what the first one said', async () => {
    const { holder, revoker, requests } = await world();
    const lock = await holder.locks.acquireMutex('a');
    await revoker.locks.revoke('a', { why: 'the first' });
    for (let repeats = 0; repeats < 10; repeats += 1) await revoker.locks.revoke('a', { why: 'the second' });
    await eventually('the lease has run out', () => !lock.isHeld);
    expectTold(lock.signal.reason, revoker, 'the first');
    expect(requests).toHaveLength(1);
  });

  it('is heard at once by a holder that has a stream open', async () => {
    const { holder, revoker } = await world({ ...OPTIONS, leaseMs: 600_000 });
    const lock = await holder.locks.acquireMutex('a');
    const other = await revoker.locks.acquireMutex('b');
    const waiting = later(holder.locks.acquireMutex('b'));
    await eventually('it waits', async () => (await revoker.locks.inspect('b'))?.waiters.length === 1);
    // Far less than a third of a lease. A revocation before the stream is open is repeated.
    await eventually('it hears of it', async () => {
      await revoker.locks.revoke('a', { why: 'now' });
      return lock.releaseRequested.aborted;
    });
    expectTold(lock.releaseRequested.reason, revoker, 'now');
    expect(await lock.release()).toBe(true);
    await other.release();
    await (await waiting).release();
  });
});

describe('a revocation by force', () => {
  it('is told at the next extension: who revoked, and why', async () => {
    const { holder, revoker, losses } = await world();
    const lock = await holder.locks.acquireMutex('a');
    const { signal } = lock;
    expect((await revoker.locks.revoke('a', { why: 'stuck', force: true })).evicted).toEqual([lock.id]);
    await eventually('it hears of it', () => signal.aborted);
    expectTold(signal.reason, revoker, 'stuck');
    await expectRevoked(lock, revoker, 'stuck');
    expect(losses).toMatchObject([{ why: 'revoked' }]);
  });

  it('is told of a release that comes too late', async () => {
    const { holder, revoker, losses } = await world({ ...OPTIONS, leaseMs: 600_000 });
    const lock = await holder.locks.acquireMutex('a');
    await revoker.locks.revoke('a', { why: 'stuck', force: true });
    expect(await lock.release()).toBe(false);
    expect(losses).toMatchObject([{ why: 'revoked' }]);
  });

  it('concerns one lease of several, and says so to it alone', async () => {
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

  it('overrules what a polite one said before', async () => {
    const { holder, revoker } = await world({ ...OPTIONS, leaseMs: 600_000 });
    const lock = await holder.locks.acquireMutex('a');
    await revoker.locks.revoke('a', { why: 'please' });
    await lock.confirm();
    expectTold(lock.releaseRequested.reason, revoker, 'please');
    await revoker.locks.revoke('a', { why: 'now', force: true });
    await expectRevoked(lock, revoker, 'now');
  });

  it('leaves a bounded record, and none that the next revocation finds out of date', async () => {
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
  ])('believes nothing of a corrupt record, which harms nobody: $revoked', async ({ revoked }) => {
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

it('a seat that was emptied by hand is evicted, though an earlier lease was revoked', async () => {
  const { holder, revoker } = await world();
  const first = await holder.locks.acquireMutex('a');
  await revoker.locks.revoke('a', { why: 'stuck', force: true });
  await expectRevoked(first, revoker, 'stuck');
  const second = await holder.locks.acquireMutex('a');
  await holder.tamper('a', { $set: { holder: null, strange: new Double(1) } });
  expect(await rejection(second.confirm())).toMatchObject({ why: 'evicted' });
});

it('hundreds of holders are revoked together, in a few commands', async () => {
  const { holder, revoker, requests } = await world({ ...OPTIONS, leaseMs: 600_000 });
  const semaphore = holder.locks.createSemaphore('s', 500);
  const permits = await Promise.all(Array.from({ length: 500 }, () => semaphore.acquire()));
  holder.commands.length = 0;
  revoker.commands.length = 0;
  const result = await revoker.locks.revoke('s', { why: 'all of them' });
  expect(result.asked).toHaveLength(500);
  expect(revoker.commands.length).toBeLessThan(10);
  // Nobody here listens, so one of them asks; the others are asked about in the same batch or the next one.
  await Promise.all(permits.map((permit) => permit.confirm()));
  await eventually('all have heard of it', () => requests.length === 500);
  expect(holder.commands.length).toBeLessThan(30);
  expectTold(permits[499]?.releaseRequested.reason, revoker, 'all of them');
});

it('a leader that is revoked is deposed', async () => {
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
