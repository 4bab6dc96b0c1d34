import { MongoClient } from 'mongodb';
import { describe, expect, it } from 'vitest';

import { LockProvider } from '../../../src/index.js';
import { thrown } from '../../../lab/patience.js';

/** A client that connects to no server: a wrong name is rejected before anything is sent. */
const client = new MongoClient('mongodb://127.0.0.1:1');

const errorFor = (database: string, collectionName: string): unknown =>
  thrown(() => new LockProvider(client.db(database), { collectionName }));

describe('the name of the collection', () => {
  it('must not begin with a dot', () => {
    const error = errorFor('app', '.locks');
    expect(error).toBeInstanceOf(RangeError);
    expect((error as Error).message).toBe(
      'collectionName must be a legal name of a collection, got ".locks"',
    );
    expect(() => new LockProvider(client.db('app'), { collectionName: 'a.locks' })).not.toThrow();
  });

  it('is shown whole in the error if the namespace has too many bytes but few characters', () => {
    const collection = '鍵'.repeat(100);
    const error = errorFor('app', collection);
    expect(error).toBeInstanceOf(RangeError);
    expect((error as Error).message).toContain(`got 304 for "app.${collection}"`);
  });

  it('is cut in the error if it is long, and the error shows that', () => {
    const error = errorFor('app', 'c'.repeat(300));
    expect((error as Error).message).toMatch(/got 304 for "app\.c{196}…"$/);
  });
});
