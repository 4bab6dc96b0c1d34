import { describe, expect, test } from 'vitest';

import { fencedUpdateOne, StaleTokenError } from '../../../src/index.js';
import type { LockHandle } from '../../../src/index.js';
import { rejection } from '../../../lab/patience.js';
import { FencedWorld } from './fenced-world.js';

class Shop extends FencedWorld {
  async open(): Promise<void> {
    await this.accounts.insertOne({ _id: 'lamp', cents: 10 });
  }

  async read(): Promise<number> {
    return (await this.accounts.findOne({ _id: 'lamp' }))?.cents ?? NaN;
  }

  async claim(lock: LockHandle): Promise<void> {
    await fencedUpdateOne(this.accounts, { _id: 'lamp' }, { $set: {} }, lock);
  }

  async write(cents: number, lock: LockHandle): Promise<void> {
    await fencedUpdateOne(this.accounts, { _id: 'lamp' }, { $set: { cents } }, lock);
  }
}

// Both holders sell from the same ten lamps: the older one three, with a late write, and the newer one five.
describe('a read-modify-write, while a write of an older holder is still on its way,', () => {
  test('loses that write if it compares tokens only at its end', async () => {
    await using shop = new Shop();
    await shop.open();
    const [stale, newer] = await shop.staleAndNewer();
    const [seenByStale, seenByNewer] = [await shop.read(), await shop.read()];
    await shop.write(seenByStale - 3, stale);
    await shop.write(seenByNewer - 5, newer);
    // Both writes were accepted, and the sale of three lamps is lost.
    expect(await shop.read()).toBe(5);
  });

  test('loses no write if it begins with a fenced write', async () => {
    await using shop = new Shop();
    await shop.open();
    const [stale, newer] = await shop.staleAndNewer();
    await shop.claim(stale);
    const seenByStale = await shop.read();
    await shop.claim(newer);
    const seenByNewer = await shop.read();
    expect(await rejection(shop.write(seenByStale - 3, stale))).toBeInstanceOf(StaleTokenError);
    await shop.write(seenByNewer - 5, newer);
    expect(await shop.read()).toBe(5);
  });

  test('sees what the older holder wrote before the claim', async () => {
    await using shop = new Shop();
    await shop.open();
    const [stale, newer] = await shop.staleAndNewer();
    await shop.claim(stale);
    await shop.write((await shop.read()) - 3, stale);
    await shop.claim(newer);
    await shop.write((await shop.read()) - 5, newer);
    expect(await shop.read()).toBe(2);
  });
});
