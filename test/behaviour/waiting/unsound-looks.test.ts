import { Long } from 'mongodb';
import { expect, it } from 'vitest';
import { eventually, later, rejection } from '../../../lab/patience.js';
import { twoProviders } from '../../support/test-provider.js';

const OPTIONS = { leaseMs: 3_000, createIndexes: false };

it.each([
  ['a negative token', { token: Long.fromNumber(-7) }],
  ['a token above the fence', {}],
])(
  'a look grants nothing if a corrupt document shows the attempt in the seat with %s',
  async (_, corrupt) => {
    const [holder, waiter] = await twoProviders(OPTIONS);
    const lock = await holder.locks.acquireMutex('a');
    const waiting = later(waiter.locks.acquireMutex('a'));
    const id = await eventually('it waits', async () => {
      const queue = ((await holder.document('a'))?.['queue'] ?? {}) as object;
      return Object.keys(queue)[0];
    });
    await holder.tamper('a', [
      {
        $set: {
          queue: { $literal: {} },
          holder: {
            $mergeObjects: [
              '$holder',
              {
                id,
                process: waiter.locks.processId,
                token: { $toLong: { $add: ['$fence', 10] } },
                expiresAt: { $add: ['$$NOW', 60_000] },
                ...corrupt,
              },
            ],
          },
        },
      },
    ]);
    expect(await rejection(waiting)).toMatchObject({ code: 'CORRUPT_LOCK_DOCUMENT' });
    await lock.release();
  },
);
