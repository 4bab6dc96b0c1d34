import { Long } from 'mongodb';
import type { Document, UpdateFilter } from 'mongodb';
import { describe, expect, test } from 'vitest';

import { fencedUpdateOne, StaleTokenError } from '../../../src/index.js';
import type { FencedUpdateOptions } from '../../../src/index.js';
import { rejection } from '../../../lab/patience.js';
import { FencedWorld } from './fenced-world.js';
import type { Account } from './fenced-world.js';

describe('fencedUpdateOne', () => {
  test('writes a document that never had a token, and stores the token with the change', async () => {
    await using world = new FencedWorld();
    const lock = await world.holder();
    await world.accounts.insertOne({ _id: 'a', cents: 5 });
    const result = await fencedUpdateOne(world.accounts, { _id: 'a' }, { $inc: { cents: 1 } }, lock);

    expect(result).toMatchObject({ acknowledged: true, matchedCount: 1, modifiedCount: 1 });
    expect(await world.account('a')).toEqual({ _id: 'a', cents: 6, fencingToken: lock.fencingToken });
    expect(world.own.count('update')).toBe(1);
  });

  test('refuses an older holder with an error that has both tokens, and changes nothing', async () => {
    await using world = new FencedWorld();
    const [stale, newer] = await world.staleAndNewer();
    await world.accounts.insertOne({ _id: 'a', cents: 5, notes: [] });
    await fencedUpdateOne(world.accounts, { _id: 'a' }, { $set: {} }, newer);
    const stored = await world.account('a');

    const updates = [{ $set: { cents: 1 } }, { $push: { notes: 'x' } }, [{ $set: { cents: 1 } }]];
    for (const update of updates) {
      for (const upsert of [false, true]) {
        const written = fencedUpdateOne(world.accounts, { _id: 'a' }, update, stale, { upsert });
        const error = await rejection(written);
        expect(error).toBeInstanceOf(StaleTokenError);
        expect(error).toMatchObject({
          code: 'STALE_TOKEN',
          lockName: 'x',
          token: stale.fencingToken,
          storedToken: newer.fencingToken,
          message: expect.stringMatching(`${stale.fencingToken}.*${newer.fencingToken}`) as unknown,
        });
      }
    }
    expect(await world.account('a')).toEqual(stored);
    expect(await world.accounts.countDocuments()).toBe(1);
  });

  test('lets the same holder write again, and the next holder too', async () => {
    await using world = new FencedWorld();
    const [first, next] = await world.staleAndNewer();
    await world.accounts.insertOne({ _id: 'a', cents: 0 });
    for (const lock of [first, first, next, next]) {
      await fencedUpdateOne(world.accounts, { _id: 'a' }, { $inc: { cents: 1 } }, lock);
    }
    expect(await world.account('a')).toMatchObject({ cents: 4, fencingToken: next.fencingToken });
  });

  test('distinguishes a filter that selects nothing from an older token', async () => {
    await using world = new FencedWorld();
    const [stale, newer] = await world.staleAndNewer();
    await world.accounts.insertOne({ _id: 'a', cents: 5 });
    const nothing = { acknowledged: true, matchedCount: 0, modifiedCount: 0, upsertedCount: 0 };
    const absent = await fencedUpdateOne(world.accounts, { _id: 'b' }, { $set: { cents: 1 } }, newer);
    expect(absent).toMatchObject(nothing);

    await fencedUpdateOne(world.accounts, { _id: 'a' }, { $set: {} }, newer);
    const other = { _id: 'a', cents: 6 };
    expect(await fencedUpdateOne(world.accounts, other, { $set: { cents: 1 } }, stale)).toMatchObject(
      nothing,
    );
    const same = { _id: 'a', cents: 5 };
    expect(
      await rejection(fencedUpdateOne(world.accounts, same, { $set: { cents: 1 } }, stale)),
    ).toBeInstanceOf(StaleTokenError);
  });

  test('updates a document that no newer holder has written, if the filter selects several', async () => {
    await using world = new FencedWorld();
    const [stale, newer] = await world.staleAndNewer();
    await world.accounts.insertMany([
      { _id: 'a', cents: 5, fencingToken: newer.fencingToken },
      { _id: 'b', cents: 5 },
    ]);
    const filter = { $or: [{ cents: 5 }, { cents: 7 }] };
    await fencedUpdateOne(world.accounts, filter, { $set: { cents: 6 } }, stale);
    expect(await world.account('a')).toMatchObject({ cents: 5, fencingToken: newer.fencingToken });
    expect(await world.account('b')).toMatchObject({ cents: 6, fencingToken: stale.fencingToken });
    expect(await rejection(fencedUpdateOne(world.accounts, filter, { $set: {} }, stale))).toMatchObject({
      storedToken: newer.fencingToken,
    });
  });

  test('respects what the filter says about the token field', async () => {
    await using world = new FencedWorld();
    const [stale, newer] = await world.staleAndNewer();
    await world.accounts.insertOne({ _id: 'a', fencingToken: newer.fencingToken });
    const filter = { _id: 'a', fencingToken: { $gt: 0 } };
    expect(
      await rejection(fencedUpdateOne(world.accounts, filter, { $set: { cents: 1 } }, stale)),
    ).toBeInstanceOf(StaleTokenError);
    const never = { _id: 'a', fencingToken: { $exists: false } };
    expect(await fencedUpdateOne(world.accounts, never, { $set: { cents: 1 } }, newer)).toMatchObject({
      matchedCount: 0,
    });
    expect(await fencedUpdateOne(world.accounts, filter, { $set: { cents: 1 } }, newer)).toMatchObject({
      matchedCount: 1,
    });
  });

  test('applies operators and pipelines, and stores the token with both', async () => {
    await using world = new FencedWorld();
    const [first, next] = await world.staleAndNewer();
    await world.accounts.insertOne({ _id: 'a', cents: 5, notes: ['old'] });
    const operators: UpdateFilter<Account> = {
      $inc: { cents: 1 },
      $push: { notes: 'new' },
      $unset: { meta: '' },
    };
    await fencedUpdateOne(world.accounts, { _id: 'a' }, operators, first);
    expect(await world.account('a')).toEqual({
      _id: 'a',
      cents: 6,
      notes: ['old', 'new'],
      fencingToken: first.fencingToken,
    });

    const doubled = [{ $set: { cents: { $multiply: ['$cents', 2] } } }, { $unset: 'notes' }];
    await fencedUpdateOne(world.accounts, { _id: 'a' }, doubled, next);
    expect(await world.account('a')).toEqual({ _id: 'a', cents: 12, fencingToken: next.fencingToken });
    const replaced = [{ $replaceWith: { _id: '$_id', cents: 1 } }];
    await fencedUpdateOne(world.accounts, { _id: 'a' }, replaced, next);
    expect(await world.account('a')).toEqual({ _id: 'a', cents: 1, fencingToken: next.fencingToken });
  });

  test('stores the token in the given field, also deep in the document', async () => {
    await using world = new FencedWorld();
    const [stale, newer] = await world.staleAndNewer();
    const field = 'meta.lock.token';
    await world.accounts.insertOne({ _id: 'a', meta: { owner: 'b' } });
    await fencedUpdateOne(world.accounts, { _id: 'a' }, { $set: { cents: 1 } }, newer, { field });
    const token = newer.fencingToken;
    expect(await world.account('a')).toEqual({ _id: 'a', cents: 1, meta: { owner: 'b', lock: { token } } });
    for (const update of [{ $set: { cents: 2 } }, [{ $set: { cents: 2 } }]]) {
      const written = fencedUpdateOne(world.accounts, { _id: 'a' }, update, stale, { field });
      expect(await rejection(written)).toMatchObject({ storedToken: token });
    }
  });

  test.each<{ name: string; options: Document }>([
    { name: 'promoteLongs false', options: { promoteLongs: false } },
    { name: 'useBigInt64', options: { useBigInt64: true } },
    { name: 'promoteValues false', options: { promoteValues: false } },
    {
      name: 'a read concern and a read preference',
      options: { readConcern: { level: 'majority' }, readPreference: 'secondary' },
    },
    { name: 'ignoreUndefined', options: { ignoreUndefined: true } },
  ])('compares and reports tokens exactly in a collection with $name', async ({ options }) => {
    await using world = new FencedWorld();
    const [stale, newer] = await world.staleAndNewer();
    const accounts = world.own.db.collection<Document & { _id: string }>('accounts', options);
    const written = { _id: 'a' };
    expect(stale.fencingToken).toBeGreaterThan(2 ** 50);
    for (const stored of [newer.fencingToken, Long.fromNumber(newer.fencingToken)]) {
      await world.accounts.replaceOne(written, { fencingToken: stored }, { upsert: true });
      for (const upsert of [false, true]) {
        const options: FencedUpdateOptions = { upsert };
        const refused = fencedUpdateOne(accounts, written, { $set: { cents: 1 } }, stale, options);
        expect(await rejection(refused)).toMatchObject({
          token: stale.fencingToken,
          storedToken: newer.fencingToken,
        });
        await fencedUpdateOne(accounts, written, { $set: { cents: 1 } }, newer, options);
      }
    }
    expect(await world.account('a')).toEqual({ _id: 'a', cents: 1, fencingToken: newer.fencingToken });
    // A majority may not yet have the token that refused the update.
    const reads = world.own.commands.filter(({ command }) => command['find'] === 'accounts');
    expect(new Set(reads.map(({ command }) => JSON.stringify(command['readConcern'])))).toEqual(
      new Set(['{"level":"local"}']),
    );
  });

  test('uses the token at the time of the call: each change of mode brings a new one', async () => {
    await using world = new FencedWorld();
    await world.accounts.insertOne({ _id: 'a', cents: 0 });
    const hold = await world.locks.createReaderWriterLock('r').acquireUpgradeableRead();
    const before = hold.fencingToken;
    await hold.upgrade();
    await fencedUpdateOne(world.accounts, { _id: 'a' }, { $set: {} }, hold);
    expect(hold.fencingToken).toBeGreaterThan(before);
    expect(await world.account('a')).toMatchObject({ fencingToken: hold.fencingToken });
  });

  test('accepts a hold that has ended, because the token alone decides', async () => {
    await using world = new FencedWorld();
    await world.accounts.insertOne({ _id: 'a', cents: 0 });
    const [released, newer] = await world.staleAndNewer();
    await world.locks.revoke('x', { force: true });
    await newer.release();
    expect([released.isHeld, newer.isHeld]).toEqual([false, false]);
    await fencedUpdateOne(world.accounts, { _id: 'a' }, { $inc: { cents: 1 } }, released);
    await fencedUpdateOne(world.accounts, { _id: 'a' }, { $inc: { cents: 1 } }, newer);
    expect(await world.account('a')).toMatchObject({ cents: 2, fencingToken: newer.fencingToken });
  });

  test('passes all other options to the driver', async () => {
    await using world = new FencedWorld();
    const [stale, newer] = await world.staleAndNewer();
    await world.accounts.insertOne({ _id: 'a', notes: ['x', 'y'] });
    const collation = { locale: 'en', strength: 2 };
    const update = { $set: { 'notes.$[each]': 'z' } };
    const options = { collation, arrayFilters: [{ each: 'Y' }], comment: 'why not', writeConcern: { w: 1 } };
    await fencedUpdateOne(world.accounts, { notes: 'X' }, update, newer, options);
    expect(await world.account('a')).toMatchObject({ notes: ['x', 'z'] });
    const sent = world.own.commands.findLast(({ commandName }) => commandName === 'update');
    expect(sent?.command).toMatchObject({ comment: 'why not', writeConcern: { w: 1 } });
    expect(
      await rejection(fencedUpdateOne(world.accounts, { notes: 'X' }, update, stale, options)),
    ).toBeInstanceOf(StaleTokenError);
  });
});
