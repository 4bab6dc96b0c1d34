import { describe, expect, it } from 'vitest';

import { OwnDatabase } from '../../support/test-provider.js';
import { StoredDocuments } from './stored-documents.js';
import { eventually, later } from '../../../lab/patience.js';

const aDate = expect.any(Date) as Date;

interface Stored {
  readonly [field: string]: unknown;
  readonly queue: Readonly<Record<string, unknown>>;
}

/** Expressions for the BSON type of each field of a record, and of each field of the records in an array. */
const typesIn = (record: unknown): object => ({
  $arrayToObject: {
    $map: { input: { $objectToArray: record }, in: { k: '$$this.k', v: { $type: '$$this.v' } } },
  },
});
const typesInEach = (array: unknown): object => ({
  $map: { input: array, as: 'each', in: typesIn('$$each') },
});

describe.concurrent('the document of a reader-writer lock', () => {
  it('has its readers with their modes, and exactly the fields of the protocol with their types', async () => {
    await using database = new OwnDatabase();
    const locks = database.client().provider({ label: 'tester', createIndexes: false });
    const lock = locks.createReaderWriterLock('x');
    const reader = await lock.acquireRead({ why: 'to see', leaseMs: 5_000 });
    const upgradeable = await lock.acquireUpgradeableRead({ leaseMs: 5_000 });

    const documents = new StoredDocuments<Stored>(database);
    const { purgeAt, readers, ...rest } = await documents.read('x');
    expect(purgeAt).toEqual(aDate);
    expect(rest).toEqual({
      ...{ _id: 'x', kind: 'reader-writer', v: 1, fence: upgradeable.fencingToken, queue: {}, wake: '' },
      ...{ writer: null, writerWaiting: false },
    });
    const common = {
      process: locks.processId,
      leaseMs: 5_000,
      acquiredAt: aDate,
      expiresAt: aDate,
      label: 'tester',
    };
    expect(readers).toEqual([
      { ...common, id: reader.id, token: reader.fencingToken, mode: 'read', why: 'to see' },
      { ...common, id: upgradeable.id, token: upgradeable.fencingToken, mode: 'upgradeable' },
    ]);
    const types = await documents.typesOf('x', {
      fields: typesIn('$$ROOT'),
      readers: typesInEach('$readers'),
    });
    expect(types).toMatchObject({
      fields: { fence: 'long', readers: 'array', writer: 'null', writerWaiting: 'bool', wake: 'string' },
      readers: [{ token: 'long', acquiredAt: 'date', expiresAt: 'date', leaseMs: 'int', mode: 'string' }, {}],
    });
  });

  it('has its writer in a separate field, shows that a writer waits, and keeps the order and modes of the queue', async () => {
    await using database = new OwnDatabase();
    const locks = database.client().provider({ createIndexes: false });
    const lock = locks.createReaderWriterLock('x');
    const ids: string[] = [];
    locks.on('waiting', ({ id }) => ids.push(id));
    const writer = await lock.acquireWrite();
    const documents = new StoredDocuments<Stored>(database);
    expect(await documents.read('x')).toMatchObject({
      readers: [],
      writer: { id: writer.id, mode: 'write', token: writer.fencingToken },
      writerWaiting: false,
    });
    const asks = [() => lock.acquireRead(), () => lock.acquireWrite(), () => lock.acquireUpgradeableRead()];
    for (const ask of asks) {
      const before = ids.length;
      void later(ask());
      await eventually('it is queued', () => ids.length > before);
    }
    const { queue, writerWaiting } = await documents.read('x');
    expect(Object.keys(queue)).toEqual(ids);
    const waiter = { process: locks.processId, leaseMs: 30_000, since: aDate, expiresAt: aDate };
    expect(Object.values(queue)).toEqual(
      ['read', 'write', 'upgradeable'].map((mode) => ({ ...waiter, mode })),
    );
    expect(writerWaiting).toBe(true);
    expect(await documents.typesOf('x', { writer: typesIn('$writer') })).toMatchObject({
      writer: { token: 'long', leaseMs: 'int', mode: 'string' },
    });
    expect(writer.isHeld).toBe(true);
  });

  it('numbers the mode changes of a lease, marks a waiting upgrade, and stays after the release', async () => {
    await using database = new OwnDatabase();
    const locks = database.client().provider({ createIndexes: false });
    const lock = locks.createReaderWriterLock('x');
    const documents = new StoredDocuments<Stored>(database);
    const upgradeable = await lock.acquireUpgradeableRead();
    const reader = await lock.acquireRead();
    const upgrade = later(upgradeable.upgrade());
    await eventually('the upgrade is pending', async () => (await documents.read('x'))['writerWaiting']);
    expect(await documents.read('x')).toMatchObject({
      readers: [{ mode: 'upgradeable', upgrading: true, change: 1 }, {}],
    });
    await reader.release();
    await upgrade;
    const { writer } = await documents.read('x');
    expect(writer).toMatchObject({
      id: upgradeable.id,
      mode: 'write',
      change: 1,
      token: upgradeable.fencingToken,
    });
    expect(writer).not.toHaveProperty('upgrading');
    await upgradeable.downgrade('read');
    expect(await documents.read('x')).toMatchObject({
      readers: [{ id: upgradeable.id, mode: 'read', change: 2, token: upgradeable.fencingToken }],
      writer: null,
      writerWaiting: false,
    });
    await upgradeable.release();
    const empty = { readers: [], writer: null, writerWaiting: false, queue: {} };
    expect(await documents.read('x')).toMatchObject({ ...empty, fence: upgradeable.fencingToken });
  });
});

describe.concurrent('the document of a semaphore', () => {
  it('has its limit, its holders with their permits, and exactly the fields of the protocol', async () => {
    await using database = new OwnDatabase();
    const locks = database.client().provider({ createIndexes: false });
    const semaphore = locks.createSemaphore('x', 5);
    const two = await semaphore.acquire({ permits: 2, why: 'to see', leaseMs: 5_000 });
    const one = await semaphore.acquire({ leaseMs: 5_000 });

    const documents = new StoredDocuments<Stored>(database);
    const { purgeAt, holders, ...rest } = await documents.read('x');
    expect(purgeAt).toEqual(aDate);
    const { fencingToken: fence } = one;
    expect(rest).toEqual({ _id: 'x', kind: 'semaphore', v: 1, fence, limit: 5, queue: {}, wake: '' });
    const common = { process: locks.processId, leaseMs: 5_000, acquiredAt: aDate, expiresAt: aDate };
    expect(holders).toEqual([
      { ...common, id: two.id, token: two.fencingToken, permits: 2, why: 'to see' },
      { ...common, id: one.id, token: one.fencingToken, permits: 1 },
    ]);
    const types = await documents.typesOf('x', {
      fields: typesIn('$$ROOT'),
      holders: typesInEach('$holders'),
    });
    expect(types).toMatchObject({
      fields: { fence: 'long', limit: 'int', holders: 'array' },
      holders: [{ token: 'long', permits: 'int', leaseMs: 'int' }, { permits: 'int' }],
    });
  });

  it('stores the permits that each waiter asks for, and keeps the limit after the last release', async () => {
    await using database = new OwnDatabase();
    const locks = database.client().provider({ createIndexes: false });
    const semaphore = locks.createSemaphore('x', 5);
    const documents = new StoredDocuments<Stored>(database);
    const held = await semaphore.acquire({ permits: 3 });
    const waiting = later(semaphore.acquire({ permits: 4 }));
    const queue = await eventually('it is queued', async () => {
      const [waiter] = Object.values((await documents.read('x')).queue);
      return waiter;
    });
    const waiter = { process: locks.processId, leaseMs: 30_000, since: aDate, expiresAt: aDate, permits: 4 };
    expect(queue).toEqual(waiter);
    await held.release();
    await (await waiting).release();
    expect(await documents.read('x')).toMatchObject({ limit: 5, holders: [], queue: {} });
    await semaphore.resize(7);
    expect(await documents.read('x')).toMatchObject({ limit: 7, holders: [] });
  });
});
