import type { Db, Document, RunCommandOptions } from 'mongodb';
import { expect, it } from 'vitest';

import { LockProvider, UnsupportedServerError } from '../../../src/index.js';
import { OwnDatabase } from '../../support/test-provider.js';
import { later, rejection, within } from '../../../lab/patience.js';
import { withMethods } from '../../support/with-methods.js';

/** That of MongoDB 4.4. That of 5.0 is 13. */
const OLD_WIRE_VERSION = 9;

/** The same database, but its server claims this wire version. */
function agedBy(db: Db, maxWireVersion: number): Db {
  return withMethods(db, {
    command: async (sent: Document, options?: RunCommandOptions): Promise<Document> => {
      const reply = await db.command(sent, options);
      return 'hello' in sent ? { ...reply, maxWireVersion } : reply;
    },
  });
}

it.each(['auto', 'change-stream', 'polling'] as const)(
  'on a server older than MongoDB 5.0, a request fails with an error that names 5.0, and sends no update (wakeups: %s)',
  async (wakeups) => {
    await using database = new OwnDatabase();
    const own = database.client();
    const options = { wakeups, createIndexes: false };
    const old = new LockProvider(agedBy(own.db, OLD_WIRE_VERSION), options);
    const refused = await within(20_000, 'the refusal', rejection(later(old.acquireMutex('a'))));
    expect(refused).toBeInstanceOf(UnsupportedServerError);
    expect(String(refused)).toContain('5.0');
    expect(await rejection(later(old.tryAcquireMutex('a')))).toBeInstanceOf(UnsupportedServerError);
    expect(own.count('findAndModify')).toBe(0);
    await old.close();

    const current = new LockProvider(agedBy(own.db, 13), options);
    expect(await (await current.acquireMutex('a')).release()).toBe(true);
    await current.close();
  },
);
