import type { Db, Document } from 'mongodb';
import { expect, it } from 'vitest';

import { LockProvider, UnsupportedServerError } from '../../../src/index.js';
import { OwnDatabase } from '../../support/test-provider.js';
import { later, rejection, within } from '../../../lab/patience.js';

/** That of MongoDB 4.4. That of 5.0 is 13. */
const OLD_WIRE_VERSION = 9;

/** The same database, but its server claims this wire version. */
function agedBy(db: Db, maxWireVersion: number): Db {
  const command = db.command.bind(db);
  return new Proxy(db, {
    get: (target, key) => {
      if (key !== 'command') return Reflect.get(target, key, target) as unknown;
      return async (sent: Document, ...options: unknown[]): Promise<Document> => {
        const reply = (await Reflect.apply(command, db, [sent, ...options])) as Document;
        return 'hello' in sent ? { ...reply, maxWireVersion } : reply;
      };
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
