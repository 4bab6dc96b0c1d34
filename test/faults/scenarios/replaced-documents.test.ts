import { Long } from 'mongodb';
import { expect, it } from 'vitest';

import { OwnDatabase } from '../../support/test-provider.js';
import { eventually, later, within } from '../../../lab/patience.js';
import { keepListening, untilWaiting } from '../../support/waiters.js';

/** A lease so long that no waiter looks during the test: a grant that no event reports is missed. */
const OPTIONS = { leaseMs: 120_000, createIndexes: false };

interface Stored {
  readonly _id: string;
  readonly fence: number;
  readonly queue: Readonly<Record<string, { readonly process: string; readonly since: Date }>>;
}

it('a waiter hears of its grant even if the oplog has the update as a whole document (E13)', async () => {
  await using database = new OwnDatabase();
  const waiting = database.client();
  const [here, there] = [database.client().provider(OPTIONS), waiting.provider(OPTIONS)];
  // Kept until the end, because a handle that is garbage-collected is released.
  const first = await here.acquireMutex('x');
  const stopListening = await keepListening(here, there);
  const wait = later(there.acquireMutex('x'));
  await untilWaiting(here, 'x');
  // The fast path, which finds the lock taken, and the transition.
  expect(waiting.countFor('x')).toBe(2);

  // The test writes the hand-over itself: MongoDB 6.0 logs that of the library as a difference, whatever its size.
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
    // A difference cannot say that fields are in another order.
    const reordered = Object.fromEntries(Object.entries({ ...stored, ...after }).reverse());
    await locks.replaceOne({ _id: 'x' }, reordered as unknown as Stored, {
      writeConcern: { w: 'majority' },
    });
    expect((await replaced).operationType).toBe('replace');
  } finally {
    await events.close();
  }
  const hold = await within(10_000, 'it hears of its grant', wait);
  expect(hold.fencingToken).toBe(token);
  expect(waiting.countFor('x')).toBe(2);
  expect(await hold.release()).toBe(true);
  await first.release();
  await stopListening();
});
