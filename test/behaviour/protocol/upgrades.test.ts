import { afterAll, describe, expect, inject, it } from 'vitest';

import { readerWriterRules } from '../../../src/protocol/kinds/reader-writer-rules.js';
import { fateOf } from '../../../src/protocol/replies/reply.js';
import { LockDocumentDriver } from '../../model/documents/lock-document-driver.js';
import { versionOf } from '../../../src/testing/judge/lock-version.js';
import { ask, evict, exchange, extend, leave, tryOnce } from '../../model/documents/operations.js';
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

/** `wa` reads; `wu` reads upgradeably and waits to write. */
const upgrading = (): Promise<string> =>
  lockAfter(driver, read('wa'), readUpgradeably('wu', { process: 'p1' }), exchange('wu', 1, 'write'));

const writes = { mode: 'write' } as const;

describe('an upgrade', () => {
  it('is granted at once if there is no other reader, with a new token and the same expiry', async () => {
    const name = await lockAfter(driver, readUpgradeably('wu', { why: 'stock', label: 'shop' }));
    const before = versionOf(await driver.read(name)).leases[0];
    const { stored, reply, nowMs } = await driver.apply(name, [exchange('wu', 1, 'write')]);
    expect(seen(stored)).toEqual(['wu write']);
    const tokens = { token: reply.fence, firstToken: before?.token };
    const grant = { ...writes, ...tokens, acquiredAt: new Date(nowMs), change: 1 };
    expect(versionOf(stored).leases).toEqual([{ ...before, ...grant }]);
    expect(reply.fence).toBeGreaterThan(before?.token ?? Infinity);
    expect(fateOf(reply, 'wu').type).toBe('granted');
  });

  it('waits for the other readers at place 0, and is granted by the update in which the last one leaves', async () => {
    const name = await upgrading();
    await driver.apply(name, [read('wb')]);
    const { stored: before, reply: waiting } = await driver.apply(name, [exchange('wu', 1, 'write')]);
    expect(seen(before)).toEqual(['wa read', 'wu upgrading', 'wb waits']);
    expect(fateOf(waiting, 'wu')).toMatchObject({ type: 'queued', place: { id: 'wu', place: 0 } });
    const { stored, reply } = await driver.apply(name, [leave('wa')]);
    expect(seen(stored)).toEqual(['wu write', 'wb waits']);
    expect(reply.wake.at(-1)).toBe(`p1:wu:${tokenOf(stored, 'wu')}`);
  });

  it('is granted when the last other reader is evicted, or its lease has expired', async () => {
    const waiting = [await upgrading(), await upgrading()] as const;
    await driver.lapse(waiting[0], ['wa']);
    expect(seen((await driver.apply(waiting[0], [extend('wu')])).stored)).toEqual(['wu write']);
    expect(seen((await driver.apply(waiting[1], [evict('wa')])).stored)).toEqual(['wu write']);
  });

  it('keeps everything else out while it waits: readers, tries, and a writer that queued before it', async () => {
    const name = await lockAfter(driver, read('wa'), readUpgradeably('wu'), write('ww'));
    await driver.apply(name, [exchange('wu', 1, 'write')]);
    await driver.apply(name, [read('wb'), tryOnce('wt', { mode: 'read' })]);
    expect(seen(await driver.read(name))).toEqual(['wa read', 'wu upgrading', 'ww waits', 'wb waits']);
    expect((await driver.read(name))?.['writerWaiting']).toBe(true);
    const { stored } = await driver.apply(name, [leave('wa')]);
    expect(seen(stored)).toEqual(['wu write', 'ww waits', 'wb waits']);
    const { stored: next } = await driver.apply(name, [leave('wu')]);
    expect(seen(next)).toEqual(['ww write', 'wb waits']);
  });

  it('leaves the reader as it was if it is cancelled, and the same update admits the waiting readers', async () => {
    const name = await upgrading();
    for (const operation of [read('wb'), read('wc')]) await driver.apply(name, [operation]);
    const token = tokenOf(await driver.read(name), 'wu');
    const { stored, reply } = await driver.apply(name, [exchange('wu', 2, 'upgradeable')]);
    expect(seen(stored)).toEqual(['wa read', 'wu upgradeable', 'wb read', 'wc read']);
    expect(tokenOf(stored, 'wu')).toBe(token);
    expect(reply.wake).toEqual(['wb', 'wc'].map((id) => `p0:${id}:${tokenOf(stored, id)}`));
  });

  it('ends when the lease of its reader expires, and the waiting readers or the waiting writer are admitted', async () => {
    const name = await upgrading();
    await driver.apply(name, [read('wb')]);
    await driver.lapse(name, ['wu']);
    expect(seen((await driver.apply(name, [])).stored)).toEqual(['wa read', 'wb read']);
    const other = await upgrading();
    await driver.apply(other, [write('ww')]);
    await driver.lapse(other, ['wu', 'wa']);
    expect(seen((await driver.apply(other, [])).stored)).toEqual(['ww write']);
  });

  it('by a try is granted, or changes nothing but the number of the change and keeps no reader out', async () => {
    const name = await lockAfter(driver, read('wa'), readUpgradeably('wu'));
    const { stored, reply } = await driver.apply(name, [exchange('wu', 1, 'write', false)]);
    expect(fateOf(reply, 'wu')).toMatchObject({ type: 'granted', lease: { mode: 'upgradeable', change: 1 } });
    expect(seen(stored)).toEqual(['wa read', 'wu upgradeable']);
    await driver.apply(name, [read('wb')]);
    await driver.apply(name, [leave('wa'), leave('wb')]);
    expect(seen(await driver.read(name))).toEqual(['wu upgradeable']);
    expect(seen((await driver.apply(name, [exchange('wu', 2, 'write', false)])).stored)).toEqual([
      'wu write',
    ]);
  });

  it('keeps the mark that its holder was asked to release', async () => {
    const name = await upgrading();
    await driver.apply(name, [ask('wu', 'maintenance')]);
    const { stored } = await driver.apply(name, [leave('wa')]);
    const mark = { ending: true, endingWhy: 'maintenance' };
    expect(versionOf(stored).leases).toMatchObject([{ id: 'wu', ...writes, ...mark }]);
  });

  it('sends a wake-up for its grant even if the update also brings a late copy of the request for the hold', async () => {
    // The request that the copy repeats was answered long ago and awaits no reply: only `wake` can announce the grant.
    const name = await upgrading();
    const copy = readUpgradeably('wu', { process: 'p1' });
    const { stored, reply } = await driver.apply(name, [leave('wa'), copy]);
    expect(seen(stored)).toEqual(['wu write']);
    expect(reply.wake).toContain(`p1:wu:${tokenOf(stored, 'wu')}`);
  });

  it('can be released while it waits, and then the waiting readers are admitted', async () => {
    const name = await upgrading();
    await driver.apply(name, [read('wb')]);
    expect(seen((await driver.apply(name, [leave('wu')])).stored)).toEqual(['wa read', 'wb read']);
  });
});

describe('the number of a mode change', () => {
  it('makes a late copy of an upgrade change nothing once the upgrade was cancelled', async () => {
    const name = await upgrading();
    await driver.apply(name, [exchange('wu', 2, 'upgradeable')]);
    const before = await driver.image(name);
    await driver.apply(name, [exchange('wu', 1, 'write')]);
    expect(await driver.image(name)).toBe(before);
  });

  it('makes an upgrade that arrives after its own cancel change nothing', async () => {
    const name = await lockAfter(driver, readUpgradeably('wu'), exchange('wu', 2, 'upgradeable'));
    const { stored } = await driver.apply(name, [exchange('wu', 1, 'write')]);
    expect(seen(stored)).toEqual(['wu upgradeable']);
  });

  it('makes a late cancel change nothing once the next upgrade has begun', async () => {
    const name = await upgrading();
    for (const operation of [exchange('wu', 2, 'upgradeable'), exchange('wu', 3, 'write')]) {
      await driver.apply(name, [operation]);
    }
    const before = await driver.image(name);
    await driver.apply(name, [exchange('wu', 2, 'upgradeable')]);
    expect(await driver.image(name)).toBe(before);
  });

  it('makes a repeat of a granted upgrade or of a downgrade change not a byte', async () => {
    const name = await lockAfter(driver, readUpgradeably('wu'), exchange('wu', 1, 'write'));
    for (const repeated of [
      exchange('wu', 1, 'write'),
      exchange('wu', 2, 'upgradeable'),
      exchange('wu', 3, 'read'),
    ]) {
      await driver.apply(name, [repeated]);
      await driver.apply(name, []);
      const before = await driver.image(name);
      const { reply } = await driver.apply(name, [repeated]);
      expect(await driver.image(name)).toBe(before);
      expect(fateOf(reply, 'wu').type).toBe('granted');
    }
  });

  it('stays in the lease after an upgrade and after a downgrade', async () => {
    const name = await upgrading();
    const { stored } = await driver.apply(name, [leave('wa')]);
    expect(versionOf(stored).leases).toMatchObject([{ id: 'wu', change: 1 }]);
    const { stored: weaker } = await driver.apply(name, [exchange('wu', 5, 'read')]);
    expect(versionOf(weaker).leases).toMatchObject([{ id: 'wu', change: 5 }]);
  });
});
