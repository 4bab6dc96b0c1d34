import { describe, expect, test } from 'vitest';

import {
  fencedTransaction,
  fencedUpdateOne,
  StaleTokenError,
  UnsupportedServerError,
} from '../../../src/index.js';
import { randomFrom } from '../../../lab/random.js';
import { startStandalone } from '../../../lab/mongo-server/start.js';
import { eventually, later, rejection } from '../../../lab/patience.js';
import { drawSeed } from '../../support/seed.js';
import { FencedWorld } from './fenced-world.js';

/** Stops a transaction until the test opens the gate. */
class Gate {
  open!: () => void;
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });
}

const claimedAt = expect.any(Date) as unknown;

class TransactionWorld extends FencedWorld {
  readonly options = { databaseName: this.name };

  async fences(): Promise<readonly unknown[]> {
    return await this.plain.db.collection('distributed.fences').find().sort({ _id: 1 }).toArray();
  }
}

describe('fencedTransaction', () => {
  test('commits the work, returns its result, and writes the fence every time', async () => {
    await using world = new TransactionWorld();
    const lock = await world.holder();
    for (const times of [1, 2]) {
      const given = await fencedTransaction(
        world.own.client,
        lock,
        async (session) => {
          await world.accounts.updateOne({ _id: 'a' }, { $inc: { cents: 1 } }, { session, upsert: true });
          expect(await world.account('a')).toEqual(times === 1 ? null : { _id: 'a', cents: 1 });
          return `done ${times}`;
        },
        world.options,
      );
      expect(given).toBe(`done ${times}`);
      expect(await world.account('a')).toEqual({ _id: 'a', cents: times });
      expect(await world.fences()).toEqual([
        { _id: 'x', token: lock.fencingToken, claims: times, claimedAt },
      ]);
    }
  });

  test('writes a fence for each lock, in the order of their names, before anything else', async () => {
    await using world = new TransactionWorld();
    const locks = [await world.holder('b'), await world.holder('A'), await world.holder('a')];
    const before = world.own.commands.length;
    await fencedTransaction(
      world.own.client,
      locks,
      async (session) => {
        await world.accounts.findOne({ _id: 'a' }, { session });
      },
      world.options,
    );
    // The provider may make its index at the same time. Only commands of a transaction have `autocommit`.
    const sent = world.own.commands.slice(before).filter(({ command }) => 'autocommit' in command);
    const names = sent.map(({ commandName }) => commandName);
    expect(names).toEqual(['update', 'update', 'update', 'find', 'commitTransaction']);
    expect(await world.fences()).toMatchObject([{ _id: 'A' }, { _id: 'a' }, { _id: 'b' }]);
    const [first, last] = [sent.at(0), sent.at(-1)];
    expect(first?.command).toMatchObject({
      startTransaction: true,
      readConcern: { level: 'snapshot' },
      updates: [{ q: { $and: [{ _id: 'A' }, {}] } }],
    });
    expect(last?.command).toMatchObject({ writeConcern: { w: 'majority' } });
  });

  test('refuses an older holder without calling its work, and leaves the fence unchanged', async () => {
    await using world = new TransactionWorld();
    const [stale, newer] = await world.staleAndNewer();
    await fencedTransaction(world.own.client, newer, () => Promise.resolve(), world.options);
    let calls = 0;
    const work = (): Promise<void> => {
      calls += 1;
      return Promise.resolve();
    };
    const late = fencedTransaction(world.own.client, [stale, await world.holder('y')], work, world.options);
    const error = await rejection(late);
    expect(error).toBeInstanceOf(StaleTokenError);
    expect(error).toMatchObject({ token: stale.fencingToken, storedToken: newer.fencingToken });
    expect(calls).toBe(0);
    expect(await world.fences()).toEqual([{ _id: 'x', token: newer.fencingToken, claims: 1, claimedAt }]);
  });

  test('undoes everything if the work fails, and rejects with its error', async () => {
    await using world = new TransactionWorld();
    const lock = await world.holder();
    const why = new Error('enough');
    const failing = fencedTransaction(
      world.own.client,
      lock,
      async (session) => {
        await world.accounts.insertOne({ _id: 'a' }, { session });
        throw why;
      },
      world.options,
    );
    expect(await rejection(failing)).toBe(why);
    expect(await world.account('a')).toBeNull();
    expect(await world.fences()).toEqual([]);
  });

  test('stores fences in the default collection of the database of the locks, unless options name others', async () => {
    await using world = new TransactionWorld();
    const lock = await world.holder();
    const uri = new URL(world.uri);
    uri.pathname = `/${world.name}`;
    await using other = new FencedWorld(uri.href);
    await fencedTransaction(other.own.client, lock, () => Promise.resolve());
    // The connection string of that client names the database of the locks, and its test database is another one.
    const own = other.own.client.db();
    expect(own.databaseName).toBe(world.name);
    expect(await world.fences()).toHaveLength(1);
    const options = { ...world.options, collectionName: 'my.fences' };
    await fencedTransaction(world.own.client, lock, () => Promise.resolve(), options);
    expect(await world.plain.db.collection('my.fences').countDocuments()).toBe(1);
  });

  test('lets many concurrent calls under the same locks take turns, even if there is no fence yet', async () => {
    await using world = new TransactionWorld();
    const locks = [await world.holder('x'), await world.holder('y')];
    const random = randomFrom(drawSeed('transactions under two locks'));
    const increment = (): Promise<void> =>
      fencedTransaction(
        world.own.client,
        random.percent(50) ? locks : [...locks].reverse(),
        async (session) => {
          const cents = (await world.accounts.findOne({ _id: 'a' }, { session }))?.cents ?? 0;
          await world.accounts.replaceOne({ _id: 'a' }, { cents: cents + 1 }, { session, upsert: true });
        },
        world.options,
      );
    await Promise.all(Array.from({ length: 8 }, increment));
    expect(await world.account('a')).toEqual({ _id: 'a', cents: 8 });
    expect(await world.fences()).toMatchObject([{ claims: 8 }, { claims: 8 }]);
  });

  test('allows fenced updates within it, in the same session', async () => {
    await using world = new TransactionWorld();
    const [stale, newer] = await world.staleAndNewer();
    await world.accounts.insertOne({ _id: 'a', cents: 0, fencingToken: newer.fencingToken });
    const within = (lock: typeof stale): Promise<unknown> =>
      fencedTransaction(
        world.own.client,
        lock,
        async (session) => {
          await world.accounts.insertOne({ _id: 'b' }, { session });
          return await fencedUpdateOne(world.accounts, { _id: 'a' }, { $inc: { cents: 1 } }, lock, {
            session,
          });
        },
        world.options,
      );
    expect(await rejection(within(stale))).toMatchObject({ storedToken: newer.fencingToken });
    expect(await world.account('b')).toBeNull();
    expect(await within(newer)).toMatchObject({ matchedCount: 1 });
    expect(await world.account('a')).toMatchObject({ cents: 1 });
  });
});

describe('a takeover in the middle of a fenced transaction', () => {
  test('makes the newer holder wait for the older holder’s transaction, and read what it wrote', async () => {
    await using world = new TransactionWorld();
    const [stale, newer] = await world.staleAndNewer();
    await world.accounts.insertOne({ _id: 'a', cents: 0 });
    await fencedTransaction(world.own.client, stale, () => Promise.resolve(), world.options);
    const [inside, gate] = [new Gate(), new Gate()];
    const first = later(
      fencedTransaction(
        world.own.client,
        stale,
        async (session) => {
          await world.accounts.updateOne({ _id: 'a' }, { $inc: { cents: 1 } }, { session });
          inside.open();
          await gate.opened;
        },
        world.options,
      ),
    );
    await inside.opened;

    const second = world.client();
    const seen: unknown[] = [];
    const taken = later(
      fencedTransaction(
        second.client,
        newer,
        async (session) => {
          seen.push(await second.db.collection('accounts').findOne({}, { session }));
        },
        world.options,
      ),
    );
    await eventually('the newer holder has tried twice', () => second.count('abortTransaction') >= 2);
    expect(seen).toEqual([]);
    gate.open();
    await Promise.all([first, taken]);
    expect(seen).toEqual([{ _id: 'a', cents: 1 }]);
  });

  test('aborts the older transaction at its commit if both make the first claims of all at the same time', async () => {
    await using world = new TransactionWorld();
    const [stale, newer] = await world.staleAndNewer();
    const gate = new Gate();
    let calls = 0;
    const late = later(
      fencedTransaction(
        world.own.client,
        stale,
        async (session) => {
          calls += 1;
          await world.accounts.insertOne({ _id: 'late' }, { session });
          await gate.opened;
        },
        world.options,
      ),
    );
    await eventually('the older holder has claimed', () => calls > 0);
    // There is no collection of fences yet. Each transaction creates one, and that of the first commit stays.
    await fencedTransaction(world.plain.client, newer, () => Promise.resolve(), world.options);
    gate.open();
    expect(await rejection(late)).toBeInstanceOf(StaleTokenError);
    expect(calls).toBe(1);
    expect(await world.account('late')).toBeNull();
    expect(await world.fences()).toEqual([{ _id: 'x', token: newer.fencingToken, claims: 1, claimedAt }]);
  });

  test('aborts the older transaction although its snapshot is from before, because its write conflicts', async () => {
    await using world = new TransactionWorld();
    const [stale, newer] = await world.staleAndNewer();
    await world.accounts.insertOne({ _id: 'a', cents: 0, fencingToken: stale.fencingToken });
    const seen: unknown[] = [];
    const late = world.own.client.withSession((session) =>
      session.withTransaction(async () => {
        // The check comes first, and finds nothing newer in its snapshot.
        const checked = await world.accounts.findOne({ _id: 'a' }, { session });
        seen.push(checked?.fencingToken);
        if (seen.length === 1) {
          await fencedUpdateOne(world.accounts, { _id: 'a' }, { $set: { cents: 8 } }, newer);
        }
        await fencedUpdateOne(world.accounts, { _id: 'a' }, { $set: { cents: 7 } }, stale, { session });
      }),
    );
    expect(await rejection(late)).toBeInstanceOf(StaleTokenError);
    expect(seen).toEqual([stale.fencingToken, newer.fencingToken]);
    expect(await world.account('a')).toMatchObject({ cents: 8 });
  });

  test('aborts the older transaction even if it has claimed another of its fences before', async () => {
    await using world = new TransactionWorld();
    const [stale, newer] = await world.staleAndNewer('y');
    const other = await world.holder('x');
    const keys = [other, stale];
    // Both fences exist, so that the first claim opens the snapshot.
    await fencedTransaction(world.own.client, keys, () => Promise.resolve(), world.options);
    const [inside, gate] = [new Gate(), new Gate()];
    const stay = (): Promise<void> => {
      inside.open();
      return gate.opened;
    };
    const holding = later(fencedTransaction(world.plain.client, newer, stay, world.options));
    await inside.opened;
    const before = world.own.count('abortTransaction');
    let calls = 0;
    const late = later(
      fencedTransaction(
        world.own.client,
        keys,
        () => {
          calls += 1;
          return Promise.resolve();
        },
        world.options,
      ),
    );
    await eventually('the older holder tries again', () => world.own.count('abortTransaction') > before);
    gate.open();
    await holding;
    expect(await rejection(late)).toBeInstanceOf(StaleTokenError);
    expect(calls).toBe(0);
  });
});

describe('a fenced transaction that is open for long', () => {
  test('does not keep the leases of its database from being extended, not even its own', async () => {
    await using world = new TransactionWorld();
    const locks = world.own.provider({ leaseMs: 6_000, extendEveryMs: 500 });
    const [lock, other] = [await locks.acquireMutex('x'), await locks.acquireMutex('y')];
    const extended = new Map<string, number>();
    locks.on('extended', ({ lockName }) => extended.set(lockName, (extended.get(lockName) ?? 0) + 1));
    await fencedTransaction(
      world.own.client,
      lock,
      async (session) => {
        await world.accounts.insertOne({ _id: 'a' }, { session });
        // Longer than the lease itself.
        await eventually('both are extended', () =>
          ['x', 'y'].every((name) => (extended.get(name) ?? 0) >= 13),
        );
      },
      world.options,
    );
    expect([lock.isHeld, other.isHeld]).toEqual([true, true]);
    expect(await world.account('a')).not.toBeNull();
  });
});

describe('a server without transactions', () => {
  test('makes fencedTransaction fail with a typed error, while fencedUpdateOne works', async () => {
    await using server = await startStandalone({ say: () => undefined });
    await using world = new TransactionWorld(server.uri);
    const lock = await world.holder();
    const call = fencedTransaction(world.own.client, lock, () => Promise.resolve(), world.options);
    expect(await rejection(call)).toBeInstanceOf(UnsupportedServerError);
    await world.accounts.insertOne({ _id: 'a' });
    await fencedUpdateOne(world.accounts, { _id: 'a' }, { $set: {} }, lock);
    expect(await world.account('a')).toMatchObject({ fencingToken: lock.fencingToken });
  });
});
