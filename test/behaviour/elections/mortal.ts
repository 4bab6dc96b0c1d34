import { MongoClient } from 'mongodb';
import { inject } from 'vitest';
import { whenTestEnds } from '../../support/current-test.js';
import { LockProvider } from '../../../src/index.js';

/** A provider whose `die()` cuts it off from the store, as if its process had been killed. */
export function mortal(
  database: string,
  leaseMs: number,
): { readonly locks: LockProvider; die: () => Promise<void> } {
  const client = new MongoClient(inject('mongoUri'));
  const locks = new LockProvider(client.db(database), { leaseMs });
  whenTestEnds(async () => {
    await client.close();
    await locks.close({ drainMs: 0 });
  });
  return {
    locks,
    die: async () => {
      await client.close();
    },
  };
}
