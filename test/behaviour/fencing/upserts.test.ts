import { BSONRegExp, MongoServerError } from 'mongodb';
import { describe, expect, test } from 'vitest';

import { fencedUpdateOne, StaleTokenError } from '../../../src/index.js';
import { rejection } from '../../../lab/patience.js';
import { FencedWorld } from './fenced-world.js';
import { withMethods } from '../../support/with-methods.js';

const UPSERT = { upsert: true };

describe('a fenced upsert', () => {
  test('inserts a missing document with the token, and updates it afterwards', async () => {
    await using world = new FencedWorld();
    const lock = await world.holder();
    const filter = { _id: 'a', notes: 'x' };
    const [first, second] = [
      await fencedUpdateOne(world.accounts, filter, { $inc: { cents: 1 } }, lock, UPSERT),
      await fencedUpdateOne(world.accounts, filter, { $inc: { cents: 1 } }, lock, UPSERT),
    ];
    expect(first).toMatchObject({ matchedCount: 0, upsertedCount: 1, upsertedId: 'a' });
    expect(second).toMatchObject({ matchedCount: 1, upsertedCount: 0 });
    const token = lock.fencingToken;
    expect(await world.account('a')).toEqual({ _id: 'a', notes: 'x', cents: 2, fencingToken: token });

    await fencedUpdateOne(world.accounts, { _id: 'b' }, [{ $set: { cents: 1 } }], lock, UPSERT);
    expect(await world.account('b')).toEqual({ _id: 'b', cents: 1, fencingToken: token });
    await fencedUpdateOne(world.accounts, { _id: { $eq: 'c' } }, { $set: {} }, lock, { upsert: false });
    expect(await world.account('c')).toBeNull();
  });

  test('inserts one document and loses no update if many run at once', async () => {
    await using world = new FencedWorld();
    const lock = await world.holder();
    for (let round = 0; round < 10; round += 1) {
      const _id = `race-${round}`;
      await Promise.all(
        Array.from({ length: 10 }, () =>
          fencedUpdateOne(world.accounts, { _id }, { $inc: { cents: 1 } }, lock, UPSERT),
        ),
      );
      expect(await world.account(_id)).toMatchObject({ cents: 10 });
    }
    expect(await world.accounts.countDocuments()).toBe(10);
  });

  test('leaves the write of the newer holder if an older and a newer holder run it at once', async () => {
    await using world = new FencedWorld();
    const [stale, newer] = await world.staleAndNewer();
    for (let round = 0; round < 20; round += 1) {
      const _id = `race-${round}`;
      const ends = await Promise.allSettled(
        [stale, newer].map((lock, index) =>
          fencedUpdateOne(world.accounts, { _id }, { $set: { cents: index } }, lock, UPSERT),
        ),
      );
      expect(await world.account(_id)).toEqual({ _id, cents: 1, fencingToken: newer.fencingToken });
      expect(ends[1]).toMatchObject({ status: 'fulfilled' });
      if (ends[0]?.status === 'rejected') expect(ends[0].reason).toBeInstanceOf(StaleTokenError);
    }
    expect(await world.accounts.countDocuments()).toBe(20);
  });

  test('fails with the driver’s duplicate-key error if the document exists and the filter excludes it', async () => {
    await using world = new FencedWorld();
    const [stale, newer] = await world.staleAndNewer();
    await world.accounts.insertOne({ _id: 'a', cents: 5, fencingToken: newer.fencingToken });
    const filter = { _id: 'a', cents: 6 };
    const written = fencedUpdateOne(world.accounts, filter, { $set: { notes: [] } }, newer, UPSERT);
    expect(await rejection(written)).toMatchObject({ code: 11_000, keyPattern: { _id: 1 } });
    const late = fencedUpdateOne(world.accounts, filter, { $set: { notes: [] } }, stale, UPSERT);
    expect(await rejection(late)).toBeInstanceOf(StaleTokenError);
  });

  test('inserts the document if the one that it collided with is deleted before the next try', async () => {
    await using world = new FencedWorld();
    const lock = await world.holder();
    await world.accounts.insertOne({ _id: 'a', cents: 5 });
    let reads = 0;
    const { accounts } = world;
    const deletedAtTheFirstRead = withMethods(accounts, {
      findOne: async (...args: Parameters<typeof accounts.findOne>) => {
        reads += 1;
        if (reads === 1) await accounts.deleteOne({ _id: 'a' });
        return await accounts.findOne(...args);
      },
    });
    const filter = { _id: 'a', cents: 6 };
    const written = await fencedUpdateOne(
      deletedAtTheFirstRead,
      filter,
      { $set: { notes: [] } },
      lock,
      UPSERT,
    );
    expect(written).toMatchObject({ upsertedId: 'a' });
    expect(reads).toBeGreaterThan(0);
    expect(await world.account('a')).toEqual({ ...filter, notes: [], fencingToken: lock.fencingToken });
  });

  test('fails with the driver’s duplicate-key error if another unique index refuses it', async () => {
    await using world = new FencedWorld();
    const lock = await world.holder();
    await world.own.db.command({
      createIndexes: 'accounts',
      indexes: [{ key: { cents: 1 }, name: 'cents_1', unique: true }],
    });
    await world.accounts.insertOne({ _id: 'a', cents: 5 });
    const written = fencedUpdateOne(world.accounts, { _id: 'b' }, { $set: { cents: 5 } }, lock, UPSERT);
    expect(await rejection(written)).toMatchObject({ code: 11_000, keyPattern: { cents: 1 } });
  });

  test('makes its transaction run again as a whole after a collision, unless its token is stale', async () => {
    await using world = new FencedWorld();
    const [stale, newer] = await world.staleAndNewer();
    await world.accounts.insertOne({ _id: 'a', cents: 5 });
    // Answers like a server that inserts before it looks for conflicts.
    const colliding = Object.create(world.accounts, {
      updateOne: {
        value: () =>
          Promise.reject(new MongoServerError({ message: 'E11000', code: 11_000, keyPattern: { _id: 1 } })),
      },
    }) as typeof world.accounts;
    await world.own.client.withSession(async (session) => {
      session.startTransaction();
      const options = { ...UPSERT, session };
      const again = await rejection(fencedUpdateOne(colliding, { _id: 'a' }, { $set: {} }, stale, options));
      expect(again).toBeInstanceOf(MongoServerError);
      expect((again as MongoServerError).hasErrorLabel('TransientTransactionError')).toBe(true);

      await fencedUpdateOne(world.accounts, { _id: 'a' }, { $set: {} }, newer);
      const refused = await rejection(fencedUpdateOne(colliding, { _id: 'a' }, { $set: {} }, stale, options));
      expect(refused).toBeInstanceOf(StaleTokenError);
      await session.abortTransaction();
    });
    expect(
      await rejection(fencedUpdateOne(colliding, { _id: 'a' }, { $set: {} }, newer, UPSERT)),
    ).toMatchObject({
      code: 11_000,
    });
  });
});

describe('a fenced upsert by _id', () => {
  test.each([
    [
      'a collation',
      { _id: 'a' },
      { ...UPSERT, collation: { locale: 'en', strength: 2 } },
      /collation must be/,
    ],
    ['a pattern', { _id: new BSONRegExp('a') as unknown as string }, UPSERT, /filter must be/],
  ])('is rejected before anything is sent if it has %s', async (_, filter, options, message) => {
    await using world = new FencedWorld();
    const lock = await world.holder();
    const error = await rejection(fencedUpdateOne(world.accounts, filter, { $set: {} }, lock, options));
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toMatch(message);
    expect(await world.account('a')).toBeNull();
  });

  test('accepts the simple collation', async () => {
    await using world = new FencedWorld();
    const options = { ...UPSERT, collation: { locale: 'simple' } };
    await fencedUpdateOne(world.accounts, { _id: 'a' }, { $set: {} }, await world.holder(), options);
    expect(await world.account('a')).not.toBeNull();
  });
});
