import { describe, expect, it } from 'vitest';

import { systemClock } from '../../../src/clock.js';
import type { Report } from '../../../src/events.js';
import type { LockProvider } from '../../../src/index.js';
import { parseProviderOptions } from '../../../src/options/provider-options.js';
import { LockCollection } from '../../../src/store/lock-collection.js';
import { PurgeIndex } from '../../../src/store/purge-index.js';
import { ManualClock } from '../../support/manual-clock.js';
import { eventually } from '../../../lab/patience.js';
import { testProvider } from '../../support/test-provider.js';
import type { TestProvider } from '../../support/test-provider.js';

async function purges({ db }: TestProvider): Promise<boolean> {
  const indexes = await db.collection('distributed.locks').indexes();
  return indexes.some(({ key, expireAfterSeconds }) => key['purgeAt'] === 1 && expireAfterSeconds === 0);
}

describe('the purge index', () => {
  it('is created by close() if the provider closes before the index was due', async () => {
    const provider = await testProvider();
    const use = (locks: LockProvider): Promise<void> => locks.useMutex('a', () => undefined);
    await use(provider.locks);
    // The index is due a second after the grant. The close has to come before that.
    const before = provider.count('createIndexes');
    await provider.locks.close();
    expect(before).toBe(0);
    expect(provider.count('createIndexes')).toBe(1);
    await eventually('the index exists', () => purges(provider));
  });

  it('is created at the first grant after a minute if its creation failed, and then never again', async () => {
    const provider = await testProvider({ createIndexes: false });
    const { db } = provider;
    const errors: unknown[] = [];
    const report: Report = (event, payload) => {
      if (event === 'indexError') errors.push(payload);
    };
    const clock = new ManualClock();
    const collection = new LockCollection(db, parseProviderOptions({}), systemClock, report);
    const index = new PurgeIndex(collection, clock, report);
    const locks = db.collection('distributed.locks');
    await locks.createIndexes([{ key: { purgeAt: 1 }, name: 'in the way' }]);

    index.wanted();
    expect(provider.count('createIndexes')).toBe(1);
    clock.advance(1_000);
    await eventually('the error is reported', () => errors.length === 1);
    await locks.dropIndex('in the way');
    const before = provider.count('createIndexes');
    index.wanted();
    clock.advance(50_000);
    expect([provider.count('createIndexes'), await purges(provider)]).toEqual([before, false]);

    clock.advance(10_000);
    index.wanted();
    clock.advance(1_000);
    await eventually('the index exists', () => purges(provider));
    await index.close();
    clock.advance(3_600_000);
    index.wanted();
    clock.advance(1_000);
    expect(provider.count('createIndexes')).toBe(before + 1);
    expect(errors).toHaveLength(1);
    collection.close();
  });
});
