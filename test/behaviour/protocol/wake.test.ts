import { afterAll, describe, expect, inject, it } from 'vitest';

import { mutexSeats } from '../../../src/protocol/kinds/mutex-seats.js';
import { transition } from '../../../src/protocol/pipeline/transition.js';
import { OTHERS_WAIT, readWake, readWakeWord, tokenGivenBack } from '../../../src/protocol/wake.js';
import { LockDocumentDriver } from '../../model/documents/lock-document-driver.js';
import type { StoredDocument } from '../../model/documents/lock-document-driver.js';
import { versionOf } from '../../judge/lock-version.js';
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

/** The words of `wake`, without those by which an update tells its own sender what it gave back. */
const grantsIn = (stored: StoredDocument): readonly string[] =>
  readWake(stored['wake']).filter((word) => !word.startsWith('-'));

/** Held by `wh` of process p0, then `w1` of p1 and `w2` of p0 in the queue. */
async function contended(): Promise<string> {
  const name = driver.newName();
  await driver.apply(name, [enqueue('wh', { process: 'p0' })]);
  await driver.apply(name, [enqueue('w1', { process: 'p1' })]);
  await driver.apply(name, [enqueue('w2', { process: 'p0' })]);
  return name;
}

describe('wake', () => {
  it('names whoever gets the seat of another: its process, attempt and token', async () => {
    const name = await contended();
    const { stored } = await driver.apply(name, [leave('wh')], { process: 'p0' });
    expect(grantsIn(stored)).toEqual([`p1:w1:${fenceOf(stored)}`]);
  });

  it('names other waiters of the very process that makes the update', async () => {
    const name = await contended();
    await driver.apply(name, [leave('wh')]);
    const { stored } = await driver.apply(name, [leave('w1')], { process: 'p0' });
    expect(grantsIn(stored)).toEqual([`p0:w2:${fenceOf(stored)}`]);
  });

  it('names every grant of an update with several, in their order', async () => {
    const name = await contended();
    const { stored } = await driver.apply(name, [leave('wh'), leave('w1')]);
    const fence = fenceOf(stored);
    expect(grantsIn(stored)).toEqual([`p1:w1:${fence - 1}`, `p0:w2:${fence}`]);
  });

  it('names whoever is granted because the holder and the waiters before it are dead', async () => {
    const name = await contended();
    await driver.lapse(name, ['wh', 'w1']);
    const { stored } = await driver.apply(name, []);
    expect(grantsIn(stored)).toEqual([`p0:w2:${fenceOf(stored)}`]);
  });

  it('does not name a grant to a request that came with this update, whose reply tells', async () => {
    const name = driver.newName();
    expect(grantsIn((await driver.apply(name, [enqueue('w1')])).stored)).toEqual([]);
    expect(grantsIn((await driver.apply(name, [leave('w1'), tryOnce('w2')])).stored)).toEqual([]);
    expect(grantsIn((await driver.apply(name, [leave('w2'), enqueue('w3')])).stored)).toEqual([]);
  });

  it('names a grant to a waiter whose request is only repeated by this update', async () => {
    // It may be an old copy of a request whose repeat was answered long ago: nobody waits for this reply.
    const name = await contended();
    const { stored } = await driver.apply(name, [leave('wh'), enqueue('w1', { process: 'p1' })]);
    expect(grantsIn(stored)).toEqual([`p1:w1:${fenceOf(stored)}`]);
  });

  it('names it, also when the clock has stepped back since it was queued', async () => {
    const name = await contended();
    await driver.lapse(name, ['w1'], new Date(Date.now() + 3_600_000));
    const { stored } = await driver.apply(name, [leave('wh'), enqueue('w1', { process: 'p1' })]);
    expect(grantsIn(stored)).toEqual([`p1:w1:${fenceOf(stored)}`]);
  });

  it('names it, also when both copies come to be done within one millisecond, as after a stall', async () => {
    const name = driver.newName();
    await driver.apply(name, [enqueue('wh')]);
    const request = enqueue('w1', { process: 'p1' });
    const stored = await driver.inOneMillisecond(
      name,
      transition(mutexSeats, [request]),
      transition(mutexSeats, [leave('wh'), request]),
    );
    expect(versionOf(stored).leases).toMatchObject([{ id: 'w1' }]);
    expect(readWake(stored?.['wake']).slice(1)).toEqual([`p1:w1:${versionOf(stored).fence}`]);
  });

  it('is written whole by every update, and mostly empty', async () => {
    const name = await contended();
    const calm = [[], [enqueue('w3')], [enqueue('w3')], [tryOnce('w4')], [cancel('w3')]];
    for (const operations of calm) {
      await driver.tamper(name, { $set: { wake: ' p1:w1:7' } });
      expect((await driver.apply(name, operations)).stored['wake']).toBe('');
    }
    await driver.tamper(name, { $set: { wake: ' p1:w1:7' } });
    expect((await driver.extend(name, ['wh'], 30_000, 0))?.stored['wake']).toBe('');
  });

  it('tells that somebody looked, before it names whom that let in', async () => {
    const name = await contended();
    expect((await driver.apply(name, [extend('w1', 'wh')])).reply.wake).toEqual([`~${NONCE}`]);
    await driver.lapse(name, ['wh']);
    const { stored, reply } = await driver.apply(name, [extend('w1')]);
    expect(reply.wake).toEqual([`~${NONCE}`, `p1:w1:${fenceOf(stored)}`]);
  });

  it('tells a leaver which lease it gave back, and a holder that it was asked or evicted', async () => {
    const name = await contended();
    const asked = await driver.apply(name, [ask('wh')]);
    expect(asked.reply.wake).toEqual(['p0:wh:0']);
    const token = fenceOf(asked.stored);
    const evicted = await driver.apply(name, [evict('wh')]);
    expect(evicted.reply.wake).toEqual(['p0:wh:0', `p1:w1:${fenceOf(evicted.stored)}`]);
    const gone = await driver.apply(name, [leave('wh'), leave('w2'), leave('w1')]);
    const givenBack = ['wh', 'w2', 'w1', 'w9'].map((id) => tokenGivenBack(gone.reply.wake, id));
    expect(givenBack).toEqual([0, 0, fenceOf(gone.stored), undefined]);
    expect(fenceOf(gone.stored)).toBeGreaterThan(token);
  });

  it('tells a keeper that somebody waits, and the process reads it as that', async () => {
    const name = driver.newName();
    await driver.apply(name, [enqueue('wh', { process: 'host:1:p0', keeps: 999 })]);
    const { stored } = await driver.apply(name, [enqueue('w1', { process: 'p1' })]);
    const [word = '', ...others] = grantsIn(stored);
    expect(others).toEqual([]);
    expect(readWakeWord('host:1:p0', word)).toEqual({ id: 'wh', token: OTHERS_WAIT });
  });

  it('does not tell those who are not concerned', async () => {
    const name = await contended();
    for (const operation of [ask('w1'), evict('w1'), ask('w9'), evict('w9')]) {
      expect((await driver.apply(name, [operation])).reply.wake).toEqual([]);
    }
  });
});
