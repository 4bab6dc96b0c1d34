import { afterAll, describe, expect, inject, it } from 'vitest';

import { LockDocumentDriver } from '../../model/documents/lock-document-driver.js';
import { versionOf } from '../../../src/testing/judge/lock-version.js';
import { NONCE, ask, cancel, enqueue, evict, extend, leave } from '../../model/documents/operations.js';

const driver = new LockDocumentDriver(inject('mongoUri'));

afterAll(() => driver[Symbol.asyncDispose]());

/** `wh` holds the lock; `w1` and `w2` wait. */
async function contended(): Promise<string> {
  const name = driver.newName();
  await driver.apply(name, [enqueue('wh')]);
  await driver.apply(name, [enqueue('w1'), enqueue('w2')]);
  return name;
}

const membersOf = async (name: string): Promise<readonly string[]> => {
  const { leases, queue } = versionOf(await driver.read(name));
  return [leases[0]?.id ?? 'nobody', ...queue.map(([id]) => id)];
};

describe('cancel', () => {
  it('removes a waiter from the queue', async () => {
    const name = await contended();
    await driver.apply(name, [cancel('w1')]);
    expect(await membersOf(name)).toEqual(['wh', 'w2']);
  });

  it('never empties a seat: if the grant came first, the reply shows the lease', async () => {
    const name = await contended();
    const before = await driver.image(name);
    const { reply } = await driver.apply(name, [cancel('wh')]);
    expect(reply.leases).toMatchObject([{ id: 'wh' }]);
    expect(await driver.image(name)).toBe(before);
  });
});

describe('leave', () => {
  it('empties a seat, which goes to the next waiter', async () => {
    const name = await contended();
    await driver.apply(name, [leave('wh')]);
    expect(await membersOf(name)).toEqual(['w1', 'w2']);
  });

  it('removes a waiter from the queue', async () => {
    const name = await contended();
    await driver.apply(name, [leave('w1')]);
    expect(await membersOf(name)).toEqual(['wh', 'w2']);
  });

  it('always writes, even for an unknown attempt, so that its acknowledgement by a majority proves something', async () => {
    const name = await contended();
    const before = (await driver.oplog(name)).length;
    await driver.apply(name, [leave('w8')]);
    await driver.apply(name, [leave('w9')]);
    expect((await driver.oplog(name)).length).toBe(before + 2);
  });

  it('does not take the seat of the next holder when it is applied twice', async () => {
    const name = await contended();
    await driver.apply(name, [leave('wh')]);
    await driver.apply(name, [leave('wh')]);
    expect(await membersOf(name)).toEqual(['w1', 'w2']);
  });
});

describe('evict', () => {
  it('empties the seat at once, and the next waiter gets it', async () => {
    const name = await contended();
    await driver.apply(name, [evict('wh')]);
    expect(await membersOf(name)).toEqual(['w1', 'w2']);
  });

  it('does not remove a waiter', async () => {
    const name = await contended();
    await driver.apply(name, [evict('w1')]);
    expect(await membersOf(name)).toEqual(['wh', 'w1', 'w2']);
  });
});

describe('ask', () => {
  it('marks the lease with the reason, and changes neither its seat nor its expiry', async () => {
    const name = await contended();
    const [before] = versionOf(await driver.read(name)).leases;
    await driver.apply(name, [ask('wh', 'maintenance')]);
    const [after] = versionOf(await driver.read(name)).leases;
    expect(after).toEqual({ ...before, ending: true, endingWhy: 'maintenance' });
    expect(await membersOf(name)).toEqual(['wh', 'w1', 'w2']);
  });

  it('stops every extension of the lease, so that its seat is free after one lease at the latest', async () => {
    const name = await contended();
    await driver.apply(name, [ask('wh')]);
    const ending = versionOf(await driver.read(name)).leases;
    const soon = new Date(Date.now() + 5_000);
    await driver.lapse(name, ['wh'], soon);
    await driver.apply(name, [extend('wh')]);
    await driver.extend(name, ['wh'], 30_000, 0);
    expect(versionOf(await driver.read(name)).leases).toEqual([{ ...ending[0], expiresAt: soon }]);
  });

  it('does not mark a waiter', async () => {
    const name = await contended();
    const before = await driver.image(name);
    await driver.apply(name, [ask('w1', 'maintenance')]);
    expect(await driver.image(name)).toBe(before);
  });
});

describe('an operation for an attempt without a lease or a place', () => {
  const operations = [cancel('w9'), ask('w9', 'why'), evict('w9')];

  it.each(operations.map((operation) => [operation.type, operation] as const))(
    'changes not a byte of holders and waiters: %s',
    async (_, operation) => {
      const name = await contended();
      const before = await driver.image(name);
      await driver.apply(name, [operation]);
      expect(await driver.image(name)).toBe(before);
    },
  );

  it.each([
    ['leave', leave('w9'), ' -w9:0'],
    ['extend', extend('w9'), ` ~${NONCE}`],
  ])('changes nothing but the word that answers it: %s', async (_, operation, wake) => {
    const name = await contended();
    const before = await driver.read(name);
    await driver.apply(name, [operation]);
    expect(await driver.read(name)).toEqual({ ...before, wake });
  });

  it('cannot revive an expired lease or a lapsed place, not even by its own extension', async () => {
    const name = await contended();
    await driver.lapse(name, ['wh', 'w1']);
    await driver.apply(name, [extend('wh', 'w1')]);
    expect(await membersOf(name)).toEqual(['w2']);
  });
});
