import { expect, test } from 'vitest';

import { fencedTransaction, fencedUpdateOne, StaleTokenError } from '../../../src/index.js';
import { startAuthorizingServer } from '../../../lab/mongo-server/authorizing-server.js';
import { OwnClient, randomName } from '../../support/test-provider.js';
import { rejection } from '../../../lab/patience.js';

test('a user that may only find, insert and update can fence, and a stale token is refused', async () => {
  await using server = await startAuthorizingServer();
  const db = randomName('leasehold-test');
  const actions = ['find', 'insert', 'update'];
  const privileges = ['distributed.locks', 'distributed.fences', 'accounts'].map((collection) => ({
    resource: { db, collection },
    actions,
  }));
  await using own = new OwnClient(await server.uriOfUser('fencer', privileges), db);
  const locks = own.provider({ createIndexes: false });
  const accounts = own.db.collection<{ _id: string }>('accounts');
  const stale = await locks.acquireMutex('x');
  await stale.release();
  const newer = await locks.acquireMutex('x');

  const fence = (lock: typeof stale): Promise<void> =>
    fencedTransaction(
      own.client,
      lock,
      async (session) => {
        await fencedUpdateOne(accounts, { _id: 'a' }, { $set: {} }, lock, { session, upsert: true });
      },
      { databaseName: db },
    );
  await fence(newer);
  expect(await rejection(fence(stale))).toBeInstanceOf(StaleTokenError);
  const written = fencedUpdateOne(accounts, { _id: 'a' }, { $set: {} }, stale);
  expect(await rejection(written)).toBeInstanceOf(StaleTokenError);
});
