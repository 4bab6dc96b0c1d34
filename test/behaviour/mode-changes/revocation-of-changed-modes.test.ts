import { describe, expect, it } from 'vitest';
import { textOf } from '../../../src/error-text.js';
import type { LostEvent, ReaderWriterHandle, ReleaseRequestedEvent } from '../../../src/index.js';
import { eventually, later, rejection } from '../../../lab/patience.js';
import { failCommands, twoProviders, useOwnServer } from '../../support/test-provider.js';

useOwnServer();

const OPTIONS = { leaseMs: 600_000, createIndexes: false };

type Change = (lock: ReaderWriterHandle) => Promise<void>;

const CHANGES: readonly (readonly [string, 'write' | 'upgradeable', Change])[] = [
  ['upgraded', 'upgradeable', (lock) => lock.upgrade()],
  ['downgraded to read', 'upgradeable', (lock) => lock.downgrade('read')],
  ['downgraded from write', 'write', (lock) => lock.downgrade('upgradeable')],
];

describe.each(CHANGES)('a hold that is %s', (_, from, change) => {
  it('gets the revoker and the reason of a polite revocation from before the change', async () => {
    const [holder, revoker] = await twoProviders(OPTIONS);
    const requests: ReleaseRequestedEvent[] = [];
    holder.locks.on('releaseRequested', (event) => requests.push(event));
    const rw = holder.locks.createReaderWriterLock('a');
    const lock = await (from === 'write' ? rw.acquireWrite() : rw.acquireUpgradeableRead());
    await revoker.locks.revoke('a', { why: 'deploy' });
    await change(lock);
    await lock.confirm();
    expect(textOf(lock.releaseRequested.reason)).toContain('deploy');
    expect(textOf(lock.releaseRequested.reason)).toContain(revoker.locks.processId);
    expect(requests).toMatchObject([{ id: lock.id, why: 'deploy', by: revoker.locks.processId }]);
  });

  it('gets the reason of a forced revocation from after the change', async () => {
    const [holder, revoker] = await twoProviders(OPTIONS);
    const losses: LostEvent[] = [];
    holder.locks.on('lost', (event) => losses.push(event));
    const rw = holder.locks.createReaderWriterLock('a');
    const lock = await (from === 'write' ? rw.acquireWrite() : rw.acquireUpgradeableRead());
    await change(lock);
    await revoker.locks.revoke('a', { why: 'stuck', force: true });
    expect(await rejection(lock.confirm())).toMatchObject({
      why: 'revoked',
      message: expect.stringContaining('stuck') as string,
    });
    expect(losses).toMatchObject([{ why: 'revoked' }]);
  });
});

it('a hold with a stored but unanswered upgrade gets the reason of a forced revocation', async () => {
  const [holder, revoker] = await twoProviders(OPTIONS);
  const lock = await holder.locks.createReaderWriterLock('a').acquireUpgradeableRead();
  await failCommands(holder, 'alwaysOn', {
    failCommands: ['findAndModify'],
    writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' },
  });
  const upgrading = later(lock.upgrade());
  await eventually('it is stored', async () => (await revoker.document('a'))?.['writer'] !== null);
  await revoker.locks.revoke('a', { why: 'stuck', force: true });
  const loss = { why: 'revoked', message: expect.stringContaining('stuck') as string };
  expect(await rejection(lock.confirm())).toMatchObject(loss);
  expect(await rejection(upgrading)).toMatchObject(loss);
});
