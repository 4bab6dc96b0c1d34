import { Long } from 'mongodb';
import { afterAll, describe, expect, inject, it } from 'vitest';

import type { Operation, Request } from '../../../src/protocol/operation.js';
import { fateOf, refusalOf } from '../../../src/protocol/replies/reply.js';
import { semaphoreRules } from '../../../src/protocol/kinds/semaphore-rules.js';
import { LockDocumentDriver } from '../../model/documents/lock-document-driver.js';
import type { StoredDocument } from '../../model/documents/lock-document-driver.js';
import { versionOf } from '../../../src/testing/judge/lock-version.js';
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

const driver = new LockDocumentDriver(inject('mongoUri'), semaphoreRules);

afterAll(() => driver[Symbol.asyncDispose]());

const LIMIT = 3;

const take = (id: string, permits: number, overrides?: Partial<Request>): Operation =>
  enqueue(id, { permits, limit: LIMIT, ...overrides });

/** A semaphore of three permits after these operations, one update each. */
async function semaphoreAfter(...operations: readonly Operation[]): Promise<string> {
  const name = driver.newName();
  for (const operation of operations) await driver.apply(name, [operation]);
  return name;
}

/** The holders and the waiters, each with its permits, and the limit. */
function seen(stored: StoredDocument | null): readonly string[] {
  const { leases, queue, limit = 0 } = versionOf(stored);
  const held = leases.map(({ id, permits = 0 }) => `${id} ${permits}`);
  return [...held, ...queue.map(([id, { permits = 0 }]) => `${id} waits for ${permits}`), `of ${limit}`];
}

/** What the reply says about the request: granted, queued, or why it is neither. */
async function answerTo(name: string, type: 'enqueue' | 'try', overrides: Partial<Request>): Promise<string> {
  const request = requestOf('wt', { permits: 1, limit: LIMIT, ...overrides });
  const { reply } = await driver.apply(name, [{ type, request }]);
  const { type: fate } = fateOf(reply, 'wt');
  return fate === 'absent' ? refusalOf(reply, semaphoreRules, type, request) : fate;
}

describe('permits', () => {
  it('are granted as long as enough are free, one or several to a request', async () => {
    const name = await semaphoreAfter(take('wa', 1), take('wb', 2), take('wc', 1));
    expect(seen(await driver.read(name))).toEqual(['wa 1', 'wb 2', 'wc waits for 1', 'of 3']);
  });

  it('go at their release to as many of the first waiters as fit, in one update', async () => {
    const name = await semaphoreAfter(take('wh', 3), take('wa', 1), take('wb', 2), take('wc', 1));
    const fence = (Date.now() + 3_600_000) * 1_000;
    await driver.tamper(name, { $set: { fence: Long.fromNumber(fence) } });
    const { stored, reply } = await driver.apply(name, [leave('wh')]);
    expect(seen(stored)).toEqual(['wa 1', 'wb 2', 'wc waits for 1', 'of 3']);
    expect(reply.wake.slice(1)).toEqual([`p0:wa:${fence + 1}`, `p0:wb:${fence + 2}`]);
    expect(reply).toMatchObject({ limit: 3, leaseCount: 2, waiters: 1 });
  });

  it('are not granted to small requests while a large one is at the head, so that it does not starve', async () => {
    const name = await semaphoreAfter(take('wa', 1), take('wb', 1), take('wc', 3), take('wd', 1));
    expect(seen(await driver.read(name)).slice(2)).toEqual(['wc waits for 3', 'wd waits for 1', 'of 3']);
    expect(await answerTo(name, 'try', { permits: 1 })).toBe('busy');
    await driver.apply(name, [leave('wa')]);
    expect(seen(await driver.read(name))).toEqual(['wb 1', 'wc waits for 3', 'wd waits for 1', 'of 3']);
    await driver.apply(name, [leave('wb')]);
    expect(seen(await driver.read(name))).toEqual(['wc 3', 'wd waits for 1', 'of 3']);
  });

  it('are withheld for a dead waiter at the head only until its place lapses or is cancelled', async () => {
    const name = await semaphoreAfter(take('wa', 1), take('wb', 3), take('wc', 2));
    await driver.lapse(name, ['wb']);
    expect(seen((await driver.apply(name, [])).stored)).toEqual(['wa 1', 'wc 2', 'of 3']);
    const other = await semaphoreAfter(take('wa', 1), take('wb', 3), take('wc', 2));
    expect(seen((await driver.apply(other, [cancel('wb')])).stored)).toEqual(['wa 1', 'wc 2', 'of 3']);
  });

  it('are granted to a try only if enough of them are free', async () => {
    const name = await semaphoreAfter(take('wa', 2));
    expect(await answerTo(name, 'try', { permits: 2 })).toBe('busy');
    expect(await answerTo(name, 'try', { permits: 1 })).toBe('granted');
  });

  it('are never granted to a request for more than the limit, and the reply says why', async () => {
    const name = await semaphoreAfter(take('wa', 1));
    for (const type of ['enqueue', 'try'] as const) {
      expect(await answerTo(name, type, { permits: 4 })).toBe('other-limit');
    }
    expect(seen(await driver.read(name))).toEqual(['wa 1', 'of 3']);
  });

  it('can be held and waited for in any number up to the highest possible limit', async () => {
    const most = 2_147_483_647;
    const name = await semaphoreAfter(take('wa', most - 1, { limit: most }), take('wb', 1), take('wc', most));
    expect(seen(await driver.read(name))).toEqual([
      ...[`wa ${most - 1}`, 'wb 1', `wc waits for ${most}`],
      `of ${most}`,
    ]);
    await driver.apply(name, [leave('wa'), leave('wb')]);
    expect(seen(await driver.read(name))).toEqual([`wc ${most}`, `of ${most}`]);
  });

  it('have one lease for each holder, which is asked, extended or evicted by itself', async () => {
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
  it('moves its last entry to the seat of a holder that leaves', async () => {
    const name = await semaphoreAfter(take('wa', 1), take('wb', 1), take('wc', 1));
    expect(seen((await driver.apply(name, [leave('wa')])).stored)).toEqual(['wc 1', 'wb 1', 'of 3']);
    expect(seen((await driver.apply(name, [leave('wb')])).stored)).toEqual(['wc 1', 'of 3']);
  });

  it('is cut in a reply to the attempts that the update names and ten others, with the number of all', async () => {
    const name = driver.newName();
    const ids = Array.from({ length: 100 }, (_, index) => `w${index.toString(16)}`);
    await driver.apply(
      name,
      ids.map((id) => enqueue(id, { permits: 1, limit: 100 })),
    );
    const { reply } = await driver.apply(name, [cancel('w50'), tryOnce('wt', { permits: 1 })]);
    expect(reply.leases.map(({ id }) => id).sort()).toEqual([...ids.slice(0, 10), 'w50'].sort());
    expect(reply).toMatchObject({ leaseCount: 100, limit: 100 });
  });
});

describe('a resize', () => {
  it('to a higher limit admits the waiters that fit now, in the same update', async () => {
    const name = await semaphoreAfter(take('wa', 3), take('wb', 2), take('wc', 1), take('wd', 1));
    const { stored, reply } = await driver.apply(name, [resize(6)]);
    expect(seen(stored)).toEqual(['wa 3', 'wb 2', 'wc 1', 'wd waits for 1', 'of 6']);
    expect(reply.wake).toEqual([expect.stringMatching(/^p0:wb:\d+$/), expect.stringMatching(/^p0:wc:\d+$/)]);
  });

  it('to a lower limit takes no permit away, and grants none until enough are released', async () => {
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

  it('removes waiters for more than the new limit, sends them wake-ups in their order, and admits the others', async () => {
    const name = await semaphoreAfter(take('wa', 1), take('wb', 3), take('wc', 1), take('wd', 3));
    const { stored, reply } = await driver.apply(name, [resize(2)]);
    expect(seen(stored)).toEqual(['wa 1', 'wc 1', 'of 2']);
    expect(reply.wake).toEqual(['p0:wb:0', 'p0:wd:0', expect.stringMatching(/^p0:wc:\d+$/)]);
  });

  it('does nothing after its not-after, and a repeat before it changes nothing more', async () => {
    const name = await semaphoreAfter(take('wa', 1), resize(2), take('wb', 2));
    const before = await driver.image(name);
    await driver.apply(name, [resize(1, new Date(0))]);
    await driver.apply(name, [resize(2)]);
    expect(await driver.image(name)).toBe(before);
  });

  it('creates no document', async () => {
    expect(await driver.send(driver.newName(), [resize(2)])).toBeNull();
  });
});

describe('the limit of a request', () => {
  it('is stored with a new lock, and ignored afterwards', async () => {
    const name = await semaphoreAfter(take('wa', 1, { limit: 5 }), take('wb', 1, { limit: 1 }));
    expect(seen(await driver.read(name))).toEqual(['wa 1', 'wb 1', 'of 5']);
  });

  it('is stored for the first request if one update brings several to a new lock', async () => {
    const name = driver.newName();
    await driver.apply(name, [leave('w9'), take('wa', 1, { limit: 4 }), take('wb', 1, { limit: 7 })]);
    expect(seen(await driver.read(name))).toEqual(['wa 1', 'wb 1', 'of 4']);
  });

  it('must match the stored one while the lock is in use, if the request says so', async () => {
    const name = await semaphoreAfter(take('wa', 1));
    for (const type of ['enqueue', 'try'] as const) {
      expect(await answerTo(name, type, { limit: 2, mustMatch: true })).toBe('other-limit');
    }
    expect(await answerTo(name, 'enqueue', { limit: 3, mustMatch: true })).toBe('granted');
    expect(seen(await driver.read(name))).toEqual(['wa 1', 'wt 1', 'of 3']);
  });

  it('replaces the stored one of an idle lock, if the request says that it must match', async () => {
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

  it('replaces the stored one if the request sets it, and removes waiters for more', async () => {
    const name = await semaphoreAfter(take('wa', 2), take('wb', 3));
    const { stored, reply } = await driver.apply(name, [take('wc', 1, { limit: 2, setsLimit: true })]);
    expect(seen(stored)).toEqual(['wa 2', 'wc waits for 1', 'of 2']);
    expect(reply.wake).toEqual(['p0:wb:0']);
  });

  it('replaces the stored one even if the request is a try, which is answered that the lock is busy', async () => {
    const name = await semaphoreAfter(take('wa', 2));
    expect(await answerTo(name, 'try', { permits: 4, limit: 4, setsLimit: true })).toBe('busy');
    expect(seen(await driver.read(name))).toEqual(['wa 2', 'of 4']);
  });

  it('turns its own request away if that asks for more permits, because it would block all others', async () => {
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
