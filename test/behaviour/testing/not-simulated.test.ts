import { afterEach, describe, expect, it } from 'vitest';
import { fencedTransaction, fencedUpdateOne, StaleTokenError } from '../../../src/index.js';
import { rejection } from '../../../lab/patience.js';
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

  it('is named by the error: a method of a cursor, of a change stream and of a session', async () => {
    const { db } = newMember();
    const collection = db.collection('a');
    const session = db.client.startSession();
    const loop = async (over: AsyncIterable<unknown>): Promise<void> => {
      for await (const each of over) expect(each).toBeUndefined();
    };
    const calls: Readonly<Record<string, () => unknown>> = {
      'FindCursor.sort': () => collection.find().sort({ a: 1 }),
      'FindCursor.limit': () => collection.find().limit(1),
      'FindCursor.next': () => collection.find().next(),
      'FindCursor[Symbol.asyncIterator]': () => loop(collection.find()),
      'ChangeStream.next': () => collection.watch().next(),
      'ChangeStream[Symbol.asyncIterator]': () => loop(collection.watch()),
      'the event change of ChangeStream': () => collection.watch().on('change', () => undefined),
      'ClientSession.startTransaction': () => {
        session.startTransaction();
      },
      'ClientSession.withTransaction': () => session.withTransaction(() => Promise.resolve()),
    };
    for (const [what, call] of Object.entries(calls)) {
      const error = await rejection(Promise.resolve().then(call));
      expect(error, what).toMatchObject({
        name: 'MongoAPIError',
        message: `leasehold/testing does not simulate ${what}`,
      });
    }
  });

  it('is named by the error: an option of a database, a collection, a change stream or a session', async () => {
    const { db } = newMember();
    const collection = db.collection('a');
    const calls: Readonly<Record<string, () => unknown>> = {
      'the option fullDocument of watch': () => collection.watch([], { fullDocument: 'updateLookup' }),
      'the option writeConcern: 1 of Db.collection': () => db.collection('a', { writeConcern: { w: 1 } }),
      "the option readConcern: 'majority' of Db.collection": () =>
        db.collection('a', { readConcern: { level: 'majority' } }),
      "the option readConcern: 'local' of watch": () =>
        db.collection('a').watch([], { readConcern: { level: 'local' } }),
      "the option readConcern: 'snapshot' of Db.collection": () =>
        db.collection('a', { readConcern: 'snapshot' }),
      "the option readPreference: 'secondary' of MongoClient.db": () =>
        db.client.db('b', { readPreference: 'secondary' }),
      "the option readPreference: 'nearest' of find": () =>
        collection.find({}, { readPreference: { mode: 'nearest' } as never }).toArray(),
      'the option snapshot of startSession': () => db.client.startSession({ snapshot: true }),
    };
    for (const [what, call] of Object.entries(calls)) {
      const error = await rejection(Promise.resolve().then(call));
      expect(error, what).toMatchObject({ message: `leasehold/testing does not simulate ${what}` });
    }
    const settled = db.collection('a', { writeConcern: { w: 'majority' }, readPreference: 'primary' });
    expect(await settled.countDocuments({})).toBe(0);
  });

  it('refuses a fenced transaction by an error that names it', async () => {
    const { db, locks } = newMember();
    const lock = await locks.createMutex('a').acquire();
    await expect(fencedTransaction(db.client, lock, () => Promise.resolve())).rejects.toThrow(
      'leasehold/testing does not simulate MongoClient.withSession',
    );
  });
});

/** Options of the driver with values other than its defaults. Their effects are not simulated. */
const ENCODINGS: readonly (readonly [option: string, value: boolean])[] = [
  ['ignoreUndefined', true],
  ['checkKeys', true],
  ['serializeFunctions', true],
  ['promoteValues', false],
  ['promoteLongs', false],
  ['promoteBuffers', true],
  ['useBigInt64', true],
  ['raw', true],
  ['bsonRegExp', true],
];

/** Each call of the driver that takes these options. */
const callsWith = (
  { db }: Fleet['members'][number],
  options: object,
): Readonly<Record<string, () => unknown>> => {
  const collection = db.collection<{ _id: number }>('a');
  const set = { $set: { b: 1 } };
  const after = { returnDocument: 'after', ...options } as const;
  return {
    'MongoClient.db': () => db.client.db('other', options),
    'Db.collection': () => db.collection('a', options),
    'Db.command': () => db.command({ ping: 1 }, options),
    insertOne: () => collection.insertOne({ _id: 1 }, options),
    insertMany: () => collection.insertMany([{ _id: 2 }], options),
    updateOne: () => collection.updateOne({ _id: 1 }, set, options),
    updateMany: () => collection.updateMany({ _id: 1 }, set, options),
    findOneAndUpdate: () => collection.findOneAndUpdate({ _id: 1 }, set, after),
    findOne: () => collection.findOne({ _id: 1 }, options),
    find: () => collection.find({ _id: 1 }, options).toArray(),
    countDocuments: () => collection.countDocuments({}, options),
    deleteOne: () => collection.deleteOne({ _id: 1 }, options),
    deleteMany: () => collection.deleteMany({ _id: 1 }, options),
    watch: () => collection.watch([], options).close(),
  };
};

describe('an option that changes how documents are encoded or decoded', () => {
  it.each(ENCODINGS)(
    '%s: %s is refused by an error that names it, and nothing is sent',
    async (option, value) => {
      const member = newMember();
      const sent: string[] = [];
      member.db.client.on('commandStarted', ({ commandName }) => sent.push(commandName));
      for (const [name, call] of Object.entries(callsWith(member, { [option]: value }))) {
        const error = await rejection(Promise.resolve().then(call));
        expect(error, name).toMatchObject({
          name: 'MongoAPIError',
          message: expect.stringContaining(
            `leasehold/testing does not simulate the option ${option}: ${value} of `,
          ) as string,
        });
      }
      expect(sent).toEqual([]);
    },
  );

  it('may be given with its default', async () => {
    const defaults = Object.fromEntries(ENCODINGS.map(([option, value]) => [option, !value]));
    for (const call of Object.values(callsWith(newMember(), defaults))) await call();
  });

  it('is refused by a fenced update, too', async () => {
    const { db, locks } = newMember();
    const lock = await locks.createMutex('a').acquire();
    const update = { $set: { a: 1, b: undefined } };
    const fenced = fencedUpdateOne(db.collection('b'), {}, update, lock, { ignoreUndefined: true });
    await expect(fenced).rejects.toThrow('does not simulate the option ignoreUndefined: true of updateOne');
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
