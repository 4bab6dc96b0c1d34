import { describe, expect, test } from 'vitest';

import * as leasehold from '../../src/index.js';
import { OwnDatabase } from '../support/test-provider.js';
import { rejection } from '../../lab/patience.js';
import { recipe } from './recipe.js';

type Transfer = (from: string, to: string, cents: number) => Promise<void>;

interface Booking {
  readonly account: string;
  readonly cents: number;
}

/** A bank whose instances transfer by the recipe. */
class Bank extends OwnDatabase {
  readonly #bookings = this.plain.db.collection<Booking>('bookings');

  instance(): Transfer {
    const own = this.client();
    const given = { client: own.client, db: own.db, locks: own.provider() };
    return recipe('docs/all-or-nothing.md', 'transfer', given, { leasehold }) as Transfer;
  }

  async open(accounts: Readonly<Record<string, number>>): Promise<void> {
    await this.#bookings.insertMany(Object.entries(accounts).map(([account, cents]) => ({ account, cents })));
  }

  async balances(): Promise<Readonly<Record<string, number>>> {
    const balances: Record<string, number> = {};
    for (const { account, cents } of await this.#bookings.find().sort({ account: 1 }).toArray()) {
      balances[account] = (balances[account] ?? 0) + cents;
    }
    return balances;
  }

  /** Claims as a later holder of the lock of this account would. */
  async claimAsLaterHolder(account: string): Promise<void> {
    const fences = this.plain.db.collection<{ _id: string; token: number }>('distributed.fences');
    await fences.insertOne({ _id: `account:${account}`, token: Number.MAX_SAFE_INTEGER });
  }
}

describe('the transfer of docs/all-or-nothing.md', () => {
  test('neither deadlocks nor loses money, even if many transfers go in both directions at once', async () => {
    await using bank = new Bank();
    await bank.open({ a: 50_000, b: 50_000 });
    const instances = [bank.instance(), bank.instance(), bank.instance()];
    // The last transfer waits for all others.
    const transfers = instances.flatMap((transfer) =>
      Array.from({ length: 4 }, (_, index) =>
        index % 2 === 0 ? transfer('a', 'b', 300) : transfer('b', 'a', 100),
      ),
    );
    const ends = await Promise.allSettled(transfers);

    expect(ends.filter(({ status }) => status === 'rejected')).toEqual([]);
    expect(await bank.balances()).toEqual({ a: 50_000 - 6 * 200, b: 50_000 + 6 * 200 });
  });

  test('does not let an account fall below zero, even if several transfers take from it at once', async () => {
    await using bank = new Bank();
    await bank.open({ a: 50_000, b: 0, c: 0, d: 0 });
    const transfers = ['b', 'c', 'd'].map((to) => bank.instance()('a', to, 30_000));
    const ends = await Promise.allSettled(transfers);

    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await bank.balances()).toMatchObject({ a: 20_000 });
  });

  test('does not let an account rise above its maximum, even if several transfers give to it at once', async () => {
    await using bank = new Bank();
    await bank.open({ a: 60_000, b: 60_000, c: 60_000, d: 0 });
    const transfers = ['a', 'b', 'c'].map((from) => bank.instance()(from, 'd', 60_000));
    const ends = await Promise.allSettled(transfers);

    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await bank.balances()).toMatchObject({ d: 60_000 });
  });

  test.each(['a', 'b'])('changes nothing where it is out of date for account %s', async (account) => {
    await using bank = new Bank();
    await bank.open({ a: 50_000, b: 50_000 });
    await bank.claimAsLaterHolder(account);
    expect(await rejection(bank.instance()('a', 'b', 100))).toMatchObject({ code: 'STALE_TOKEN' });
    expect(await bank.balances()).toEqual({ a: 50_000, b: 50_000 });
  });

  test('refuses a transfer from an account to itself', async () => {
    await using bank = new Bank();
    expect(await rejection(bank.instance()('a', 'a', 100))).toBeInstanceOf(TypeError);
  });
});
