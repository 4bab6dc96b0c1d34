import { Long } from 'mongodb';
import { afterAll, describe, expect, inject, it } from 'vitest';

import type { Operation, Request } from '../../../src/protocol/operation.js';
import { fateOf, refusalOf } from '../../../src/protocol/replies/reply.js';
import { semaphoreSeats } from '../../../src/protocol/kinds/semaphore-seats.js';
import { LockDocumentDriver } from '../../model/documents/lock-document-driver.js';
import type { StoredDocument } from '../../model/documents/lock-document-driver.js';
import { versionOf } from '../../judge/lock-version.js';
import {
  ask,
  cancel,
  enqueue,
  evict,
  extend,
  leave,
  requestOf,
  resize,
  tryOnce,
} from '../../model/documents/operations.js';

const driver = new LockDocumentDriver(inject('mongoUri'), semaphoreSeats);

afterAll(() => driver[Symbol.asyncDispose]());

const LIMIT = 3;

const take = (id: string, permits: number, overrides?: Partial<Request>): Operation =>
  enqueue(id, { permits, limit: LIMIT, ...overrides });

/** A semaphore of three permits to which these came one after the other. */
async function semaphoreAfter(...operations: readonly Operation[]): Promise<string> {
  const name = driver.newName();
  for (const operation of operations) await driver.apply(name, [operation]);
  return name;
}

/** Who holds how much, who waits for how much, and the limit. */
function seen(stored: StoredDocument | null): readonly string[] {
  const { leases, queue, limit = 0 } = versionOf(stored);
  const held = leases.map(({ id, permits = 0 }) => `${id} ${permits}`);
  return [...held, ...queue.map(([id, { permits = 0 }]) => `${id} waits for ${permits}`), `of ${limit}`];
}

/** What the reply says of a try, or of a request that is not queued. */
async function answerTo(name: string, type: 'enqueue' | 'try', overrides: Partial<Request>): Promise<string> {
  const request = requestOf('wt', { permits: 1, limit: LIMIT, ...overrides });
  const { reply } = await driver.apply(name, [{ type, request }]);
  const { type: fate } = fateOf(reply, 'wt');
  return fate === 'absent' ? refusalOf(reply, semaphoreSeats, type, request) : fate;
}

describe('permits', () => {
  it('are given as long as they last, many at once or one by one', async () => {
    const name = await semaphoreAfter(take('wa', 1), take('wb', 2), take('wc', 1));
    expect(seen(await driver.read(name))).toEqual(['wa 1', 'wb 2', 'wc waits for 1', 'of 3']);
  });

  it('that come back go to as many of the first as they suffice for, in one update', async () => {
    const name = await semaphoreAfter(take('wh', 3), take('wa', 1), take('wb', 2), take('wc', 1));
    const fence = (Date.now() + 3_600_000) * 1_000;
    await driver.tamper(name, { $set: { fence: Long.fromNumber(fence) } });
    const { stored, reply } = await driver.apply(name, [leave('wh')]);
    expect(seen(stored)).toEqual(['wa 1', 'wb 2', 'wc waits for 1', 'of 3']);
    expect(reply.wake.slice(1)).toEqual([`p0:wa:${fence + 1}`, `p0:wb:${fence + 2}`]);
    expect(reply).toMatchObject({ limit: 3, seated: 2, waiters: 1 });
  });

  it('are kept from small requests while a big one is first, so that it is not starved', async () => {
    const name = await semaphoreAfter(take('wa', 1), take('wb', 1), take('wc', 3), take('wd', 1));
    expect(seen(await driver.read(name)).slice(2)).toEqual(['wc waits for 3', 'wd waits for 1', 'of 3']);
    expect(await answerTo(name, 'try', { permits: 1 })).toBe('busy');
    await driver.apply(name, [leave('wa')]);
    expect(seen(await driver.read(name))).toEqual(['wb 1', 'wc waits for 3', 'wd waits for 1', 'of 3']);
    await driver.apply(name, [leave('wb')]);
    expect(seen(await driver.read(name))).toEqual(['wc 3', 'wd waits for 1', 'of 3']);
  });

  it('are held up by a dead head no longer than that has a lease', async () => {
    const name = await semaphoreAfter(take('wa', 1), take('wb', 3), take('wc', 2));
    await driver.lapse(name, ['wb']);
    expect(seen((await driver.apply(name, [])).stored)).toEqual(['wa 1', 'wc 2', 'of 3']);
    const other = await semaphoreAfter(take('wa', 1), take('wb', 3), take('wc', 2));
    expect(seen((await driver.apply(other, [cancel('wb')])).stored)).toEqual(['wa 1', 'wc 2', 'of 3']);
  });

  it('are taken by a try only if enough of them are free', async () => {
    const name = await semaphoreAfter(take('wa', 2));
    expect(await answerTo(name, 'try', { permits: 2 })).toBe('busy');
    expect(await answerTo(name, 'try', { permits: 1 })).toBe('granted');
  });

  it('are never given in a number above the limit, which the answer says', async () => {
    const name = await semaphoreAfter(take('wa', 1));
    for (const type of ['enqueue', 'try'] as const) {
      expect(await answerTo(name, type, { permits: 4 })).toBe('other-limit');
    }
    expect(seen(await driver.read(name))).toEqual(['wa 1', 'of 3']);
  });

  it('come in any number that a limit may have', async () => {
    const most = 2_147_483_647;
    const name = await semaphoreAfter(take('wa', most - 1, { limit: most }), take('wb', 1), take('wc', most));
    expect(seen(await driver.read(name))).toEqual([
      ...[`wa ${most - 1}`, 'wb 1', `wc waits for ${most}`],
      `of ${most}`,
    ]);
    await driver.apply(name, [leave('wa'), leave('wb')]);
    expect(seen(await driver.read(name))).toEqual([`wc ${most}`, `of ${most}`]);
  });

  it('are asked for, extended and evicted holder by holder', async () => {
    const name = await semaphoreAfter(take('wa', 1), take('wb', 1), take('wc', 1), take('wd', 1));
    await driver.lapse(name, ['wa', 'wb'], new Date(Date.now() + 5_000));
    await driver.apply(name, [ask('wb', 'maintenance'), extend('wa', 'wb')]);
    const [first, second] = versionOf(await driver.read(name)).leases;
    expect(first?.expiresAt.getTime()).toBeGreaterThan(Date.now() + 20_000);
    expect(second?.expiresAt.getTime()).toBeLessThan(Date.now() + 6_000);
    expect(second).toMatchObject({ ending: true, endingWhy: 'maintenance' });
    expect(seen((await driver.apply(name, [evict('wb')])).stored)).toEqual(['wa 1', 'wc 1', 'wd 1', 'of 3']);
  });
});

describe('the list of holders', () => {
  it('fills the seat of one who leaves with the last one', async () => {
    const name = await semaphoreAfter(take('wa', 1), take('wb', 1), take('wc', 1));
    expect(seen((await driver.apply(name, [leave('wa')])).stored)).toEqual(['wc 1', 'wb 1', 'of 3']);
    expect(seen((await driver.apply(name, [leave('wb')])).stored)).toEqual(['wc 1', 'of 3']);
  });

  it('is shown by a reply as far as it concerns whoever asks, with ten others and the number of all', async () => {
    const name = driver.newName();
    const ids = Array.from({ length: 100 }, (_, index) => `w${index.toString(16)}`);
    await driver.apply(
      name,
      ids.map((id) => enqueue(id, { permits: 1, limit: 100 })),
    );
    const { reply } = await driver.apply(name, [cancel('w50'), tryOnce('wt', { permits: 1 })]);
    expect(reply.leases.map(({ id }) => id).sort()).toEqual([...ids.slice(0, 10), 'w50'].sort());
    expect(reply).toMatchObject({ seated: 100, limit: 100 });
  });
});

describe('a resize', () => {
  it('up lets those in who fit now, in the same update', async () => {
    const name = await semaphoreAfter(take('wa', 3), take('wb', 2), take('wc', 1), take('wd', 1));
    const { stored, reply } = await driver.apply(name, [resize(6)]);
    expect(seen(stored)).toEqual(['wa 3', 'wb 2', 'wc 1', 'wd waits for 1', 'of 6']);
    expect(reply.wake).toEqual([expect.stringMatching(/^p0:wb:\d+$/), expect.stringMatching(/^p0:wc:\d+$/)]);
  });

  it('down takes no permit away, and gives none until enough have come back', async () => {
    const name = await semaphoreAfter(take('wa', 1), take('wb', 1), take('wc', 1), take('wd', 1));
    expect(seen((await driver.apply(name, [resize(1)])).stored)).toEqual([
      ...['wa 1', 'wb 1', 'wc 1', 'wd waits for 1'],
      'of 1',
    ]);
    expect(seen((await driver.apply(name, [leave('wa'), leave('wb')])).stored).slice(1)).toEqual([
      ...['wd waits for 1', 'of 1'],
    ]);
    expect(seen((await driver.apply(name, [leave('wc')])).stored)).toEqual(['wd 1', 'of 1']);
  });

  it('removes who waits for more than there will be, tells them in their order, and lets the others in', async () => {
    const name = await semaphoreAfter(take('wa', 1), take('wb', 3), take('wc', 1), take('wd', 3));
    const { stored, reply } = await driver.apply(name, [resize(2)]);
    expect(seen(stored)).toEqual(['wa 1', 'wc 1', 'of 2']);
    expect(reply.wake).toEqual(['p0:wb:0', 'p0:wd:0', expect.stringMatching(/^p0:wc:\d+$/)]);
  });

  it('does nothing after its time, and a repeat in time does nothing more', async () => {
    const name = await semaphoreAfter(take('wa', 1), resize(2), take('wb', 2));
    const before = await driver.image(name);
    await driver.apply(name, [resize(1, new Date(0))]);
    await driver.apply(name, [resize(2)]);
    expect(await driver.image(name)).toBe(before);
  });

  it('makes no lock where there is none', async () => {
    expect(await driver.send(driver.newName(), [resize(2)])).toBeNull();
  });
});

describe('the limit of a request', () => {
  it('is stored with a new lock, and counts for nothing once there is one', async () => {
    const name = await semaphoreAfter(take('wa', 1, { limit: 5 }), take('wb', 1, { limit: 1 }));
    expect(seen(await driver.read(name))).toEqual(['wa 1', 'wb 1', 'of 5']);
  });

  it('is that of the first who knows one, if several come with the same update', async () => {
    const name = driver.newName();
    await driver.apply(name, [leave('w9'), take('wa', 1, { limit: 4 }), take('wb', 1, { limit: 7 })]);
    expect(seen(await driver.read(name))).toEqual(['wa 1', 'wb 1', 'of 4']);
  });

  it('must match, for whoever says so, while the lock is in use', async () => {
    const name = await semaphoreAfter(take('wa', 1));
    for (const type of ['enqueue', 'try'] as const) {
      expect(await answerTo(name, type, { limit: 2, mustMatch: true })).toBe('other-limit');
    }
    expect(await answerTo(name, 'enqueue', { limit: 3, mustMatch: true })).toBe('granted');
    expect(seen(await driver.read(name))).toEqual(['wa 1', 'wt 1', 'of 3']);
  });

  it('becomes that of a lock which nobody uses, for whoever says that it must match', async () => {
    const left = await semaphoreAfter(take('wa', 1), leave('wa'));
    expect(await answerTo(left, 'try', { permits: 5, limit: 5, mustMatch: true })).toBe('granted');
    const over = await semaphoreAfter(take('wa', 1));
    await driver.lapse(over, ['wa']);
    expect(await answerTo(over, 'enqueue', { limit: 1, mustMatch: true })).toBe('granted');
    expect([seen(await driver.read(left)), seen(await driver.read(over))]).toEqual([
      ['wt 5', 'of 5'],
      ['wt 1', 'of 1'],
    ]);
  });

  it('becomes the stored one, for whoever sets it, and removes who waits for more', async () => {
    const name = await semaphoreAfter(take('wa', 2), take('wb', 3));
    const { stored, reply } = await driver.apply(name, [take('wc', 1, { limit: 2, setsLimit: true })]);
    expect(seen(stored)).toEqual(['wa 2', 'wc waits for 1', 'of 2']);
    expect(reply.wake).toEqual(['p0:wb:0']);
  });

  it('becomes the stored one also by a try that is not let in, and that is told that the lock is busy', async () => {
    const name = await semaphoreAfter(take('wa', 2));
    expect(await answerTo(name, 'try', { permits: 4, limit: 4, setsLimit: true })).toBe('busy');
    expect(seen(await driver.read(name))).toEqual(['wa 2', 'of 4']);
  });

  it('lets nobody wait for more than the very limit that it names, who would hold all others up', async () => {
    const idle = await semaphoreAfter(take('wa', 1), leave('wa'));
    const inUse = await semaphoreAfter(take('wa', 1));
    for (const name of [idle, inUse]) {
      const before = seen(await driver.read(name));
      for (const how of [{ mustMatch: true }, { setsLimit: true }]) {
        expect(await answerTo(name, 'enqueue', { permits: 3, limit: 2, ...how })).toBe('other-limit');
      }
      expect(await answerTo(name, 'enqueue', { permits: 4, limit: 3, mustMatch: true })).toBe('other-limit');
      expect(seen(await driver.read(name))).toEqual(before);
    }
  });
});
