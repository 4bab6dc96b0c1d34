import { describe, expect, it } from 'vitest';

import { LockProvider } from '../../../src/index.js';
import { OwnDatabase } from '../../support/test-provider.js';
import { StoredDocuments } from './stored-documents.js';
import { eventually, later } from '../../../lab/patience.js';
import { keepHold } from '../../support/keep-hold.js';

const DAY_MS = 86_400_000;

interface Stored {
  readonly [field: string]: unknown;
  readonly fence: number;
  readonly holder: StoredMember | null;
  readonly queue: Readonly<Record<string, StoredMember>>;
  readonly wake: string;
  readonly purgeAt: Date;
}

interface StoredMember {
  readonly [field: string]: unknown;
  readonly expiresAt: Date;
}

/** The BSON type of every field of the document, of its holder and of its waiters. */
const TYPES = {
  fields: { $map: { input: { $objectToArray: '$$ROOT' }, in: ['$$this.k', { $type: '$$this.v' }] } },
  holder: { $map: { input: { $objectToArray: '$holder' }, in: ['$$this.k', { $type: '$$this.v' }] } },
  waiters: {
    $map: {
      input: { $objectToArray: '$queue' },
      as: 'waiter',
      in: {
        $map: { input: { $objectToArray: '$$waiter.v' }, in: ['$$this.k', { $type: '$$this.v' }] },
      },
    },
  },
};

describe.concurrent('the document of a mutex', () => {
  it('has its holder, and exactly the fields of the protocol with their types', async () => {
    await using database = new OwnDatabase();
    const locks = database.client().provider({ label: 'tester', createIndexes: false });
    const documents = new StoredDocuments<Stored>(database);
    const hold = await locks.acquireMutex('x', { why: 'to see', leaseMs: 60_000 });

    const { holder, ...rest } = await documents.read('x');
    expect(rest).toEqual({
      ...{ _id: 'x', kind: 'mutex', v: 1, fence: hold.fencingToken, queue: {}, wake: '' },
      purgeAt: expect.any(Date) as Date,
    });
    expect(holder).toEqual({
      id: hold.id,
      process: locks.processId,
      token: hold.fencingToken,
      leaseMs: 60_000,
      acquiredAt: expect.any(Date) as Date,
      expiresAt: expect.any(Date) as Date,
      label: 'tester',
      why: 'to see',
    });
    expect(hold.id).toMatch(/^w[0-9a-f]{24,32}$/);
    expect(locks.processId).toMatch(/^[\w.-]+:\d+:[0-9a-f]{16}$/);
    expect(holder?.expiresAt.getTime()).toBe((holder?.['acquiredAt'] as Date).getTime() + 60_000);
    expect(await documents.typesOf('x', TYPES)).toMatchObject({
      fields: expect.arrayContaining([
        ['fence', 'long'],
        ['queue', 'object'],
        ['wake', 'string'],
        ['purgeAt', 'date'],
      ]) as unknown,
      holder: expect.arrayContaining([
        ['token', 'long'],
        ['acquiredAt', 'date'],
        ['expiresAt', 'date'],
      ]) as unknown,
    });
  });

  it('has no label and no reason if none was given', async () => {
    await using database = new OwnDatabase();
    const locks = database.client().provider({ createIndexes: false });
    await keepHold(locks.acquireMutex('x'));
    const { holder } = await new StoredDocuments<Stored>(database).read('x');
    const fields = ['acquiredAt', 'expiresAt', 'id', 'leaseMs', 'process', 'token'];
    expect(Object.keys(holder ?? {}).sort()).toEqual(fields);
  });

  it('has its waiters by attempt id, in the order of arrival', async () => {
    await using database = new OwnDatabase();
    const locks = database.client().provider({ createIndexes: false });
    const ids: string[] = [];
    locks.on('waiting', ({ id }) => ids.push(id));
    const held = await keepHold(locks.acquireMutex('x'));
    for (const why of ['first', 'second', 'third']) {
      const before = ids.length;
      void locks.acquireMutex('x', { why }).catch(() => undefined);
      await eventually('it is queued', () => ids.length > before);
    }
    const { queue } = await new StoredDocuments<Stored>(database).read('x');
    expect(Object.keys(queue)).toEqual(ids);
    expect(Object.values(queue).map((waiter) => waiter['why'])).toEqual(['first', 'second', 'third']);
    for (const waiter of Object.values(queue)) {
      expect(Object.keys(waiter).sort()).toEqual(['expiresAt', 'leaseMs', 'process', 'since', 'why']);
      expect(waiter.expiresAt.getTime()).toBeGreaterThan((waiter['since'] as Date).getTime());
    }
    expect(held.isHeld).toBe(true);
  });

  it('stays after the release, with its fence', async () => {
    await using database = new OwnDatabase();
    const locks = database.client().provider({ createIndexes: false });
    const hold = await locks.acquireMutex('x');
    await hold.release();
    const { holder, fence, queue } = await new StoredDocuments<Stored>(database).read('x');
    expect(holder).toBeNull();
    expect(fence).toBe(hold.fencingToken);
    expect(queue).toEqual({});
  });

  it('names the grant of the last update: process, attempt and token', async () => {
    await using database = new OwnDatabase();
    const here = database.client().provider({ createIndexes: false });
    // A polling provider only reads; a look by an update would replace `wake`.
    const there = database.client().provider({ wakeups: 'polling', createIndexes: false });
    const hold = await here.acquireMutex('x');
    const wait = later(there.acquireMutex('x'));
    const documents = new StoredDocuments<Stored>(database);
    await eventually('it is queued', async () => Object.keys((await documents.read('x')).queue).length === 1);
    await hold.release();
    const next = await wait;
    const { wake, holder } = await documents.read('x');
    expect(wake.split(' ')).toContain(`${there.processId}:${next.id}:${next.fencingToken}`);
    expect(holder?.['id']).toBe(next.id);
    // An extension empties `wake`.
    await next.confirm();
    expect((await documents.read('x')).wake).toBe('');
  });

  it('is kept for the retention time after its last lease, and half a day to a day more', async () => {
    await using database = new OwnDatabase();
    const locks = database.client().provider({ retentionMs: 3 * DAY_MS, createIndexes: false });
    const documents = new StoredDocuments<Stored>(database);
    const expectKept = async (name: string, keptMs: number): Promise<void> => {
      const { purgeAt, holder } = await documents.read(name);
      const leastMs = (holder?.expiresAt.getTime() ?? Infinity) + keptMs;
      // The margin spreads the purges, and keeps extensions from touching the index for half a day.
      expect(purgeAt.getTime()).toBeGreaterThanOrEqual(leastMs + DAY_MS / 2);
      expect(purgeAt.getTime()).toBeLessThan(leastMs + DAY_MS);
    };
    await keepHold(locks.acquireMutex('short'));
    await expectKept('short', 3 * DAY_MS);

    // The retention time is shorter than two leases, so two leases count instead.
    const brief = database.client().provider({ retentionMs: 60_000, createIndexes: false });
    const hold = await brief.acquireMutex('long', { leaseMs: DAY_MS });
    await expectKept('long', 2 * DAY_MS);
    const before = (await documents.read('long')).purgeAt;
    await hold.release();
    await keepHold(brief.acquireMutex('long', { leaseMs: 100 }));
    expect((await documents.read('long')).purgeAt).toEqual(before);
  });

  it('is shown by inspect()', async () => {
    await using database = new OwnDatabase();
    const locks: LockProvider = database.client().provider({ label: 'me', createIndexes: false });
    expect(await locks.inspect('x')).toBeNull();
    const hold = await locks.acquireMutex('x', { why: 'to see', leaseMs: 5_000 });
    void locks.acquireMutex('x', { why: 'to wait' }).catch(() => undefined);
    const snapshot = await eventually('both are there', async () => {
      const seen = await locks.inspect('x');
      return seen?.waiters.length === 1 && seen;
    });
    const [holder] = snapshot.holders;
    expect(snapshot).toMatchObject({ name: 'x', kind: 'mutex' });
    expect(snapshot.holders).toHaveLength(1);
    expect(holder).toMatchObject({
      id: hold.id,
      process: locks.processId,
      token: hold.fencingToken,
      label: 'me',
      why: 'to see',
    });
    expect(holder?.expiresAt.getTime()).toBe((holder?.extendedAt.getTime() ?? 0) + 5_000);
    expect(snapshot.asOf.getTime()).toBeLessThan(holder?.expiresAt.getTime() ?? 0);
    expect(snapshot.waiters[0]).toMatchObject({ process: locks.processId, label: 'me', why: 'to wait' });
    expect(await locks.createMutex('x').inspect()).toMatchObject({ name: 'x', holders: [{ id: hold.id }] });
  });
});
