import { Long } from 'mongodb';
import { afterAll, describe, expect, inject, it } from 'vitest';

import { mutexRules } from '../../../src/protocol/kinds/mutex-rules.js';
import { transition } from '../../../src/protocol/pipeline/transition.js';
import type { Operation } from '../../../src/protocol/operation.js';
import { LockDocumentDriver } from '../../model/documents/lock-document-driver.js';
import type { StoredDocument } from '../../model/documents/lock-document-driver.js';
import { versionOf } from '../../../src/testing/judge/lock-version.js';
import { ask, cancel, enqueue, evict, extend, leave, tryOnce } from '../../model/documents/operations.js';

const driver = new LockDocumentDriver(inject('mongoUri'));

afterAll(() => driver[Symbol.asyncDispose]());

const holderOf = (stored: StoredDocument | null): string | undefined => versionOf(stored).leases[0]?.id;
const queueOf = (stored: StoredDocument | null): readonly string[] =>
  versionOf(stored).queue.map(([id]) => id);

/** The holder and the waiters at the end, and the fence, which counts the grants. */
async function outcomeOf(name: string): Promise<unknown> {
  const { fence, leases, queue } = versionOf(await driver.read(name));
  return { fence, leases: leases.map(({ id, ending }) => [id, ending]), queue: queue.map(([id]) => id) };
}

/** The first of these attempts holds the lock; the others wait. */
async function contended(...ids: readonly string[]): Promise<string> {
  const name = driver.newName();
  for (const id of ids) await driver.apply(name, [enqueue(id)]);
  return name;
}

describe('the queue', () => {
  it('is an object keyed by attempt id, with its fields in the order of arrival', async () => {
    // Neither the alphabetical order of the ids nor an earlier place of the same id may matter.
    const name = await contended('we', 'wz', 'wa', 'wq', 'wb');
    await driver.apply(name, [cancel('wa')]);
    await driver.apply(name, [enqueue('wc')]);
    await driver.apply(name, [enqueue('wa')]);
    const [types] = await driver.collection
      .aggregate([{ $match: { _id: name } }, { $project: { type: { $type: '$queue' } } }])
      .toArray();
    expect(types).toMatchObject({ type: 'object' });
    expect(queueOf(await driver.read(name))).toEqual(['wz', 'wq', 'wb', 'wc', 'wa']);

    const order: (string | undefined)[] = [];
    while (order.length < 5) {
      const holder = holderOf(await driver.read(name));
      order.push(holder);
      await driver.apply(name, [leave(holder ?? '')]);
    }
    expect(order).toEqual(['we', 'wz', 'wq', 'wb', 'wc']);
    expect(holderOf(await driver.read(name))).toBe('wa');
  });

  it('keeps the place, the lease and the arrival time of a repeated request', async () => {
    const name = await contended('wh', 'w1', 'w2');
    const before = await driver.image(name);
    for (const id of ['w1', 'wh']) {
      await driver.apply(name, [enqueue(id, { leaseMs: 60_000, why: 'again' })]);
      await driver.apply(name, [tryOnce(id, { leaseMs: 60_000, why: 'again' })]);
    }
    expect(await driver.image(name)).toBe(before);
  });

  it('is created, with its document, by a request and by no other operation', async () => {
    const name = driver.newName();
    const others = [cancel('w1'), leave('w1'), extend('w1'), ask('w1'), evict('w1')];
    for (const operations of [[], ...others.map((operation) => [operation])]) {
      expect(await driver.send(name, operations)).toBeNull();
    }
    expect(await driver.read(name)).toBeNull();
    await driver.apply(name, [tryOnce('w1')]);
    expect(holderOf(await driver.read(name))).toBe('w1');
  });
});

describe('admission', () => {
  it('gives a free seat to the first waiter, in the same update that frees it', async () => {
    const name = await contended('wh', 'w1', 'w2');
    const { stored } = await driver.apply(name, [leave('wh')]);
    expect([holderOf(stored), queueOf(stored)]).toEqual(['w1', ['w2']]);
  });

  it('passes over waiters whose places have lapsed, and gives away the seat of an expired holder', async () => {
    const name = await contended('wh', 'w1', 'w2', 'w3');
    await driver.lapse(name, ['w1', 'w2']);
    const { stored } = await driver.apply(name, [leave('wh')]);
    expect([holderOf(stored), queueOf(stored)]).toEqual(['w3', []]);

    await driver.apply(name, [enqueue('w4')]);
    await driver.lapse(name, ['w3']);
    expect(holderOf((await driver.apply(name, [])).stored)).toBe('w4');
  });

  it.each([
    ['holder', 'wh', 'holder.expiresAt', 'w1'],
    ['waiter', 'w1', 'queue.w1.expiresAt', 'w2'],
  ])('treats a %s as expired from its expiry on, to the millisecond', async (_, id, field, next) => {
    const name = await contended('wh', 'w1', 'w2');
    const leaving = transition(mutexRules, id === 'wh' ? [] : [leave('wh')]);
    const ending = [{ $set: { [field]: '$$NOW' } }];
    expect(holderOf(await driver.inOneMillisecond(name, ending, leaving))).toBe(next);
    const other = await contended('wh', 'w1', 'w2');
    const soon = [{ $set: { [field]: { $add: ['$$NOW', 1] } } }];
    expect(holderOf(await driver.inOneMillisecond(other, soon, leaving))).toBe(id);
  });

  it('never extends the lease that the waiter had', async () => {
    const name = await contended('wh', 'w1');
    const lastSignOfLife = new Date(Date.now() + 7_000);
    await driver.lapse(name, ['w1'], lastSignOfLife);
    const { stored, nowMs } = await driver.apply(name, [leave('wh')]);
    const [lease] = versionOf(stored).leases;
    expect(lease).toMatchObject({ id: 'w1', expiresAt: lastSignOfLife, acquiredAt: new Date(nowMs) });
  });

  it('lets no try pass a waiter, not even into a seat that has just become free', async () => {
    const name = await contended('wh', 'w1');
    expect(queueOf((await driver.apply(name, [tryOnce('w2')])).stored)).toEqual(['w1']);
    await driver.lapse(name, ['wh']);
    const { stored } = await driver.apply(name, [tryOnce('w2')]);
    expect([holderOf(stored), queueOf(stored)]).toEqual(['w1', []]);
  });

  /** Each batch would end differently if waiters were admitted only once, at the end of the update. */
  const batches: Readonly<Record<string, readonly Operation[]>> = {
    'a cancel finds its request admitted already': [leave('wh'), leave('w1'), enqueue('wx'), cancel('wx')],
    'a cancel and a try find the next waiter admitted already': [leave('wh'), cancel('w1'), tryOnce('wx')],
    'one seat is granted three times': [leave('wh'), leave('w1'), enqueue('wx'), enqueue('wy'), leave('wx')],
    'the next waiter is admitted, then evicted': [leave('wh'), evict('w1'), enqueue('wx')],
    'the next waiter is admitted, asked, and then not extended': [leave('wh'), ask('w1'), extend('w1')],
    'a try comes between two requests': [
      leave('wh'),
      leave('w1'),
      enqueue('wx'),
      tryOnce('wy'),
      enqueue('wz'),
    ],
  };

  it.each(Object.entries(batches))('runs after each operation of an update: %s', async (_, operations) => {
    const [together, apart] = [await contended('wh', 'w1'), await contended('wh', 'w1')];
    // A fence ahead of the clock counts the grants.
    const fence = Long.fromNumber((Date.now() + 3_600_000) * 1_000);
    await driver.collection.updateMany({ _id: { $in: [together, apart] } }, { $set: { fence } });
    await driver.apply(together, operations);
    for (const operation of operations) await driver.apply(apart, [operation]);
    expect(await outcomeOf(together)).toEqual(await outcomeOf(apart));
  });
});
