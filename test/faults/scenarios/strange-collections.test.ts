import type { Db } from 'mongodb';
import { describe, expect, it } from 'vitest';

import type { LockProvider } from '../../../src/index.js';
import { OwnDatabase } from '../../support/test-provider.js';
import { eventually, later, rejection, within } from '../../../lab/patience.js';
import { untilWaiting } from '../../support/waiters.js';

const COLLECTION = 'distributed.locks';
const OPTIONS = { leaseMs: 10_000, createIndexes: false };

/** Every way to request a lock, each without a timeout. */
const ASKS: Readonly<Record<string, (locks: LockProvider, name: string) => Promise<unknown>>> = {
  acquireMutex: (locks, name) => locks.acquireMutex(name),
  tryAcquireMutex: (locks, name) => locks.tryAcquireMutex(name),
  acquireRead: (locks, name) => locks.createReaderWriterLock(name).acquireRead(),
  'acquire of a semaphore': (locks, name) => locks.createSemaphore(name, 2).acquire(),
  acquireAll: (locks, name) => locks.acquireAll([{ mutex: locks.createMutex(name) }]),
};

/** What is there instead of an ordinary collection, and the cause that the error has to name. */
const REFUSED: readonly (readonly [string, RegExp, (db: Db) => Promise<unknown>])[] = [
  ['a view', /view/, (db) => db.createCollection(COLLECTION, { viewOn: 'others', pipeline: [] })],
  [
    'a time series',
    /time-?series/,
    (db) => db.createCollection(COLLECTION, { timeseries: { timeField: 'purgeAt' } }),
  ],
  [
    'a collection whose validator refuses lock documents',
    /validation/,
    (db) => db.createCollection(COLLECTION, { validator: { invoice: { $exists: true } } }),
  ],
];

describe.concurrent.each(REFUSED)('on %s', (_, cause, make) => {
  it('every request is refused at once with a typed error that names the cause', async () => {
    await using database = new OwnDatabase();
    await make(database.plain.db);
    const locks = database.client().provider(OPTIONS);
    const events: unknown[] = [];
    locks.on('storeError', ({ error }) => events.push(error));
    for (const [what, ask] of Object.entries(ASKS)) {
      const error = await rejection(within(10_000, what, ask(locks, 'x')));
      expect(error, what).toMatchObject({ code: 'STORE_UNAVAILABLE', outcomeKnown: true, lockName: 'x' });
      expect((error as Error).message, what).toMatch(cause);
    }
    // One command each, because a refused command is not repeated.
    expect(events).toHaveLength(Object.keys(ASKS).length);
    expect(await locks.inspect('x')).toBeNull();
    await within(10_000, 'the close', locks.close());
  });
});

it('a validator that is added while locks are in use ends the holds at their deadlines, and grants go on once it is removed', async () => {
  await using database = new OwnDatabase();
  const { db } = database.plain;
  const [here, there] = [database.client().provider(OPTIONS), database.client().provider(OPTIONS)];
  const hold = await here.acquireMutex('x');
  const other = await here.acquireMutex('y');
  const wait = later(there.acquireMutex('x'));
  await untilWaiting(here, 'x');
  await db.command({ collMod: COLLECTION, validator: { invoice: { $exists: true } } });
  // A look that is refused ends the wait.
  const error = await rejection(within(30_000, 'the refusal', wait));
  expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', lockName: 'x' });
  expect((error as Error).message).toMatch(/validation/);
  const released = within(30_000, 'the release', other.release());
  await eventually('its lease runs out', () => !hold.isHeld);
  expect(hold.signal.reason).toMatchObject({ code: 'LOCK_LOST', why: 'expired' });
  await released;
  await db.command({ collMod: COLLECTION, validator: {} });
  for (const [name, { fencingToken }] of [
    ['x', hold],
    ['y', other],
  ] as const) {
    const next = await within(30_000, 'the grant', there.acquireMutex(name));
    expect(next.fencingToken).toBeGreaterThan(fencingToken);
  }
});

it('locks behave as usual in a clustered collection', async ({ skip }) => {
  await using database = new OwnDatabase();
  const { versionArray } = (await database.plain.db.admin().serverInfo()) as { versionArray?: number[] };
  const [major = 0, minor = 0] = versionArray ?? [];
  skip(major < 5 || (major === 5 && minor < 3), 'clustered collections came with MongoDB 5.3');
  await database.plain.db.createCollection(COLLECTION, {
    clusteredIndex: { key: { _id: 1 }, unique: true },
  });
  const [here, there] = [database.client().provider(OPTIONS), database.client().provider(OPTIONS)];
  const hold = await here.acquireMutex('x');
  expect(await there.tryAcquireMutex('x')).toBeNull();
  const wait = later(there.acquireMutex('x'));
  await untilWaiting(here, 'x');
  expect(await hold.release()).toBe(true);
  expect((await within(30_000, 'the grant', wait)).fencingToken).toBeGreaterThan(hold.fencingToken);
});

/** Collections that can refuse a lock because another one is stored. */
const CLASHING: readonly (readonly [string, (db: Db) => Promise<unknown>])[] = [
  [
    'a collection that ignores case',
    (db) => db.createCollection(COLLECTION, { collation: { locale: 'en', strength: 2 } }),
  ],
  [
    'a collection in which every kind may be stored once',
    (db) =>
      db.command({
        createIndexes: COLLECTION,
        indexes: [{ key: { kind: 1 }, name: 'kind', unique: true }],
      }),
  ],
];

describe.concurrent.each(CLASHING)('on %s', (_, make) => {
  it('locks of a single name work', async () => {
    await using database = new OwnDatabase();
    await make(database.plain.db);
    const [here, there] = [database.client().provider(OPTIONS), database.client().provider(OPTIONS)];
    const hold = await here.acquireMutex('invoice');
    expect(await there.tryAcquireMutex('invoice')).toBeNull();
    expect(await there.inspect('INVOICE')).toBeNull();
    const wait = later(there.acquireMutex('invoice'));
    await untilWaiting(here, 'invoice');
    expect(await hold.release()).toBe(true);
    expect((await within(30_000, 'the grant', wait)).isHeld).toBe(true);
  });

  it.each(Object.entries(ASKS).filter(([what]) => what.endsWith('Mutex')))(
    'a lock that cannot be stored beside another one is refused with a typed error that names the cause: %s',
    async (what, ask) => {
      await using database = new OwnDatabase();
      await make(database.plain.db);
      const locks = database.client().provider(OPTIONS);
      const hold = await locks.acquireMutex('invoice');
      const error = await rejection(within(8_000, what, ask(locks, 'Invoice')));
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', outcomeKnown: true });
      expect((error as Error).message).toMatch(/duplicate key/);
      expect(hold.isHeld).toBe(true);
    },
  );
});

describe('on a capped collection, which deletes old documents', () => {
  it('no request is granted, and the error names the cause (S2)', async () => {
    await using database = new OwnDatabase();
    await database.plain.db.createCollection(COLLECTION, { capped: true, size: 4_096, max: 1 });
    const locks = database.client().provider(OPTIONS);
    for (const [what, ask] of Object.entries(ASKS)) {
      const error = await rejection(within(10_000, what, ask(locks, 'x')));
      expect(error, what).toMatchObject({ code: 'UNSUPPORTED_SERVER' });
      expect((error as Error).message, what).toMatch(/capped/);
    }
    expect(await database.plain.db.collection(COLLECTION).countDocuments()).toBe(0);
  });
});
