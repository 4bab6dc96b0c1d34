import { afterAll, describe, expect, inject, it } from 'vitest';

import { readerWriterRules } from '../../../src/protocol/kinds/reader-writer-rules.js';
import { fateOf, refusalOf } from '../../../src/protocol/replies/reply.js';
import type { Mode } from '../../../src/protocol/lock-document.js';
import { LockDocumentDriver } from '../../model/documents/lock-document-driver.js';
import { versionOf } from '../../../src/testing/judge/lock-version.js';
import { cancel, enqueue, evict, leave, requestOf, tryOnce } from '../../model/documents/operations.js';
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

describe('readers', () => {
  it('share the lock, one upgradeable reader among them', async () => {
    const name = await lockAfter(driver, read('wa'), readUpgradeably('wb'), read('wc'));
    expect(seen(await driver.read(name))).toEqual(['wa read', 'wb upgradeable', 'wc read']);
  });

  it('are admitted by one update up to the first waiting writer, with tokens in the order of the queue', async () => {
    const name = await lockAfter(driver, write('wh'), read('wa'), readUpgradeably('wb'), read('wc'));
    for (const operation of [write('wd'), read('we')]) await driver.apply(name, [operation]);
    const { stored, reply } = await driver.apply(name, [leave('wh')]);
    expect(seen(stored)).toEqual(['wa read', 'wb upgradeable', 'wc read', 'wd waits', 'we waits']);
    const tokens = ['wa', 'wb', 'wc'].map((id) => tokenOf(stored, id));
    expect(tokens).toEqual([reply.fence - 2, reply.fence - 1, reply.fence]);
    const grants = ['wa', 'wb', 'wc'].map((id, index) => `p0:${id}:${tokens[index] ?? 0}`);
    expect(reply.wake).toEqual([expect.stringMatching(/^-wh:/), ...grants]);
  });

  it('wait behind a waiting writer, so that it does not starve', async () => {
    const name = await lockAfter(driver, read('wa'), write('wb'), read('wc'));
    expect(seen(await driver.read(name))).toEqual(['wa read', 'wb waits', 'wc waits']);
    await driver.apply(name, [leave('wa')]);
    expect(seen(await driver.read(name))).toEqual(['wb write', 'wc waits']);
    await driver.apply(name, [leave('wb')]);
    expect(seen(await driver.read(name))).toEqual(['wc read']);
  });

  it('are admitted by the update in which the writer ahead of them is cancelled or found lapsed', async () => {
    for (const isDead of [false, true]) {
      const name = await lockAfter(driver, read('wa'), write('wb'), read('wc'), read('wd'));
      if (isDead) await driver.lapse(name, ['wb']);
      const { stored } = await driver.apply(name, isDead ? [] : [cancel('wb')]);
      expect(seen(stored)).toEqual(['wa read', 'wc read', 'wd read']);
    }
  });

  it('wait behind a second upgradeable reader, which keeps its place', async () => {
    const name = await lockAfter(driver, readUpgradeably('wa'), readUpgradeably('wb'), read('wc'));
    expect(seen(await driver.read(name))).toEqual(['wa upgradeable', 'wb waits', 'wc waits']);
    const { stored } = await driver.apply(name, [leave('wa')]);
    expect(seen(stored)).toEqual(['wb upgradeable', 'wc read']);
  });

  it('are admitted by one update only up to a second upgradeable reader', async () => {
    const name = await lockAfter(driver, write('wh'), read('wa'), readUpgradeably('wb'));
    for (const operation of [read('wc'), readUpgradeably('wd'), read('we')]) {
      await driver.apply(name, [operation]);
    }
    const { stored } = await driver.apply(name, [leave('wh')]);
    expect(seen(stored)).toEqual(['wa read', 'wb upgradeable', 'wc read', 'wd waits', 'we waits']);
  });
});

describe('a writer', () => {
  it('is admitted alone, when no other holder is left', async () => {
    const name = await lockAfter(driver, read('wa'), read('wb'), write('wc'), write('wd'));
    await driver.apply(name, [leave('wa')]);
    expect(seen(await driver.read(name))).toEqual(['wb read', 'wc waits', 'wd waits']);
    await driver.apply(name, [leave('wb')]);
    expect(seen(await driver.read(name))).toEqual(['wc write', 'wd waits']);
  });

  it('waits for dead readers only until their leases expire', async () => {
    const name = await lockAfter(driver, read('wa'), read('wb'), write('wc'));
    await driver.lapse(name, ['wa', 'wb']);
    expect(seen((await driver.apply(name, [])).stored)).toEqual(['wc write']);
  });

  it('is announced in the document as long as it waits', async () => {
    const name = await lockAfter(driver, read('wa'));
    const isAnnounced = async (): Promise<unknown> => (await driver.read(name))?.['writerWaiting'];
    const announced = [await isAnnounced()];
    for (const operation of [write('wb'), write('wc'), cancel('wb'), leave('wa'), leave('wc')]) {
      await driver.apply(name, [operation]);
      announced.push(await isAnnounced());
    }
    expect(announced).toEqual([false, true, true, true, false, false]);
  });
});

describe('a try', () => {
  const answerTo = async (name: string, mode: Mode): Promise<string> => {
    const { reply } = await driver.apply(name, [tryOnce('wt', { mode })]);
    const { type } = fateOf(reply, 'wt');
    if (type === 'absent') return refusalOf(reply, readerWriterRules, 'try', requestOf('wt', { mode }));
    await driver.apply(name, [leave('wt')]);
    return type;
  };

  const answers = async (name: string): Promise<readonly string[]> => [
    await answerTo(name, 'read'),
    await answerTo(name, 'upgradeable'),
    await answerTo(name, 'write'),
  ];

  it('is granted beside holders whose modes are compatible', async () => {
    expect(await answers(await lockAfter(driver, read('wa')))).toEqual(['granted', 'granted', 'busy']);
    expect(await answers(await lockAfter(driver, readUpgradeably('wa')))).toEqual([
      'granted',
      'busy',
      'busy',
    ]);
    expect(await answers(await lockAfter(driver, write('wa')))).toEqual(['busy', 'busy', 'busy']);
    const free = await lockAfter(driver, write('wa'), leave('wa'));
    expect(await answers(free)).toEqual(['granted', 'granted', 'granted']);
  });

  it('passes no waiter, even if its mode is compatible with all holders', async () => {
    expect(await answers(await lockAfter(driver, read('wa'), write('wb')))).toEqual(['busy', 'busy', 'busy']);
    const waiting = await lockAfter(driver, readUpgradeably('wa'), readUpgradeably('wb'));
    expect(await answers(waiting)).toEqual(['busy', 'busy', 'busy']);
  });
});

describe('the list of readers', () => {
  const idsAfter = async (name: string): Promise<readonly string[]> =>
    versionOf(await driver.read(name)).leases.map(({ id }) => id);

  const four = (): Promise<string> => lockAfter(driver, read('wa'), read('wb'), read('wc'), read('wd'));

  it('moves its last entry to the seat of a reader that leaves', async () => {
    const name = await four();
    await driver.apply(name, [leave('wa')]);
    expect(await idsAfter(name)).toEqual(['wd', 'wb', 'wc']);
    await driver.apply(name, [leave('wc')]);
    expect(await idsAfter(name)).toEqual(['wd', 'wb']);
    await driver.apply(name, [leave('wd'), leave('wb')]);
    expect(await idsAfter(name)).toEqual([]);
  });

  it('loses evicted and expired readers, and no others', async () => {
    const evicted = await four();
    await driver.apply(evicted, [evict('wb')]);
    expect(await idsAfter(evicted)).toEqual(['wa', 'wc', 'wd']);
    const over = await four();
    await driver.lapse(over, ['wa', 'wc']);
    await driver.apply(over, []);
    expect(await idsAfter(over)).toEqual(['wb', 'wd']);
  });

  it('is cut in a reply to the attempts that the update names and ten others, with the number of all', async () => {
    const name = driver.newName();
    const ids = Array.from({ length: 100 }, (_, index) => `w${index.toString(16)}`);
    await driver.apply(
      name,
      ids.map((id) => enqueue(id, { mode: 'read' })),
    );
    const { reply } = await driver.apply(name, [leave('w63'), cancel('w50'), leave('w51')]);
    const shown = reply.leases.map(({ id }) => id);
    expect([...shown].sort()).toEqual([...ids.slice(0, 10), 'w50'].sort());
    expect(reply.leaseCount).toBe(98);
  });
});
