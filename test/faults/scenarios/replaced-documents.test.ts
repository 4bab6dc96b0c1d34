import { Long } from 'mongodb';
import { expect, inject, it } from 'vitest';

import { OwnDatabase } from '../../support/own-database.js';
import { eventually, later, within } from '../../../lab/patience.js';

/** Nobody looks by itself while the test lasts: who hears nothing waits. */
const OPTIONS = { leaseMs: 120_000, createIndexes: false };

interface Stored {
  readonly _id: string;
  readonly fence: number;
  readonly queue: Readonly<Record<string, { readonly process: string; readonly since: Date }>>;
}

it('who is granted by an update that the oplog holds as a whole document hears of it, too (E13)', async () => {
  await using database = new OwnDatabase(inject('mongoUri'));
  const waiting = database.client();
  const [here, there] = [database.client().provider(OPTIONS), waiting.provider(OPTIONS)];
  // Kept until the end: a handle that is forgotten is given back.
  const first = await here.acquireMutex('x');
  const wait = later(there.acquireMutex('x'));
  await eventually('it waits', async () => (await here.inspect('x'))?.waiters.length === 1);
  // The look after the opening of the stream is over.
  await eventually('nothing is on its way', () => waiting.count('findAndModify') === 2);

  // The hand-over, made by hand: MongoDB 6.0 logs that of the library as a difference, whatever its size.
  const locks = database.plain.db.collection<Stored>('distributed.locks');
  const stored = await locks.findOne({ _id: 'x' });
  const [[id, { since, ...waiter }]] = Object.entries(stored?.queue ?? {}) as [
    [string, Stored['queue'][string]],
  ];
  const token = (stored?.fence ?? 0) + 1;
  const holder = { id, ...waiter, token: Long.fromNumber(token), acquiredAt: since };
  const after = {
    holder,
    fence: Long.fromNumber(token),
    queue: {},
    wake: ` ${waiter.process}:${id}:${token}`,
  };
  const events = locks.watch();
  try {
    const replaced = events.next();
    await eventually('the other stream is open', () => events.resumeToken !== undefined);
    await locks.replaceOne({ _id: 'x' }, { ...stored, ...after } as unknown as Stored, {
      writeConcern: { w: 'majority' },
    });
    expect((await replaced).operationType).toBe('replace');
  } finally {
    await events.close();
  }
  const hold = await within(10_000, 'it hears of it', wait);
  expect(hold.fencingToken).toBe(token);
  expect(waiting.count('findAndModify')).toBe(2);
  expect(await hold.release()).toBe(true);
  await first.release();
});
