import { describe, expect, test } from 'vitest';

import { OwnDatabase } from '../support/test-provider.js';
import { rejection } from '../../lab/patience.js';
import { recipe } from './recipe.js';

type Transfer = (from: string, to: string, cents: number, day: string) => Promise<void>;

/** A bank with two accounts that transfers by the recipe. */
class Bank extends OwnDatabase {
  readonly #client = this.client();
  readonly transfer = recipe('docs/mutex.md', 'transfer', {
    client: this.#client.client,
    db: this.#client.db,
    locks: this.#client.provider(),
  }) as Transfer;
  readonly #accounts = this.plain.db.collection<{ _id: string; cents: number }>('accounts');

  async open(): Promise<void> {
    await this.#accounts.insertMany([
      { _id: 'a', cents: 500_000 },
      { _id: 'b', cents: 0 },
    ]);
  }

  async balances(): Promise<readonly number[]> {
    return (await this.#accounts.find().sort({ _id: 1 }).toArray()).map(({ cents }) => cents);
  }

  /** Claims as a later holder of this lock would. */
  async claimAsLaterHolder(): Promise<void> {
    const fences = this.plain.db.collection<{ _id: string; fencingToken: number }>('fences');
    await fences.insertOne({ _id: 'a', fencingToken: Number.MAX_SAFE_INTEGER });
  }
}

describe('the money transfer of docs/mutex.md', () => {
  test('keeps the limit even if several transfers come at once', async () => {
    await using bank = new Bank();
    await bank.open();
    const ends = await Promise.allSettled(
      Array.from({ length: 5 }, () => bank.transfer('a', 'b', 30_000, 'monday')),
    );
    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    expect(await bank.balances()).toEqual([410_000, 90_000]);
  });

  test('refuses a holder with an old token, and changes nothing', async () => {
    await using bank = new Bank();
    await bank.open();
    await bank.claimAsLaterHolder();
    expect(await rejection(bank.transfer('a', 'b', 100, 'monday'))).toMatchObject({ code: 11_000 });
    expect(await bank.balances()).toEqual([500_000, 0]);
  });
});
