import { afterAll, describe, expect, inject, it } from 'vitest';

import { mutexRules } from '../../../src/protocol/kinds/mutex-rules.js';
import { transition } from '../../../src/protocol/pipeline/transition.js';
import { OTHERS_WAIT, gaveBackLease, readWake, readWakeWords } from '../../../src/protocol/wake.js';
import { LockDocumentDriver } from '../../model/documents/lock-document-driver.js';
import type { StoredDocument } from '../../model/documents/lock-document-driver.js';
import { versionOf } from '../../../src/testing/judge/lock-version.js';
import {
  NONCE,
  ask,
  cancel,
  enqueue,
  evict,
  extend,
  leave,
  tryOnce,
} from '../../model/documents/operations.js';

const driver = new LockDocumentDriver(inject('mongoUri'));

afterAll(() => driver[Symbol.asyncDispose]());

const fenceOf = (stored: StoredDocument): number => versionOf(stored).fence;

/** The words of `wake`, without those that tell the sender of the update what it gave back. */
const grantsIn = (stored: StoredDocument): readonly string[] =>
  readWake(stored['wake']).filter((word) => !word.startsWith('-'));

/** `wh` of process p0 holds the lock; `w1` of p1 and `w2` of p0 wait in this order. */
async function contended(): Promise<string> {
  const name = driver.newName();
  await driver.apply(name, [enqueue('wh', { process: 'p0' })]);
  await driver.apply(name, [enqueue('w1', { process: 'p1' })]);
  await driver.apply(name, [enqueue('w2', { process: 'p0' })]);
  return name;
}

describe('wake', () => {
  it('names a waiter that gets a seat: its process, attempt and token', async () => {
    const name = await contended();
    const { stored } = await driver.apply(name, [leave('wh')], { process: 'p0' });
    expect(grantsIn(stored)).toEqual([`p1:w1:${fenceOf(stored)}`]);
  });

  it('names a granted waiter even if its process sent the update', async () => {
    const name = await contended();
    await driver.apply(name, [leave('wh')]);
    const { stored } = await driver.apply(name, [leave('w1')], { process: 'p0' });
    expect(grantsIn(stored)).toEqual([`p0:w2:${fenceOf(stored)}`]);
  });

  it('names every grant of one update, in their order', async () => {
    const name = await contended();
    const { stored } = await driver.apply(name, [leave('wh'), leave('w1')]);
    const fence = fenceOf(stored);
    expect(grantsIn(stored)).toEqual([`p1:w1:${fence - 1}`, `p0:w2:${fence}`]);
  });

  it('names a waiter that is granted because the holder and the waiter ahead of it have expired', async () => {
    const name = await contended();
    await driver.lapse(name, ['wh', 'w1']);
    const { stored } = await driver.apply(name, []);
    expect(grantsIn(stored)).toEqual([`p0:w2:${fenceOf(stored)}`]);
  });

  it('does not name the grant of a request that came with the same update, because the reply shows it', async () => {
    const name = driver.newName();
    expect(grantsIn((await driver.apply(name, [enqueue('w1')])).stored)).toEqual([]);
    expect(grantsIn((await driver.apply(name, [leave('w1'), tryOnce('w2')])).stored)).toEqual([]);
    expect(grantsIn((await driver.apply(name, [leave('w2'), enqueue('w3')])).stored)).toEqual([]);
  });

  it('names the grant of a waiter whose request is only repeated by the update', async () => {
    // The copy may be an old one whose repeat was answered long ago: then no caller reads this reply.
    const name = await contended();
    const { stored } = await driver.apply(name, [leave('wh'), enqueue('w1', { process: 'p1' })]);
    expect(grantsIn(stored)).toEqual([`p1:w1:${fenceOf(stored)}`]);
  });

  it('names the grant of a repeated request even if the clock has stepped back since it was queued', async () => {
    const name = await contended();
    await driver.lapse(name, ['w1'], new Date(Date.now() + 3_600_000));
    const { stored } = await driver.apply(name, [leave('wh'), enqueue('w1', { process: 'p1' })]);
    expect(grantsIn(stored)).toEqual([`p1:w1:${fenceOf(stored)}`]);
  });

  it('names the grant of a repeated request even if both copies are applied within one millisecond', async () => {
    const name = driver.newName();
    await driver.apply(name, [enqueue('wh')]);
    const request = enqueue('w1', { process: 'p1' });
    const stored = await driver.inOneMillisecond(
      name,
      transition(mutexRules, [request]),
      transition(mutexRules, [leave('wh'), request]),
    );
    expect(versionOf(stored).leases).toMatchObject([{ id: 'w1' }]);
    expect(readWake(stored?.['wake']).slice(1)).toEqual([`p1:w1:${versionOf(stored).fence}`]);
  });

  it('is replaced by every update, and empty if there is nothing to tell', async () => {
    const name = await contended();
    const calm = [[], [enqueue('w3')], [enqueue('w3')], [tryOnce('w4')], [cancel('w3')]];
    for (const operations of calm) {
      await driver.tamper(name, { $set: { wake: ' p1:w1:7' } });
      expect((await driver.apply(name, operations)).stored['wake']).toBe('');
    }
    await driver.tamper(name, { $set: { wake: ' p1:w1:7' } });
    expect((await driver.extend(name, ['wh'], 30_000, 0))?.stored['wake']).toBe('');
  });

  it('answers a look first, and then names the waiters that the look admitted', async () => {
    const name = await contended();
    expect((await driver.apply(name, [extend('w1', 'wh')])).reply.wake).toEqual([`~${NONCE}`]);
    await driver.lapse(name, ['wh']);
    const { stored, reply } = await driver.apply(name, [extend('w1')]);
    expect(reply.wake).toEqual([`~${NONCE}`, `p1:w1:${fenceOf(stored)}`]);
  });

  it('tells the sender of a leave which lease it gave back, and a holder that it was asked or evicted', async () => {
    const name = await contended();
    const asked = await driver.apply(name, [ask('wh')]);
    expect(asked.reply.wake).toEqual(['p0:wh:0']);
    const token = fenceOf(asked.stored);
    const evicted = await driver.apply(name, [evict('wh')]);
    expect(evicted.reply.wake).toEqual(['p0:wh:0', `p1:w1:${fenceOf(evicted.stored)}`]);
    const gone = await driver.apply(name, [leave('wh'), leave('w2'), leave('w1')]);
    const givenBack = ['wh', 'w2', 'w1', 'w9'].map((id) => gaveBackLease(gone.reply.wake, id));
    expect(givenBack).toEqual([false, false, true, undefined]);
    expect(gone.reply.wake).toContain(`-w1:${fenceOf(gone.stored)}`);
    expect(fenceOf(gone.stored)).toBeGreaterThan(token);
  });

  it('tells a keeper that another process waits, and the keeper reads the word as that', async () => {
    const name = driver.newName();
    await driver.apply(name, [enqueue('wh', { process: 'host:1:p0', keeps: 999 })]);
    const { stored } = await driver.apply(name, [enqueue('w1', { process: 'p1' })]);
    const [word = '', ...others] = grantsIn(stored);
    expect(others).toEqual([]);
    expect([...readWakeWords('host:1:p0', [word])]).toEqual([{ id: 'wh', token: OTHERS_WAIT, handedBy: [] }]);
  });

  it('is empty after an ask or an eviction of an attempt that is no holder', async () => {
    const name = await contended();
    for (const operation of [ask('w1'), evict('w1'), ask('w9'), evict('w9')]) {
      expect((await driver.apply(name, [operation])).reply.wake).toEqual([]);
    }
  });
});
