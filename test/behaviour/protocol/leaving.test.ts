import { afterAll, describe, expect, inject, it } from 'vitest';

import { LockDocumentDriver } from '../../model/documents/lock-document-driver.js';
import { versionOf } from '../../judge/lock-version.js';
import { NONCE, ask, cancel, enqueue, evict, extend, leave } from '../../model/documents/operations.js';

const driver = new LockDocumentDriver(inject('mongoUri'));

afterAll(() => driver[Symbol.asyncDispose]());

/** Held by `wh`, for whom `w1` and `w2` wait. */
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
  it('takes a waiter out of the queue', async () => {
    const name = await contended();
    await driver.apply(name, [cancel('w1')]);
    expect(await membersOf(name)).toEqual(['wh', 'w2']);
  });

  it('never empties a seat: the grant came first, and its reply shows it', async () => {
    const name = await contended();
    const before = await driver.image(name);
    const { reply } = await driver.apply(name, [cancel('wh')]);
    expect(reply.leases).toMatchObject([{ id: 'wh' }]);
    expect(await driver.image(name)).toBe(before);
  });
});

describe('leave', () => {
  it('empties a seat for the next in line', async () => {
    const name = await contended();
    await driver.apply(name, [leave('wh')]);
    expect(await membersOf(name)).toEqual(['w1', 'w2']);
  });

  it('takes a waiter out of the queue', async () => {
    const name = await contended();
    await driver.apply(name, [leave('w1')]);
    expect(await membersOf(name)).toEqual(['wh', 'w2']);
  });

  it('surely writes, so that its acknowledgement by a majority means something', async () => {
    const name = await contended();
    const before = (await driver.oplog(name)).length;
    await driver.apply(name, [leave('w8')]);
    await driver.apply(name, [leave('w9')]);
    expect((await driver.oplog(name)).length).toBe(before + 2);
  });

  it('does not take the seat of the next holder when it comes twice', async () => {
    const name = await contended();
    await driver.apply(name, [leave('wh')]);
    await driver.apply(name, [leave('wh')]);
    expect(await membersOf(name)).toEqual(['w1', 'w2']);
  });
});

describe('evict', () => {
  it('empties the seat at once for the next in line', async () => {
    const name = await contended();
    await driver.apply(name, [evict('wh')]);
    expect(await membersOf(name)).toEqual(['w1', 'w2']);
  });

  it('leaves waiters where they are', async () => {
    const name = await contended();
    await driver.apply(name, [evict('w1')]);
    expect(await membersOf(name)).toEqual(['wh', 'w1', 'w2']);
  });
});

describe('ask', () => {
  it('marks the lease, says why, and leaves the seat and its expiry as they are', async () => {
    const name = await contended();
    const [before] = versionOf(await driver.read(name)).leases;
    await driver.apply(name, [ask('wh', 'maintenance')]);
    const [after] = versionOf(await driver.read(name)).leases;
    expect(after).toEqual({ ...before, ending: true, endingWhy: 'maintenance' });
    expect(await membersOf(name)).toEqual(['wh', 'w1', 'w2']);
  });

  it('ends all extension of the lease, so that its seat is free in a lease at the latest', async () => {
    const name = await contended();
    await driver.apply(name, [ask('wh')]);
    const ending = versionOf(await driver.read(name)).leases;
    const soon = new Date(Date.now() + 5_000);
    await driver.lapse(name, ['wh'], soon);
    await driver.apply(name, [extend('wh')]);
    await driver.extend(name, ['wh'], 30_000, 0);
    expect(versionOf(await driver.read(name)).leases).toEqual([{ ...ending[0], expiresAt: soon }]);
  });

  it('does not mark those who wait', async () => {
    const name = await contended();
    const before = await driver.image(name);
    await driver.apply(name, [ask('w1', 'maintenance')]);
    expect(await driver.image(name)).toBe(before);
  });
});

describe('whoever holds nothing', () => {
  const operations = [cancel('w9'), ask('w9', 'why'), evict('w9')];

  it.each(operations.map((operation) => [operation.type, operation] as const))(
    'changes not a byte of who holds and who waits by %s',
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
  ])('changes nothing but the word that answers it by %s', async (_, operation, wake) => {
    const name = await contended();
    const before = await driver.read(name);
    await driver.apply(name, [operation]);
    expect(await driver.read(name)).toEqual({ ...before, wake });
  });

  it('cannot bring back a lease that is over, not even its own', async () => {
    const name = await contended();
    await driver.lapse(name, ['wh', 'w1']);
    await driver.apply(name, [extend('wh', 'w1')]);
    expect(await membersOf(name)).toEqual(['w2']);
  });
});
