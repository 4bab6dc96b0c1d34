import type { Db, Filter } from 'mongodb';
import { describe, expect, test } from 'vitest';

import type { LockProvider, ReaderWriterLock } from '../../src/index.js';
import { OwnDatabase } from '../support/test-provider.js';
import { eventually, rejection } from '../../lab/patience.js';
import { recipe } from './recipe.js';

interface Product {
  readonly edition: number;
  readonly sku: string;
  readonly cents: number;
}

type Catalogue = (day: string) => Promise<readonly Product[]>;

/** More than the server returns in one batch, so that reading them takes several commands. */
const PRODUCTS = 250;

/** The price of every product on a day, by which a test tells the editions apart. */
const PRICES: Readonly<Record<string, number>> = { '2026-03-01': 100, '2026-03-02': 200, '2026-03-03': 300 };

/** What happens while an instance fetches the products, or before it reads them or tries to become the builder. */
interface Meanwhile {
  readonly fetching?: () => Promise<void>;
  readonly reading?: () => Promise<void>;
  readonly trying?: () => Promise<void>;
}

/** The database of a shop, whose instances show the catalogue by the recipe. */
class Shop extends OwnDatabase {
  /** The days whose products were fetched. */
  readonly fetched: string[] = [];

  instance({ fetching, reading, trying }: Meanwhile = {}): Catalogue {
    const client = this.client();
    const locks = client.provider();
    return recipe('docs/reader-writer-lock.md', 'catalogueOf', {
      locks: trying === undefined ? locks : delayedTry(locks, trying),
      db: reading === undefined ? client.db : delayed(client.db, reading),
      fetchProducts: async (day: string) => {
        this.fetched.push(day);
        await fetching?.();
        const cents = PRICES[day];
        return Array.from({ length: PRODUCTS }, (_, index) => ({ sku: String(index), cents }));
      },
    }) as Catalogue;
  }

  /** Whether an upgrade waits for the readers. */
  async isUpgradeWaiting(): Promise<boolean> {
    const stored = this.plain.db.collection<{ _id: string }>('distributed.locks');
    return (await stored.findOne({ _id: 'catalogue', 'readers.upgrading': true })) !== null;
  }

  /** Claims as a later holder of this lock would. */
  async claimAsLaterHolder(): Promise<void> {
    const newer = { $set: { fencingToken: Number.MAX_SAFE_INTEGER } };
    await this.plain.db.collection<{ _id: string }>('editions').updateOne({ _id: 'catalogue' }, newer);
  }
}

/** The database, which awaits `reading` before the products of an edition are read. */
function delayed(db: Db, reading: () => Promise<void>): unknown {
  const products = db.collection<Product>('products');
  const find = (filter: Filter<Product>): unknown => ({
    toArray: async () => {
      await reading();
      return await products.find(filter).toArray();
    },
  });
  return {
    collection: (name: string) => (name === 'products' ? { find } : db.collection(name)),
  };
}

/** The locks, which await `trying` before a try for an upgradeable read. */
function delayedTry(locks: LockProvider, trying: () => Promise<void>): unknown {
  const createReaderWriterLock = (name: string): Partial<ReaderWriterLock> => {
    const lock = locks.createReaderWriterLock(name);
    return {
      useRead: (work, options) => lock.useRead(work, options),
      tryAcquireUpgradeableRead: async (options) => {
        await trying();
        return await lock.tryAcquireUpgradeableRead(options);
      },
    };
  };
  return { createReaderWriterLock };
}

/** The price of all products that were shown, if they are one whole edition. */
function priceOf(shown: readonly Product[]): number | string {
  const prices = new Set(shown.map(({ cents }) => cents));
  const [price] = prices;
  if (shown.length === PRODUCTS && prices.size === 1 && price !== undefined) return price;
  return `${String(shown.length)} products of ${String(prices.size)} editions`;
}

describe('the catalogue of docs/reader-writer-lock.md', () => {
  test('is fetched once even if all instances find it out of date, and the others show the older edition meanwhile', async () => {
    await using shop = new Shop();
    await shop.instance()('2026-03-01');
    const shown: (number | string)[] = [];
    const fetching = async (): Promise<void> => {
      await eventually('all other requests have been served', () => shown.length === 11);
    };
    const instances = [shop.instance({ fetching }), shop.instance({ fetching }), shop.instance({ fetching })];
    const requests = Array.from({ length: 12 }, async (_, index) => {
      shown.push(priceOf((await instances[index % 3]?.('2026-03-02')) ?? []));
    });
    await Promise.all(requests);

    expect(shop.fetched).toEqual(['2026-03-01', '2026-03-02']);
    expect(shown).toEqual([...Array.from({ length: 11 }, () => 100), 200]);
    expect(priceOf((await instances[0]?.('2026-03-02')) ?? [])).toBe(200);
    expect(shop.fetched).toHaveLength(2);
  });

  test('is not fetched again by an instance that found it out of date and came after the builder', async () => {
    await using shop = new Shop();
    const builder = shop.instance();
    await builder('2026-03-01');
    const late = shop.instance({
      trying: async () => {
        await builder('2026-03-02');
      },
    });

    expect(priceOf(await late('2026-03-02'))).toBe(200);
    expect(shop.fetched).toEqual(['2026-03-01', '2026-03-02']);
  });

  test('is complete for a reader that reads while the next edition is published', async () => {
    await using shop = new Shop();
    const builder = shop.instance();
    await builder('2026-03-01');
    let built: Promise<readonly Product[]> | undefined;
    let isBuilt = false;
    const slow = shop.instance({
      reading: async () => {
        built = builder('2026-03-02').finally(() => {
          isBuilt = true;
        });
        await eventually('the builder waits, or is done', async () => isBuilt || shop.isUpgradeWaiting());
      },
    });

    expect(priceOf(await slow('2026-03-01'))).toBe(100);
    expect(priceOf((await built) ?? [])).toBe(200);
  });

  test('is complete, and never goes back, for readers that ask again and again while it is rebuilt', async () => {
    await using shop = new Shop();
    const [builder, ...readers] = [shop.instance(), shop.instance(), shop.instance()];
    await builder('2026-03-01');
    let isOver = false;
    const reading = readers.map(async (reader) => {
      const prices = [];
      while (!isOver) prices.push(priceOf(await reader('2026-03-01')));
      return prices;
    });
    try {
      await builder('2026-03-02');
      await builder('2026-03-03');
    } finally {
      isOver = true;
    }

    for (const prices of await Promise.all(reading)) {
      expect(prices.filter((price) => typeof price === 'string')).toEqual([]);
      expect(prices).toEqual([...prices].sort());
    }
  });

  test('stays as it is if a builder comes too late', async () => {
    await using shop = new Shop();
    const instance = shop.instance();
    await instance('2026-03-01');
    await shop.claimAsLaterHolder();
    expect(await rejection(instance('2026-03-02'))).toMatchObject({ code: 11_000 });
    expect(priceOf(await instance('2026-03-01'))).toBe(100);
  });
});
