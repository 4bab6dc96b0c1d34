import { Decimal128, Double, Int32, Long } from 'mongodb';
import { describe, expect, test } from 'vitest';

import { fencedUpdateOne, StaleTokenError } from '../../../src/index.js';
import { rejection } from '../../../lab/patience.js';
import { FencedWorld } from './fenced-world.js';

const UPDATES = [{ $set: { cents: 1 } }, [{ $set: { cents: 1 } }]];

describe('the stored token field', () => {
  test.each([
    { name: 'an integer', stored: new Int32(7) },
    { name: 'a long', stored: Long.fromNumber(7) },
    { name: 'a double', stored: new Double(7) },
    { name: 'a decimal', stored: Decimal128.fromString('7') },
    { name: 'a negative number', stored: -7 },
  ])('lets a write pass if it is $name below the token', async ({ stored }) => {
    await using world = new FencedWorld();
    const lock = await world.holder();
    for (const update of UPDATES) {
      await world.accounts.replaceOne({ _id: 'a' }, { fencingToken: stored }, { upsert: true });
      await fencedUpdateOne(world.accounts, { _id: 'a' }, update, lock);
      expect(await world.account('a')).toEqual({ _id: 'a', cents: 1, fencingToken: lock.fencingToken });
    }
  });

  test.each([
    { name: 'greater by one, as a double', above: (token: number) => token + 1 },
    { name: 'greater by one, as a long', above: (token: number) => Long.fromNumber(token + 1) },
    {
      name: 'greater by one half',
      above: (token: number) => Decimal128.fromString(`${token}.5`),
      storedToken: expect.any(Number) as unknown,
    },
    { name: '2^63 - 1', above: () => Long.MAX_VALUE, storedToken: 2 ** 63 },
    { name: 'infinity', above: () => Infinity, storedToken: Infinity },
    {
      name: 'a decimal above all doubles',
      above: () => Decimal128.fromString('1E+6000'),
      storedToken: Infinity,
    },
  ])('makes a write stale if it is $name', async ({ above, storedToken }) => {
    await using world = new FencedWorld();
    const lock = await world.holder();
    await world.accounts.insertOne({ _id: 'a', fencingToken: above(lock.fencingToken) });
    for (const update of UPDATES) {
      for (const upsert of [false, true]) {
        const error = await rejection(
          fencedUpdateOne(world.accounts, { _id: 'a' }, update, lock, { upsert }),
        );
        expect(error).toBeInstanceOf(StaleTokenError);
        expect(error).toMatchObject({ storedToken: storedToken ?? lock.fencingToken + 1 });
      }
    }
    expect(await world.account('a')).not.toHaveProperty('cents');
  });

  test.each([
    { type: 'null', stored: null },
    { type: 'string', stored: '5' },
    { type: 'NaN', stored: NaN },
    { type: 'NaN', stored: Decimal128.fromString('NaN') },
    { type: 'object', stored: { token: 5 } },
    { type: 'array', stored: [5] },
    { type: 'array', stored: [] },
    { type: 'bool', stored: false },
    { type: 'date', stored: new Date(0) },
  ])('makes a write fail if it is no number: $type, $stored', async ({ type, stored }) => {
    await using world = new FencedWorld();
    const lock = await world.holder();
    await world.accounts.insertOne({ _id: 'a', fencingToken: stored });
    const before = await world.account('a');
    for (const update of UPDATES) {
      for (const upsert of [false, true]) {
        const error = await rejection(
          fencedUpdateOne(world.accounts, { _id: 'a' }, update, lock, { upsert }),
        );
        expect(error).toBeInstanceOf(TypeError);
        expect(error).toMatchObject({
          message: expect.stringMatching(`fencingToken is .*${type}`) as unknown,
        });
      }
    }
    expect(await world.account('a')).toEqual(before);
  });

  test.each([
    { around: 'an array of objects', meta: [{ token: 5 }] },
    { around: 'an empty array', meta: [] },
    { around: 'an array of arrays', meta: [[{ token: 5 }]] },
    { around: 'null', meta: null },
    { around: 'a number', meta: 5 },
  ])('makes a write fail if its parent is $around', async ({ meta }) => {
    await using world = new FencedWorld();
    const lock = await world.holder();
    await world.accounts.insertOne({ _id: 'a', meta });
    for (const update of UPDATES) {
      for (const upsert of [false, true]) {
        const options = { field: 'meta.token', upsert };
        const written = fencedUpdateOne(world.accounts, { _id: 'a' }, update, lock, options);
        expect(await rejection(written)).toBeInstanceOf(TypeError);
      }
    }
    expect(await world.account('a')).toEqual({ _id: 'a', meta });
  });
});
