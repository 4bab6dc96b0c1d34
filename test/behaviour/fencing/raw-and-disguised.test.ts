import { Binary, Long, ObjectId } from 'mongodb';
import type { BSONSerializeOptions } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { StaleTokenError, fencedTransaction, fencedUpdateOne } from '../../../src/index.js';
import { rejection } from '../../../lab/patience.js';
import { FencedWorld } from './fenced-world.js';

const UPSERT = { upsert: true };

describe('a stale holder gets a StaleTokenError', () => {
  const ways: readonly BSONSerializeOptions[] = [
    { raw: true },
    { useBigInt64: true },
    { promoteValues: false },
    { promoteLongs: false },
  ];

  test.each(ways)('from an upsert through a client with %j', async (options) => {
    await using world = new FencedWorld();
    const [stale, newer] = await world.staleAndNewer();
    const accounts = world.client(options).db.collection<{ _id: string; cents?: number }>('accounts');
    const inserted = await fencedUpdateOne(accounts, { _id: 'a' }, { $set: { cents: 1 } }, newer, UPSERT);
    expect(inserted).toMatchObject({ matchedCount: 0, upsertedCount: 1 });
    const late = fencedUpdateOne(accounts, { _id: 'a' }, { $set: { cents: 2 } }, stale, UPSERT);
    expect(await rejection(late)).toBeInstanceOf(StaleTokenError);
    const asked = fencedUpdateOne(world.accounts, { _id: 'a' }, { $set: { cents: 2 } }, stale, {
      ...UPSERT,
      ...options,
    });
    expect(await rejection(asked)).toBeInstanceOf(StaleTokenError);
    const again = await fencedUpdateOne(accounts, { _id: 'a' }, { $set: { cents: 3 } }, newer, UPSERT);
    expect(again.matchedCount).toBe(1);
    expect(await world.account('a')).toMatchObject({ cents: 3 });
  });

  test('from a transaction through a client with {"raw":true}', async () => {
    await using world = new FencedWorld();
    const [stale, newer] = await world.staleAndNewer();
    const { client } = world.client({ raw: true });
    expect(await fencedTransaction(client, newer, () => Promise.resolve('done'))).toBe('done');
    const late = fencedTransaction(client, stale, () => Promise.resolve('late'));
    expect(await rejection(late)).toBeInstanceOf(StaleTokenError);
  });
});

describe('an upsert', () => {
  const disguised: readonly (readonly [string, object])[] = [
    ['a Map with an operator', { _id: new Map([['$gt', 0]]) }],
    ['an object whose toBSON returns an operator', { _id: { toBSON: () => ({ $gt: 0 }) } }],
    [
      'a BSON type whose toBSON returns an operator',
      { _id: { _bsontype: 'ObjectId', toBSON: () => ({ $gt: 0 }) } },
    ],
    ['replaced by the toBSON of the filter', { _id: 1, toBSON: () => ({ _id: { $gt: 0 } }) }],
    ['an operator', { _id: { $gt: 0 } }],
  ];

  test.each(disguised)('is rejected and inserts nothing if its _id is %s', async (_, filter) => {
    await using world = new FencedWorld();
    const [stale, newer] = await world.staleAndNewer();
    const numbered = world.own.db.collection<{ _id: number }>('numbered');
    await fencedUpdateOne(numbered, { _id: 1 }, { $set: {} }, newer, UPSERT);
    const error = await rejection(fencedUpdateOne(numbered, filter, { $set: {} }, stale, UPSERT));
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toMatch(/^filter must be one with a value for _id/);
    expect(await numbered.countDocuments()).toBe(1);
  });

  test('accepts an _id of every type that is a single value', async () => {
    await using world = new FencedWorld();
    const lock = await world.holder();
    const any = world.own.db.collection('any');
    const ids: readonly unknown[] = [
      7,
      'a',
      null,
      true,
      Long.fromNumber(8),
      new ObjectId(),
      new Date(5),
      new Binary(Buffer.from('b')),
      { region: 'eu', cents: { from: 1 } },
      new Map([['region', 'us']]),
    ];
    for (const _id of ids) await fencedUpdateOne(any, { _id } as object, { $set: {} }, lock, UPSERT);
    expect(await any.countDocuments()).toBe(ids.length);
  });
});
