import { Long } from 'mongodb';
import { afterAll, describe, expect, inject, it } from 'vitest';

import type { Operation } from '../../../src/protocol/operation.js';
import { readerWriterRules } from '../../../src/protocol/kinds/reader-writer-rules.js';
import { LockDocumentDriver } from '../../model/documents/lock-document-driver.js';
import { MUTEX, SEMAPHORE } from '../../model/documents/lock-kinds.js';
import { versionOf } from '../../../src/testing/judge/lock-version.js';
import { enqueue, exchange, leave } from '../../model/documents/operations.js';
import {
  lockAfter,
  read,
  readUpgradeably,
  seen,
  tokenOf,
  write,
} from '../../model/documents/reader-writer-lock.js';

const driver = new LockDocumentDriver(inject('mongoUri'), readerWriterRules);

afterAll(() => driver[Symbol.asyncDispose]());

/** `ww` writes; these requests wait. */
const written = (...waiting: readonly Operation[]): Promise<string> =>
  lockAfter(driver, write('ww'), ...waiting);

describe('a downgrade', () => {
  it('to upgradeable admits waiting readers in the same update, up to the next upgradeable one', async () => {
    const name = await written(read('wa'), readUpgradeably('wb'), read('wc'));
    const { stored, reply } = await driver.apply(name, [exchange('ww', 1, 'upgradeable')]);
    expect(seen(stored)).toEqual(['ww upgradeable', 'wa read', 'wb waits', 'wc waits']);
    expect(reply.wake).toEqual([`p0:wa:${tokenOf(stored, 'wa')}`]);
  });

  it('to read admits every waiter before the next writer', async () => {
    const name = await written(read('wa'), readUpgradeably('wb'), write('wc'));
    const { stored } = await driver.apply(name, [exchange('ww', 1, 'read')]);
    expect(seen(stored)).toEqual(['ww read', 'wa read', 'wb upgradeable', 'wc waits']);
  });

  it('from upgradeable to read admits the next upgradeable reader', async () => {
    const name = await lockAfter(driver, readUpgradeably('wa'), readUpgradeably('wb'));
    const { stored } = await driver.apply(name, [exchange('wa', 1, 'read')]);
    expect(seen(stored)).toEqual(['wa read', 'wb upgradeable']);
  });

  it('gives a new token, below those of the readers that it admits, and keeps the rest of the lease', async () => {
    const name = await written(read('wa'));
    // A fence ahead of the clock: each token is the one before it plus one.
    const fence = (Date.now() + 3_600_000) * 1_000;
    await driver.tamper(name, { $set: { fence: Long.fromNumber(fence) } });
    const [before] = versionOf(await driver.read(name)).leases;
    const { stored, reply } = await driver.apply(name, [exchange('ww', 1, 'upgradeable')]);
    const tokens = { token: fence + 1, firstToken: before?.token };
    const changed = { mode: 'upgradeable', change: 1, upgrading: false, ...tokens };
    expect(versionOf(stored).leases[0]).toEqual({ ...before, ...changed });
    expect(tokenOf(stored, 'wa')).toBe(fence + 2);
    expect(reply.fence).toBe(fence + 2);
  });

  it('to read during a waiting upgrade also ends the upgrade', async () => {
    const name = await lockAfter(
      driver,
      read('wa'),
      readUpgradeably('wu'),
      exchange('wu', 1, 'write'),
      read('wb'),
    );
    const token = tokenOf(await driver.read(name), 'wu');
    const { stored } = await driver.apply(name, [exchange('wu', 2, 'read')]);
    expect(seen(stored)).toEqual(['wa read', 'wu read', 'wb read']);
    expect(tokenOf(stored, 'wu')).toBeGreaterThan(token);
    expect((await driver.apply(name, [leave('wa')])).stored['writerWaiting']).toBe(false);
  });

  it('to read is final: no later change makes the hold stronger again', async () => {
    const name = await written();
    await driver.apply(name, [exchange('ww', 1, 'read')]);
    const before = await driver.image(name);
    for (const to of ['write', 'upgradeable', 'read'] as const) {
      await driver.apply(name, [exchange('ww', 9, to)]);
    }
    expect(await driver.image(name)).toBe(before);
  });
});

describe('a change of mode that cannot apply', () => {
  it('changes nothing for a waiter, an unknown attempt or an expired lease', async () => {
    const name = await lockAfter(driver, readUpgradeably('wu'), readUpgradeably('wb'));
    const before = await driver.image(name);
    for (const id of ['wb', 'w9']) {
      for (const to of ['write', 'read', 'upgradeable'] as const) {
        await driver.apply(name, [exchange(id, 1, to)]);
      }
    }
    expect(await driver.image(name)).toBe(before);
    await driver.lapse(name, ['wu']);
    expect(seen((await driver.apply(name, [exchange('wu', 1, 'write')])).stored)).toEqual(['wb upgradeable']);
  });

  it.each([MUTEX, SEMAPHORE])(
    'changes not a byte of a lock of another kind: $model.kind',
    async ({ rules }) => {
      await using other = new LockDocumentDriver(inject('mongoUri'), rules);
      const name = await lockAfter(other, enqueue('wh', { limit: 1 }), enqueue('w1'));
      const before = await other.image(name);
      for (const to of ['write', 'read'] as const) await other.apply(name, [exchange('wh', 1, to)]);
      expect(await other.image(name)).toBe(before);
    },
  );
});
