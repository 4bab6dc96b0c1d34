import type { Document } from 'mongodb';
import { expect, it } from 'vitest';

import { CorruptLockDocumentError } from '../../../src/index.js';
import type { StoreErrorEvent } from '../../../src/index.js';
import { OwnDatabase } from '../../support/test-provider.js';

/** More than two pages. */
const COUNT = 230;

const nameOf = (index: number): string => `p:${String(index).padStart(3, '0')}`;

const names = Array.from({ length: COUNT }, (_, index) => nameOf(index));

async function listed(snapshots: AsyncIterable<{ readonly name: string }>): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { name } of snapshots) found.push(name);
  return found;
}

it('list() returns each lock with the prefix once, in order and over pages, and reports a corrupt one', async () => {
  await using database = new OwnDatabase();
  const own = database.client();
  const locks = own.provider({ createIndexes: false });
  const hold = await locks.acquireMutex(nameOf(0));
  await (await locks.acquireMutex('template')).release();
  const stored = database.plain.db.collection<Document & { _id: string }>('distributed.locks');
  // Read without conversion: a long that is read as a number would be written back as another type.
  const raw = { promoteValues: false, promoteLongs: false };
  const held = await stored.findOne({ _id: nameOf(0) }, raw);
  const idle = await stored.findOne({ _id: 'template' }, raw);
  if (held === null || idle === null) throw new Error('nothing is stored');
  const beside = ['o', 'p', 'p9', 'p;', 'q'];
  await stored.insertMany([...names.slice(1), ...beside].map((_id) => ({ ...idle, _id })));
  await stored.replaceOne({ _id: nameOf(COUNT - 1) }, { ...held, _id: nameOf(COUNT - 1) });
  const corrupt = nameOf(115);
  await stored.updateOne({ _id: corrupt }, { $set: { holder: 7 } });
  const errors: StoreErrorEvent[] = [];
  locks.on('storeError', (event) => errors.push(event));

  expect(await listed(locks.list({ prefix: 'p:' }))).toEqual(names.filter((name) => name !== corrupt));
  expect(errors).toMatchObject([{ lockName: corrupt, during: 'list' }]);
  expect(errors[0]?.error).toBeInstanceOf(CorruptLockDocumentError);

  expect(await listed(locks.list({ prefix: 'p:', heldOnly: true }))).toEqual([nameOf(0), nameOf(COUNT - 1)]);
  expect(await listed(locks.list({ prefix: 'p:', kind: 'semaphore' }))).toEqual([]);
  expect(await listed(locks.list({ prefix: 'p;' }))).toEqual(['p;']);
  expect(await listed(locks.list())).toHaveLength(COUNT - 1 + beside.length + 1);
  await hold.release();
});
