import { describe, expect, it } from 'vitest';

import { QueueFullError } from '../../../src/index.js';
import type { Hold, LockProvider } from '../../../src/index.js';
import { OwnDatabase } from '../../support/test-provider.js';
import { eventually, later, rejection, within } from '../../../lab/patience.js';

const KINDS: Readonly<Record<string, (locks: LockProvider) => Promise<Hold>>> = {
  mutex: (locks) => locks.acquireMutex('a'),
  'write lock': (locks) => locks.createReaderWriterLock('a').acquireWrite(),
  'semaphore of one': (locks) => locks.createSemaphore('a', 1).acquire(),
};

describe.concurrent.each(Object.entries(KINDS))(
  'a %s with as many members as maxMembers allows',
  (_, acquire) => {
    it('rejects another request at once with a QueueFullError, and accepts one when a member has left', async () => {
      await using database = new OwnDatabase();
      const options = { maxMembers: 3, createIndexes: false };
      const [here, there] = [database.client().provider(options), database.client().provider(options)];
      const membersOf = async (): Promise<number> => {
        const snapshot = await here.inspect('a');
        return (snapshot?.holders.length ?? 0) + (snapshot?.waiters.length ?? 0);
      };
      const hold = await acquire(here);
      const waits = [later(acquire(here)), later(acquire(there))];
      await eventually('two wait', async (see) => see(await membersOf()) === 3);

      for (const locks of [here, there]) {
        const error = await within(20_000, 'the refusal', rejection(acquire(locks)));
        expect(error).toBeInstanceOf(QueueFullError);
        expect(error).toMatchObject({ code: 'QUEUE_FULL', lockName: 'a' });
        expect(String(error)).toContain('3');
      }
      expect(await membersOf()).toBe(3);

      expect(await hold.release()).toBe(true);
      const next = await Promise.race(waits);
      const last = later(acquire(there));
      await eventually('one more waits', async (see) => see(await membersOf()) === 3);
      await next.release();
      for (const wait of [...waits, last]) await (await within(20_000, 'the grant', wait)).release();
    });
  },
);
