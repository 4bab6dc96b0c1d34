import type { Document, RunCommandOptions } from 'mongodb';
import { describe, expect, it, vi } from 'vitest';
import { later } from '../../../lab/patience.js';
import { untilWaiting } from '../../support/waiters.js';
import type { LockHandle } from '../../../src/index.js';
import { CorruptLockDocumentError, StoreUnavailableError } from '../../../src/index.js';
import { failCommands, testProvider, twoProviders, useOwnServer } from '../../support/test-provider.js';
import type { TestProvider } from '../../support/test-provider.js';
import { keepHold } from '../../support/keep-hold.js';

useOwnServer();

const NAMES = Array.from({ length: 64 }, (_, index) => `invoice:${String(index)}`);

/** A provider that has spoken with its server before, so that only the commands of the test are seen. */
async function warm(): Promise<TestProvider> {
  const provider = await testProvider({ leaseMs: 60_000, createIndexes: false });
  await (await provider.locks.acquireMutex('warm')).release();
  provider.commands.length = 0;
  return provider;
}

const acquireAll = ({ locks }: TestProvider, names = NAMES): Promise<readonly LockHandle[]> =>
  Promise.all(names.map((name) => locks.acquireMutex(name)));

const commandNames = ({ commands }: TestProvider): readonly string[] =>
  commands.map(({ commandName }) => commandName);

/** Each lock is held once, by the attempt of its handle, and with the handle's token. */
async function expectHeld({ locks }: TestProvider, handles: readonly LockHandle[]): Promise<void> {
  const held = await Promise.all(handles.map(({ name }) => locks.inspect(name)));
  expect(held.map((snapshot) => snapshot?.holders.map(({ id, token }) => [id, token]))).toEqual(
    handles.map(({ id, fencingToken }) => [[id, fencingToken]]),
  );
}

describe('locks with different names, asked for in one turn', () => {
  it('are granted by one update and one read, and given back by one update', async () => {
    const provider = await warm();
    const handles = await acquireAll(provider);
    expect(commandNames(provider)).toEqual(['update', 'find']);
    await expectHeld(provider, handles);
    provider.commands.length = 0;
    expect(await Promise.all(handles.map((handle) => handle.release()))).toEqual(NAMES.map(() => true));
    // However long they were held: nothing has shown that others want them.
    expect(commandNames(provider)).toEqual(['update']);
    const left = await Promise.all(NAMES.map((name) => provider.locks.inspect(name)));
    expect(left.every((snapshot) => snapshot?.holders.length === 0)).toBe(true);
  });

  it('are granted again on the documents that they left behind, with higher tokens', async () => {
    const provider = await warm();
    const first = await acquireAll(provider);
    await Promise.all(first.map((handle) => handle.release()));
    const second = await acquireAll(provider);
    for (const [index, { fencingToken }] of second.entries()) {
      expect(fencingToken).toBeGreaterThan(first[index]?.fencingToken ?? Infinity);
    }
    await expectHeld(provider, second);
  });

  it('may be of all kinds', async () => {
    const provider = await warm();
    const { locks } = provider;
    const rw = locks.createReaderWriterLock('rw');
    const handles = await Promise.all([
      locks.acquireMutex('m'),
      rw.acquireRead(),
      locks.createReaderWriterLock('rw2').acquireWrite(),
      locks.createSemaphore('s', 3).acquire({ permits: 2 }),
    ]);
    expect(commandNames(provider)).toEqual(['update', 'find']);
    await expectHeld(provider, handles);
    provider.commands.length = 0;
    expect(await Promise.all(handles.map((handle) => handle.release()))).toEqual([true, true, true, true]);
    expect(commandNames(provider)).toEqual(['update']);
  });

  it('keep the label, the reason, the lease time and the limit of each request', async () => {
    const provider = await warm();
    const { locks } = provider;
    const seen = await locks.acquireMutex('seen');
    await seen.release();
    provider.commands.length = 0;
    const handles = await Promise.all([
      locks.acquireMutex('seen', { why: '$kind' }),
      locks.acquireMutex('$first', { why: 'monthly closing' }),
      locks.acquireMutex('plain'),
      locks.acquireMutex('short', { leaseMs: 20_000 }),
      ...[3, 5].map((limit) => locks.createSemaphore(`s${String(limit)}`, limit).acquire({ permits: 2 })),
      ...['r1', 'r2'].map((name) => locks.createReaderWriterLock(name).acquireRead()),
    ]);
    expect(commandNames(provider)).toEqual(['update', 'find']);
    await expectHeld(provider, handles);
    const shown = await Promise.all(handles.map(({ name }) => locks.inspect(name)));
    expect(shown.map((snapshot) => snapshot?.holders[0]?.why)).toEqual([
      ...['$kind', 'monthly closing'],
      ...Array.from({ length: 6 }, () => undefined),
    ]);
    expect(handles.filter(({ remainingMs }) => remainingMs < 20_000).map(({ name }) => name)).toEqual([
      'short',
    ]);
    expect(shown.map((snapshot) => snapshot?.limit).filter((limit) => limit !== undefined)).toEqual([3, 5]);
    expect(await Promise.all(handles.map((handle) => handle.release()))).not.toContain(false);
  });

  it('do not suffer from a corrupt document, a taken lock or a refused document among them', async () => {
    const provider = await warm();
    const [corrupt = '', taken = '', refused = '', ...others] = NAMES;
    await provider.db
      .collection<{ _id: string }>('distributed.locks')
      .insertOne({ _id: corrupt, kind: 'mutex' } as never);
    const holder = await provider.provider({ leaseMs: 60_000 }).acquireMutex(taken);
    await provider.db.command({
      collMod: 'distributed.locks',
      validator: { _id: { $ne: refused } },
    });
    const tries = await Promise.allSettled(
      NAMES.map((name) => provider.locks.acquireMutex(name, { timeoutMs: name === taken ? 3_000 : 60_000 })),
    );
    const failed = tries.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
    expect(failed).toHaveLength(3);
    expect(failed[0]).toBeInstanceOf(CorruptLockDocumentError);
    expect(failed[1]).toMatchObject({ name: 'AcquireTimeoutError', lockName: taken });
    expect(failed[2]).toBeInstanceOf(StoreUnavailableError);
    const granted = tries.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    expect(granted.map(({ name }) => name)).toEqual(others);
    await expectHeld(provider, [holder, ...granted]);
  });

  it.each([
    ['the reply to the update is lost', { failCommands: ['update'], closeConnection: true }],
    ['the read is lost', { failCommands: ['find'], closeConnection: true }],
    [
      'the update is not acknowledged by a majority',
      {
        failCommands: ['update'],
        writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' },
      },
    ],
    ['the update is refused', { failCommands: ['update'], errorCode: 13 }],
    ['the primary steps down after the update', { failCommands: ['find'], errorCode: 10_107 }],
  ])('are each granted once if %s', async (_, failure) => {
    const provider = await warm();
    await failCommands(provider, { times: 1 }, failure);
    const handles = await acquireAll(provider);
    await expectHeld(provider, handles);
    const events: string[] = [];
    provider.locks.on('lost', ({ lockName }) => events.push(lockName));
    expect(await Promise.all(handles.map((handle) => handle.release()))).toEqual(NAMES.map(() => true));
    expect(events).toEqual([]);
  });

  it.each([
    ['the reply to the update is lost', { failCommands: ['update'], closeConnection: true }],
    [
      'the update is not acknowledged by a majority',
      {
        failCommands: ['update'],
        writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' },
      },
    ],
  ])('are all given back, and none is reported as lost, if %s of the release', async (_, failure) => {
    const provider = await warm();
    const handles = await acquireAll(provider);
    const lost: string[] = [];
    provider.locks.on('lost', ({ lockName }) => lost.push(lockName));
    await failCommands(provider, { times: 1 }, failure);
    expect(await Promise.all(handles.map((handle) => handle.release()))).toEqual(NAMES.map(() => true));
    expect(lost).toEqual([]);
    const left = await Promise.all(NAMES.map((name) => provider.locks.inspect(name)));
    expect(left.every((snapshot) => snapshot?.holders.length === 0)).toBe(true);
  });

  it('go to their waiters at a release in a group', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000 });
    const names = NAMES.slice(0, 8);
    const handles = await acquireAll(one, names);
    const waiting = acquireAll(other, names.slice(0, 3));
    const queued = names.slice(0, 3).map(async (name) => {
      while ((await one.locks.inspect(name))?.waiters.length !== 1);
    });
    await Promise.all(queued);
    expect(await Promise.all(handles.map((handle) => handle.release()))).toEqual(names.map(() => true));
    const next = await waiting;
    expect(next.map(({ isHeld }) => isHeld)).toEqual([true, true, true]);
    await expectHeld(other, next);
  });

  it('report no lock as lost that was released by an update which then failed, and was taken by another', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000, createIndexes: false });
    const names = ['a', 'b', 'c'];
    const handles = await acquireAll(one, names);
    const lost: string[] = [];
    one.locks.on('lost', ({ lockName }) => lost.push(lockName));
    // The server has released a when it refuses b, and does not count a.
    await one.db.command({
      collMod: 'distributed.locks',
      validator: { $or: [{ _id: { $ne: 'b' } }, { holder: { $ne: null } }] },
    });
    const command = one.db.command.bind(one.db);
    one.db.command = async (sent: Document, options?: RunCommandOptions) => {
      if ('find' in sent) await keepHold(other.locks.acquireMutex('a'));
      return await command(sent, options);
    };
    const [a, , c] = handles.map((handle) => later(handle.release()));
    expect([await a, await c]).toEqual([true, true]);
    expect(lost).toEqual([]);
    await one.db.command({ collMod: 'distributed.locks', validator: {} });
  });

  it('are granted although a transaction of the application blocks one of them', async () => {
    const provider = await warm();
    const names = NAMES.slice(0, 4);
    await Promise.all((await acquireAll(provider, names)).map((handle) => handle.release()));
    const session = provider.client.startSession();
    session.startTransaction();
    await provider.db
      .collection<{ _id: string }>('distributed.locks')
      .updateOne({ _id: names[0] ?? '' }, { $set: { note: 1 } }, { session });
    const [blocked, ...others] = names.map((name) => later(provider.locks.acquireMutex(name)));
    const handles = await Promise.all(others);
    expect(session.inTransaction()).toBe(true);
    await session.abortTransaction();
    await session.endSession();
    const last = await blocked;
    await expectHeld(provider, [...(last === undefined ? [] : [last]), ...handles]);
  });

  it('report a lock as lost that was taken away before the release of its group', async () => {
    const provider = await warm();
    const handles = await acquireAll(provider, NAMES.slice(0, 4));
    const lost: string[] = [];
    provider.locks.on('lost', ({ lockName }) => lost.push(lockName));
    await provider.db
      .collection<{ _id: string }>('distributed.locks')
      .updateOne({ _id: NAMES[1] ?? '' }, { $set: { holder: null } });
    const released = await Promise.all(handles.map((handle) => handle.release()));
    expect(released).toEqual([true, false, true, true]);
    expect(lost).toEqual([NAMES[1]]);
  });

  it('report no lock as lost that was given back and taken by others before the read of the group', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000 });
    const [taken = '', passed = '', wanted = '', ...others] = NAMES.slice(0, 4);
    const handles = await acquireAll(one, [taken, passed, wanted, ...others]);
    const lost: string[] = [];
    one.locks.on('lost', ({ lockName }) => lost.push(lockName));
    // The short form of this release does not apply, so the count is short, and the group needs its read.
    const waiting = later(other.locks.acquireMutex(wanted));
    await untilWaiting(other.locks, wanted);
    const command = one.db.command.bind(one.db);
    const next: LockHandle[] = [];
    vi.spyOn(one.db, 'command').mockImplementation(async (sent, options) => {
      if ('find' in sent && next.length === 0) {
        next.push(await other.locks.acquireMutex(taken));
        await (await other.locks.acquireMutex(passed)).release();
      }
      return await command(sent, options);
    });
    expect(await Promise.all(handles.map((handle) => handle.release()))).toEqual([true, true, true, true]);
    next.push(await waiting);
    expect(next.map(({ name }) => name)).toEqual([taken, wanted]);
    expect(lost).toEqual([]);
    await expectHeld(other, next);
  });
});
