import { expect, it } from 'vitest';
import { rejection, within } from '../../../lab/patience.js';
import { failCommands, testProvider, useOwnServer } from '../../support/test-provider.js';

useOwnServer();

it('an upgrade after a downgrade that never reached the store gets a new token, in few updates', async () => {
  const provider = await testProvider({ leaseMs: 60_000, storeTimeoutMs: 300 });
  const lock = await provider.locks.createReaderWriterLock('a').acquireWrite();
  const before = lock.fencingToken;
  const heal = await failCommands(provider, 'alwaysOn', {
    failCommands: ['findAndModify'],
    errorCode: 50,
  });
  expect(await rejection(lock.downgrade('upgradeable'))).toMatchObject({ code: 'STORE_UNAVAILABLE' });
  expect(lock.currentMode()).toBe('upgradeable');

  const upgrading = lock.upgrade({ timeoutMs: 60_000 });
  await heal();
  const sent = provider.count('findAndModify');
  await within(20_000, 'the upgrade', upgrading);
  // The count may include repeats of the downgrade and of the upgrade that met the fault.
  expect(provider.count('findAndModify') - sent).toBeLessThan(10);
  expect(lock.currentMode()).toBe('write');
  expect(lock.fencingToken).toBeGreaterThan(before);
  expect(await provider.document('a')).toMatchObject({
    readers: [],
    writer: { id: lock.id, token: lock.fencingToken },
    fence: lock.fencingToken,
  });

  await lock.confirm();
  expect(lock.isHeld).toBe(true);
  await lock.downgrade('read');
  expect(await lock.release()).toBe(true);
  expect(await provider.document('a')).toMatchObject({ readers: [], writer: null });
});
