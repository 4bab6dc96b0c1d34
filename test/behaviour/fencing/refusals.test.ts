import type { Document } from 'mongodb';
import { describe, expect, test } from 'vitest';

import { fencedTransaction, fencedUpdateOne } from '../../../src/index.js';
import type { LockHandle, LockProvider } from '../../../src/index.js';
import { later, rejection } from '../../../lab/patience.js';
import { FencedWorld } from './fenced-world.js';

/** What cannot fence, each with the message that the error has to contain. */
const SHARED: readonly {
  readonly name: string;
  readonly says: RegExp;
  readonly acquire: (locks: LockProvider) => Promise<unknown>;
}[] = [
  {
    name: 'a read',
    says: /"r" is held as read/,
    acquire: (locks) => locks.createReaderWriterLock('r').acquireRead(),
  },
  {
    name: 'an upgradeable read',
    says: /"r" is held as upgradeable/,
    acquire: (locks) => locks.createReaderWriterLock('r').acquireUpgradeableRead(),
  },
  {
    name: 'a write that was downgraded',
    says: /"r" is held as upgradeable/,
    acquire: async (locks) => {
      const hold = await locks.createReaderWriterLock('r').acquireWrite();
      await hold.downgrade('upgradeable');
      return hold;
    },
  },
  {
    name: 'the only permit of a semaphore',
    says: /"s" is held as permits/,
    acquire: (locks) => locks.createSemaphore('s', 1).acquire(),
  },
  {
    name: 'a composite handle',
    says: /handles/,
    acquire: (locks) => locks.acquireAll([{ mutex: locks.createMutex('a') }]),
  },
  { name: 'null from a try', says: /got null/, acquire: () => Promise.resolve(null) },
  {
    name: 'an object that is no handle',
    says: /of this library/,
    acquire: () => Promise.resolve({ name: 'x', fencingToken: 7 }),
  },
  {
    name: 'a promise of a handle',
    says: /of this library/,
    acquire: (locks) => Promise.resolve([later(locks.acquireMutex('x'))]),
  },
];

describe('a fenced call', () => {
  test.each(SHARED)('rejects $name before it sends anything, and says why', async ({ says, acquire }) => {
    await using world = new FencedWorld();
    const acquired = await acquire(world.locks);
    // A case may put its value into a list, so that `await` does not unwrap it.
    const lock = [acquired].flat().at(0) as LockHandle;
    const sent = world.own.count('update');
    const calls = [
      fencedUpdateOne(world.accounts, { _id: 'a' }, { $set: {} }, lock),
      fencedTransaction(world.own.client, lock, () => Promise.resolve()),
      fencedTransaction(world.own.client, [lock], () => Promise.resolve()),
    ];
    for (const call of calls) {
      const error = await rejection(call);
      expect(error).toBeInstanceOf(TypeError);
      expect(error).toMatchObject({ message: expect.stringMatching(says) as unknown });
    }
    expect(world.own.count('update')).toBe(sent);
  });

  test('accepts a write and an upgraded read, also from a composite handle', async () => {
    await using world = new FencedWorld();
    const all = await world.locks.acquireAll([
      { write: world.locks.createReaderWriterLock('r') },
      { mutex: world.locks.createMutex('a') },
      { upgradeableRead: world.locks.createReaderWriterLock('u') },
    ]);
    const [write, mutex, upgradeable] = all.handles;
    await upgradeable.upgrade();
    await world.accounts.insertOne({ _id: 'a' });
    for (const lock of [write, mutex, upgradeable]) {
      await fencedUpdateOne(world.accounts, { _id: 'a' }, { $set: {} }, lock, {
        field: `fences.${lock.name}`,
      });
    }
    expect(await world.account('a')).toEqual({
      _id: 'a',
      fences: { r: write.fencingToken, a: mutex.fencingToken, u: upgradeable.fencingToken },
    });
  });
});

/** Calls with a valid lock, and with one argument that is wrong. */
const WRONG: readonly {
  readonly name: string;
  readonly filter?: unknown;
  readonly update?: unknown;
  readonly options?: Document;
  readonly type?: typeof RangeError;
}[] = [
  { name: 'a replacement', update: { cents: 1 } },
  { name: 'an empty update', update: {} },
  { name: 'an empty pipeline', update: [] },
  { name: 'no update', update: null },
  { name: 'a stage that is no object', update: [null] },
  { name: 'no filter', filter: null },
  { name: '$set of the token', update: { $set: { fencingToken: 5 } } },
  { name: '$inc of the token', update: { $set: { cents: 1 }, $inc: { fencingToken: 1 } } },
  { name: '$unset of the token', update: { $unset: { fencingToken: '' } } },
  { name: '$rename to the token', update: { $rename: { cents: 'fencingToken' } } },
  { name: '$rename of the token', update: { $rename: { fencingToken: 'cents' } } },
  { name: 'a write within the token field', update: { $set: { 'fencingToken.a': 1 } } },
  {
    name: 'a write of the object around the token field',
    update: { $set: { meta: {} } },
    options: { field: 'meta.token' },
  },
  { name: 'a stage that sets the token', update: [{ $set: { fencingToken: 5 } }] },
  { name: 'a stage that adds the token', update: [{ $addFields: { fencingToken: 5 } }] },
  { name: 'a stage that unsets the token', update: [{ $unset: ['cents', 'fencingToken'] }] },
  { name: 'a stage that projects the token away', update: [{ $project: { fencingToken: 0 } }] },
  { name: 'an upsert without _id', filter: { cents: 5 }, options: { upsert: true } },
  { name: 'an upsert by undefined', filter: { _id: undefined }, options: { upsert: true } },
  { name: 'an upsert by several _id', filter: { _id: { $in: ['a'] } }, options: { upsert: true } },
  { name: 'an upsert by a pattern', filter: { _id: /a/ }, options: { upsert: true } },
  { name: 'an unacknowledged write', options: { writeConcern: { w: 0 } } },
  { name: 'a field that is no string', options: { field: 5 } },
  { name: 'an empty field', options: { field: '' }, type: RangeError },
  { name: 'a path with an empty step', options: { field: 'a..b' }, type: RangeError },
  { name: 'an operator as a field', options: { field: 'a.$[]' }, type: RangeError },
  { name: 'the _id as a field', options: { field: '_id.token' }, type: RangeError },
  { name: 'options that are null', options: null as unknown as Document },
];

describe('fencedUpdateOne', () => {
  test('rejects wrong arguments before it sends an update', async () => {
    await using world = new FencedWorld();
    const lock = await world.holder();
    await world.accounts.insertOne({ _id: 'a', cents: 5 });
    const sent = world.own.commands.length;
    for (const { name, filter = { _id: 'a' }, update = { $set: { cents: 1 } }, options, type } of WRONG) {
      const call = fencedUpdateOne(world.accounts, filter as Document, update as Document[], lock, options);
      const error = await rejection(call);
      expect(error, name).toBeInstanceOf(type ?? TypeError);
    }
    expect(world.own.commands.slice(sent).filter(({ commandName }) => commandName === 'update')).toEqual([]);
    expect(await world.account('a')).toEqual({ _id: 'a', cents: 5 });
  });

  test('rejects a collection with unacknowledged writes', async () => {
    await using world = new FencedWorld();
    const lock = await world.holder();
    const accounts = world.own.db.collection<{ _id: string }>('accounts', { writeConcern: { w: 0 } });
    expect(await rejection(fencedUpdateOne(accounts, { _id: 'a' }, { $set: {} }, lock))).toBeInstanceOf(
      TypeError,
    );
  });

  test('accepts an update that only looks like a write of the token', async () => {
    await using world = new FencedWorld();
    const lock = await world.holder();
    await world.accounts.insertOne({ _id: 'a', cents: 5 });
    const updates: readonly Document[] = [
      { $set: { fencingTokenOfOld: 5 } },
      [{ $project: { fencingToken: 1, cents: 1 } }],
      [{ $set: { 'fencing.token': 5 } }],
    ];
    for (const update of updates) await fencedUpdateOne(world.accounts, { _id: 'a' }, update, lock);
    expect(await world.account('a')).toMatchObject({ cents: 5, fencingToken: lock.fencingToken });
  });
});

describe('fencedTransaction', () => {
  test('rejects wrong arguments before it sends an update', async () => {
    await using world = new FencedWorld();
    const { client } = world.own;
    const [lock, other] = [await world.holder(), await world.holder('y')];
    const work = (): Promise<void> => Promise.resolve();
    const calls = [
      fencedTransaction(client, [], work),
      fencedTransaction(client, [lock, other, lock], work),
      fencedTransaction(client, lock, 5 as unknown as typeof work),
      fencedTransaction(client, lock, work, { collectionName: 5 as unknown as string }),
      fencedTransaction(client, lock, work, { databaseName: null as unknown as string }),
      fencedTransaction(client, lock, work, { transaction: 5 as unknown as object }),
    ];
    for (const call of calls) expect(await rejection(call)).toBeInstanceOf(TypeError);
    expect(await rejection(fencedTransaction(client, lock, work, { collectionName: '' }))).toBeInstanceOf(
      RangeError,
    );
    expect(world.own.count('update')).toBe(0);
  });
});
