import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.js';
import { parseProviderOptions } from '../../../src/options/provider-options.js';
import { LockCollection } from '../../../src/store/lock-collection.js';
import { testProvider, useOwnServer } from '../../support/test-provider.js';

useOwnServer();

describe('a read of documents that do not fit into one answer', () => {
  it('returns each of them, and none for a name without a document', async () => {
    const { db } = await testProvider();
    const text = 'x'.repeat(1_000_000);
    const names = Array.from({ length: 40 }, (_, index) => `n${String(index)}`);
    const stored = db.collection<{ _id: string; text: string }>('distributed.locks');
    for (const name of names) await stored.insertOne({ _id: name, text });
    const collection = new LockCollection(
      db,
      parseProviderOptions({ storeTimeoutMs: 60_000 }),
      systemClock,
      () => undefined,
    );
    const read = await collection.read([...names, 'missing'], { text: 1 }, 'local');
    collection.close();
    expect(read.type === 'done' ? read.value.map(({ _id }) => String(_id)).sort() : read).toEqual(
      [...names].sort(),
    );
  });
});
