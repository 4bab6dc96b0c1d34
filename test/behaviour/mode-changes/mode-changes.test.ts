import { describe, expect, it } from 'vitest';
import type { LockHandle, ModeChangedEvent, ReaderWriterHandle } from '../../../src/index.js';
import { eventually, later, rejection, staysOpen, within } from '../../../lab/patience.js';
import { answeredTimeout, toldOfHolders } from '../../support/answered-timeout.js';
import { failCommands, testProvider, twoProviders, useOwnServer } from '../../support/test-provider.js';
import type { TestProvider } from '../../support/test-provider.js';
import { untilWaiting } from '../../support/waiters.js';

useOwnServer();

/** The server applies the update, and reports that no majority has it yet. */
const UNKNOWN = {
  failCommands: ['findAndModify'],
  writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' },
};

const isUpgrading = async (provider: TestProvider): Promise<boolean> => {
  const stored = await provider.document('a');
  return (stored?.['readers'] as { upgrading?: boolean }[]).some(({ upgrading }) => upgrading === true);
};

async function upgradeableBesideReader(
  [one, other]: readonly [TestProvider, TestProvider],
  name = 'a',
): Promise<readonly [ReaderWriterHandle, LockHandle]> {
  const upgradeable = await one.locks.createReaderWriterLock(name).acquireUpgradeableRead();
  const reader = await other.locks.createReaderWriterLock(name).acquireRead();
  return [upgradeable, reader];
}

/** The number of each change of mode that was sent, in order. */
const changes = ({ commands }: TestProvider): readonly number[] =>
  commands
    .filter(({ commandName }) => commandName === 'findAndModify')
    .flatMap(({ command }) =>
      [...JSON.stringify(command['update']).matchAll(/"change":(\d+)/g)]
        .slice(0, 1)
        .map(([, n]) => Number(n)),
    );

describe('an upgrade', () => {
  it('is repeated under the same number while its outcome is unknown', async () => {
    const provider = await testProvider({ leaseMs: 60_000 });
    const lock = await provider.locks.createReaderWriterLock('a').acquireUpgradeableRead();
    const before = lock.fencingToken;
    provider.commands.length = 0;
    await failCommands(provider, { times: 3 }, UNKNOWN);
    await lock.upgrade();
    expect(lock.currentMode()).toBe('write');
    expect(changes(provider)).toEqual([1, 1, 1, 1]);
    expect(lock.fencingToken).toBeGreaterThan(before);
    const snapshot = await provider.locks.inspect('a');
    expect(snapshot?.holders).toMatchObject([{ id: lock.id, mode: 'write', token: lock.fencingToken }]);
  });

  it('fails after storeTimeoutMs if tryUpgrade() gets no answer, and is taken back in the background', async () => {
    const [provider, other] = await twoProviders({ leaseMs: 60_000, storeTimeoutMs: 500 });
    const lock = await provider.locks.createReaderWriterLock('a').acquireUpgradeableRead();
    const heal = await failCommands(provider, 'alwaysOn', UNKNOWN);
    expect(await rejection(lock.tryUpgrade())).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(lock.currentMode()).toBe('upgradeable');
    expect(lock.isHeld).toBe(true);
    await heal();
    // The server applied the upgrade, so a reader gets in only after it was taken back.
    const readers = other.locks.createReaderWriterLock('a');
    const reader = await readers.acquireRead({ timeoutMs: 20_000 });
    await reader.release();
    expect(await lock.tryUpgrade()).toBe(true);
  });

  it('leaves its hold unchanged and keeps no reader out if it is aborted while the store is away', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000 });
    const [lock, reader] = await upgradeableBesideReader([one, other]);
    const abort = new AbortController();
    const upgrading = later(lock.upgrade({ signal: abort.signal }));
    await eventually('the upgrade waits', () => isUpgrading(one));
    const parked = other.locks.createReaderWriterLock('a').acquireRead({ timeoutMs: 20_000 });
    await untilWaiting(one.locks, 'a');
    const heal = await failCommands(one, 'alwaysOn', { failCommands: ['findAndModify'], errorCode: 189 });
    const reason = new Error('not any more');
    abort.abort(reason);
    expect(await rejection(upgrading)).toBe(reason);
    expect(lock.currentMode()).toBe('upgradeable');
    expect(lock.isHeld).toBe(true);
    await heal();
    expect((await parked).isHeld).toBe(true);
    expect(reader.isHeld).toBe(true);
  });

  it('keeps its hold while it waits for longer than the lease, and succeeds when the readers have left', async () => {
    const providers = await twoProviders({ leaseMs: 3_000 });
    const [lock, reader] = await upgradeableBesideReader(providers);
    const upgrading = lock.upgrade();
    expect(await staysOpen(upgrading, 5_000)).toBe(true);
    expect(lock.isHeld).toBe(true);
    expect(await reader.release()).toBe(true);
    await within(10_000, 'the upgrade', upgrading);
    expect(lock.signal.aborted).toBe(false);
    await lock.confirm();
    expect(lock.currentMode()).toBe('write');
  });

  it('succeeds one lease after the death of the reader that it waits for', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000 });
    const lock = await one.locks.createReaderWriterLock('a').acquireUpgradeableRead();
    const reader = await other.locks.createReaderWriterLock('a', { leaseMs: 1_000 }).acquireRead();
    const upgrading = lock.upgrade();
    await eventually('the upgrade waits', () => isUpgrading(one));
    await other.locks.close({ drainMs: 0 });
    await within(10_000, 'the upgrade after the dead reader', upgrading);
    expect(reader.isHeld).toBe(false);
    expect(lock.currentMode()).toBe('write');
  });

  it('fails when its hold is lost', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000 });
    const [lock] = await upgradeableBesideReader([one, other]);
    const upgrading = later(lock.upgrade());
    await eventually('the upgrade waits', () => isUpgrading(one));
    await other.locks.revoke('a', { id: lock.id, force: true });
    expect(await rejection(within(10_000, 'the loss', upgrading))).toMatchObject({ code: 'LOCK_LOST' });
    expect(lock.isHeld).toBe(false);
  });

  it('fails when its hold is released, and keeps no reader out', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000 });
    const [lock] = await upgradeableBesideReader([one, other]);
    const upgrading = later(lock.upgrade());
    await eventually('the upgrade waits', () => isUpgrading(one));
    expect(await lock.release()).toBe(true);
    expect(await rejection(upgrading)).toMatchObject({ code: 'LOCK_LOST', why: 'released' });
    expect(await other.locks.createReaderWriterLock('a').tryAcquireUpgradeableRead()).not.toBeNull();
  });

  it('fails when its provider closes, and close() still waits for the release of the hold', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000 });
    const [lock] = await upgradeableBesideReader([one, other]);
    const upgrading = later(lock.upgrade());
    await eventually('the upgrade waits', () => isUpgrading(one));
    const closing = one.locks.close({ drainMs: 20_000 });
    expect(await rejection(upgrading)).toMatchObject({ code: 'PROVIDER_CLOSED' });
    expect(lock.releaseRequested.aborted).toBe(true);
    expect(lock.isHeld).toBe(true);
    expect(await lock.release()).toBe(true);
    await within(10_000, 'the close', closing);
  });

  it('can be requested again at once after it failed', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000 });
    const [lock, reader] = await upgradeableBesideReader([one, other]);
    for (let round = 0; round < 5; round += 1) {
      expect(await rejection(lock.upgrade({ signal: AbortSignal.timeout(20) }))).toMatchObject({
        name: 'TimeoutError',
      });
      expect(await lock.tryUpgrade({ timeoutMs: 20 })).toBe(false);
    }
    const upgrading = lock.upgrade();
    await eventually('the upgrade waits', () => isUpgrading(one));
    await reader.release();
    await within(10_000, 'the upgrade', upgrading);
    expect(lock.currentMode()).toBe('write');
  });

  it('names the readers in its way when it times out', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000 });
    const lock = await one.locks.createReaderWriterLock('a').acquireUpgradeableRead();
    const reader = await other.locks.createReaderWriterLock('a').acquireRead({ why: 'a long report' });
    const timeouts: string[] = [];
    one.locks.on('timeout', ({ id }) => timeouts.push(id));
    const error = await answeredTimeout((timeoutMs) => lock.upgrade({ timeoutMs }), toldOfHolders);
    expect(error).toMatchObject({
      code: 'ACQUIRE_TIMEOUT',
      place: null,
      holders: [{ id: reader.id, why: 'a long report', mode: 'read' }],
    });
    expect([...new Set(timeouts)]).toEqual([lock.id]);
  });

  it('rejects invalid options before anything is sent, and leaves the hold unchanged', async () => {
    // The index would be created at any time.
    const provider = await testProvider({ leaseMs: 60_000, createIndexes: false });
    const lock = await provider.locks.createReaderWriterLock('a').acquireUpgradeableRead();
    provider.commands.length = 0;
    const bad: readonly object[] = [
      { timeoutMs: -2 },
      { timeoutMs: 'x' },
      { signal: 1 },
      { why: 7 },
      { leaseMs: 1 },
    ];
    for (const options of bad) {
      expect(await rejection(lock.upgrade(options))).toBeInstanceOf(Error);
      expect(await rejection(lock.tryUpgrade(options))).toHaveProperty(
        'name',
        expect.stringMatching(/^(Type|Range)Error$/),
      );
    }
    for (const to of ['write', 'none', null, 1]) {
      expect(await rejection(lock.downgrade(to as 'read'))).toHaveProperty(
        'name',
        expect.stringMatching(/^(Type|Range)Error$/),
      );
    }
    expect(provider.commands).toEqual([]);
    expect(lock.currentMode()).toBe('upgradeable');
  });
});

describe('a downgrade', () => {
  it('gives up the stronger mode before it is sent', async () => {
    const provider = await testProvider({ leaseMs: 60_000 });
    const lock = await provider.locks.createReaderWriterLock('a').acquireWrite();
    const downgrading = lock.downgrade('upgradeable');
    expect(lock.currentMode()).toBe('upgradeable');
    await downgrading;
    expect(lock.currentMode()).toBe('upgradeable');
  });

  it('fails after storeTimeoutMs if it gets no answer, and continues until waiting readers are admitted', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000, storeTimeoutMs: 500 });
    const lock = await one.locks.createReaderWriterLock('a').acquireWrite();
    const before = lock.fencingToken;
    const changed: ModeChangedEvent[] = [];
    one.locks.on('modeChanged', (event) => changed.push(event));
    const reading = other.locks.createReaderWriterLock('a').acquireRead({ timeoutMs: 20_000 });
    const heal = await failCommands(one, 'alwaysOn', { failCommands: ['findAndModify'], errorCode: 189 });
    expect(await rejection(lock.downgrade('read'))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      outcomeKnown: false,
    });
    expect(lock.currentMode()).toBe('read');
    expect(await rejection(lock.upgrade())).toMatchObject({ code: 'LOCK_MODE', mode: 'read' });
    await heal();
    expect((await reading).isHeld).toBe(true);
    await eventually('the change is reported', () => changed.length > 0);
    expect(changed).toMatchObject([{ id: lock.id, mode: 'read', previousMode: 'write' }]);
    expect(lock.fencingToken).toBeGreaterThan(before);
    expect(lock.fencingToken).toBe(changed[0]?.fencingToken);
  });

  it('counts once, however often it is repeated', async () => {
    const provider = await testProvider({ leaseMs: 60_000 });
    const lock = await provider.locks.createReaderWriterLock('a').acquireWrite();
    provider.commands.length = 0;
    await failCommands(provider, { times: 3 }, UNKNOWN);
    await lock.downgrade('read');
    expect(changes(provider)).toEqual([1, 1, 1, 1]);
    const snapshot = await provider.locks.inspect('a');
    expect(snapshot?.holders).toMatchObject([{ id: lock.id, mode: 'read', token: lock.fencingToken }]);
  });

  it('is not mistaken for a loss by an overlapping extension', async () => {
    const provider = await testProvider({ leaseMs: 60_000 });
    const lock = await provider.locks.createReaderWriterLock('a').acquireWrite();
    const lost: string[] = [];
    provider.locks.on('lost', ({ id }) => lost.push(id));
    for (let round = 0; round < 10; round += 1) {
      const confirmed = [lock.confirm(), lock.confirm()];
      await lock.downgrade('upgradeable');
      confirmed.push(lock.confirm());
      await lock.upgrade();
      await Promise.all(confirmed);
    }
    expect(lost).toEqual([]);
    expect(lock.isHeld).toBe(true);
    expect(lock.currentMode()).toBe('write');
  });

  it('fails with LOCK_LOST if its hold was revoked meanwhile', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000 });
    const lock = await one.locks.createReaderWriterLock('a').acquireWrite();
    await other.locks.revoke('a', { force: true });
    expect(await rejection(lock.downgrade('read'))).toMatchObject({ code: 'LOCK_LOST', why: 'revoked' });
    expect(lock.isHeld).toBe(false);
  });
});

describe('a change of mode', () => {
  it('is numbered, so that a late copy of an older change does nothing (S2)', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000 });
    const [lock, reader] = await upgradeableBesideReader([one, other]);
    const upgrading = later(lock.upgrade({ signal: AbortSignal.timeout(100) }));
    await rejection(upgrading);
    await eventually('the upgrade is taken back', async () => !(await isUpgrading(one)));
    const late = one.commands.find(({ command }) =>
      JSON.stringify(command['update'] ?? '').includes('"change":1'),
    );
    if (late === undefined) throw new Error('no upgrade was sent');
    await reader.release();
    const { findAndModify, query, update, fields } = late.command as Record<string, unknown>;
    await one.db.command({ findAndModify, query, update, fields, new: true });
    await lock.confirm();
    const snapshot = await one.locks.inspect('a');
    expect(snapshot?.holders).toMatchObject([{ id: lock.id, mode: 'upgradeable', token: lock.fencingToken }]);
  });

  it('is not undone by a late copy of a cancel that it has outdated (S2)', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000 });
    const [lock, reader] = await upgradeableBesideReader([one, other]);
    const abort = new AbortController();
    const upgrading = later(lock.upgrade({ signal: abort.signal }));
    await eventually('the upgrade waits', () => isUpgrading(one));
    // The cancel is lost. Meanwhile the reader leaves, so the server grants the upgrade, and the process does not know.
    const heal = await failCommands(one, 'alwaysOn', { failCommands: ['findAndModify'], errorCode: 189 });
    abort.abort();
    await rejection(upgrading);
    await eventually('the cancel was sent', () => changes(one).includes(2));
    await reader.release();
    await heal();
    await lock.upgrade();
    const late = one.commands.find(({ command }) =>
      JSON.stringify(command['update'] ?? '').includes('"change":2'),
    );
    const { findAndModify, query, update, fields } = (late?.command ?? {}) as Record<string, unknown>;
    await one.db.command({ findAndModify, query, update, fields, new: true });
    const snapshot = await one.locks.inspect('a');
    expect(lock.currentMode()).toBe('write');
    expect(snapshot?.holders).toMatchObject([{ id: lock.id, mode: 'write', token: lock.fencingToken }]);
  });

  it('repeats its cancel until the server accepts it', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000 });
    const [lock, reader] = await upgradeableBesideReader([one, other]);
    const abort = new AbortController();
    const upgrading = later(lock.upgrade({ signal: abort.signal }));
    await eventually('the upgrade waits', () => isUpgrading(one));
    const heal = await failCommands(one, 'alwaysOn', { failCommands: ['findAndModify'], errorCode: 13 });
    abort.abort();
    await rejection(upgrading);
    await eventually(
      'two cancels were refused',
      () => changes(one).filter((change) => change === 2).length >= 2,
    );
    expect(await isUpgrading(one)).toBe(true);
    await heal();
    const next = await other.locks.createReaderWriterLock('a').acquireRead({ timeoutMs: 20_000 });
    expect(next.isHeld).toBe(true);
    expect(lock.currentMode()).toBe('upgradeable');
    expect(reader.isHeld).toBe(true);
  });

  it('excludes another change until it is answered', async () => {
    const provider = await testProvider({ leaseMs: 60_000 });
    const lock = await provider.locks.createReaderWriterLock('a').acquireWrite();
    const downgrading = lock.downgrade('upgradeable');
    expect(await rejection(lock.upgrade())).toMatchObject({ code: 'LOCK_MODE', mode: 'upgradeable' });
    expect(await rejection(lock.downgrade('read'))).toMatchObject({ code: 'LOCK_MODE' });
    await downgrading;
    await lock.upgrade();
    expect(lock.currentMode()).toBe('write');
  });

  it('fails on a corrupt document, and leaves the document as it is', async () => {
    const provider = await testProvider({ leaseMs: 60_000 });
    const lock = await provider.locks.createReaderWriterLock('a').acquireUpgradeableRead();
    await provider.tamper('a', { $set: { purgeAt: 'x' } });
    expect(await rejection(lock.upgrade())).toMatchObject({ code: 'CORRUPT_LOCK_DOCUMENT' });
    expect(lock.currentMode()).toBe('upgradeable');
    expect(await rejection(lock.downgrade('read'))).toMatchObject({ code: 'CORRUPT_LOCK_DOCUMENT' });
    expect(await provider.document('a')).toMatchObject({ readers: [{ id: lock.id, mode: 'upgradeable' }] });
  });
});
