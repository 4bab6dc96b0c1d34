import { afterEach, describe, expect, it } from 'vitest';
import { fencedTransaction, fencedUpdateOne, StaleTokenError } from '../../../src/index.js';
import { Fleet } from './fleet.js';

let fleet: Fleet | undefined;

afterEach(async () => {
  await fleet?.close();
  fleet = undefined;
});

function newMember(): Fleet['members'][number] {
  fleet = new Fleet(51);
  const [member] = fleet.members;
  if (member === undefined) throw new Error('no process');
  return member;
}

describe('what is not simulated', () => {
  it('is named by the error: a command, an option, a method, an operator', async () => {
    const { db } = newMember();
    const error = (what: string): object => ({
      name: 'MongoAPIError',
      message: `leasehold/testing does not simulate ${what}`,
    });
    await expect(db.command({ collStats: 'a' })).rejects.toMatchObject(error('the command collStats'));
    await expect(db.command({ find: 'a', skip: 3 })).rejects.toMatchObject(error('the option skip of find'));
    expect(() => db.listCollections()).toThrow('leasehold/testing does not simulate Db.listCollections');
    const collection = db.collection('a');
    expect(() => collection.aggregate([])).toThrow('does not simulate Collection.aggregate');
    expect(() => db.client.bulkWrite([])).toThrow('does not simulate MongoClient.bulkWrite');
    const connected = await db.client.connect();
    expect(() => connected.bulkWrite([])).toThrow('does not simulate MongoClient.bulkWrite');
    await collection.insertOne({ _id: 1 as never, list: [1] });
    await expect(collection.updateOne({ _id: 1 as never }, { $bit: { list: { or: 1 } } })).rejects.toThrow(
      /leasehold\/testing does not simulate .*\$bit/,
    );
  });

  it('refuses a fenced transaction by an error that names it', async () => {
    const { db, locks } = newMember();
    const lock = await locks.createMutex('a').acquire();
    await expect(fencedTransaction(db.client, lock, () => Promise.resolve())).rejects.toThrow(
      'leasehold/testing does not simulate MongoClient.withSession',
    );
  });
});

describe('a fenced update', () => {
  it('is applied unless a newer token is stored', async () => {
    const { db, locks } = newMember();
    const accounts = db.collection('accounts');
    const [old, next] = [await locks.createMutex('a').acquire(), await locks.createMutex('b').acquire()];
    const [lower, higher] = old.fencingToken < next.fencingToken ? [old, next] : [next, old];
    const update = { $inc: { balance: 5 } };
    const filter = { _id: 1 as never };
    const inserted = await fencedUpdateOne(accounts, filter, update, lower, { upsert: true });
    expect(inserted).toMatchObject({ upsertedCount: 1, matchedCount: 0 });
    expect(await fencedUpdateOne(accounts, filter, update, higher)).toMatchObject({ modifiedCount: 1 });
    await expect(fencedUpdateOne(accounts, filter, update, lower)).rejects.toBeInstanceOf(StaleTokenError);
    await expect(fencedUpdateOne(accounts, filter, update, lower, { upsert: true })).rejects.toBeInstanceOf(
      StaleTokenError,
    );
    expect(await accounts.findOne(filter)).toEqual({
      _id: 1,
      balance: 10,
      fencingToken: higher.fencingToken,
    });
  });
});
