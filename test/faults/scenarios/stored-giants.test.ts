import { BSON, Int32, Long } from 'mongodb';
import type { Collection } from 'mongodb';
import { describe, expect, it } from 'vitest';

import { LeaseholdError } from '../../../src/index.js';
import type { LockProvider } from '../../../src/index.js';
import { idleDocument, lockDocument } from '../../model/documents/corruptions.js';
import { ownDatabase, useOwnServer } from '../../support/test-provider.js';
import { within } from '../../../lab/patience.js';

type Locks = Collection<{ _id: string }>;
type Json = Readonly<Record<string, unknown>>;

const far = new Date(Date.now() + 3_600_000);

const waiters = (count: number, own: object): Json => {
  const waiter = { process: 'p', leaseMs: new Int32(30_000), since: far, expiresAt: far, ...own };
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`w${index}`, waiter]));
};

const holders = (count: number): unknown[] =>
  Array.from({ length: count }, (_, index) => ({
    id: `h${index}`,
    process: 'p',
    token: Long.fromNumber(5_000_000),
    ...{ leaseMs: new Int32(30_000), acquiredAt: far, expiresAt: far, permits: new Int32(1) },
  }));

const MAX_BYTES = 16 * 1_024 * 1_024;

/** The document, filled up to this many bytes below the maximum. */
const filled = (document: Json, leftBytes: number): Json => {
  const bytes = MAX_BYTES - BSON.calculateObjectSize({ ...document, padding: '' }) - leftBytes;
  return { ...document, padding: 'x'.repeat(bytes) };
};

interface Giant {
  readonly make: (name: string) => Json;
  /** The codes that a request may be refused with. No request may be granted. */
  readonly codes: RegExp;
}

const GIANTS: Readonly<Record<string, Giant>> = {
  '100,000 waiters': {
    make: (name) => ({ ...lockDocument('mutex', name), queue: waiters(100_000, {}) }),
    codes: /QUEUE_FULL|STORE_UNAVAILABLE|ACQUIRE_TIMEOUT/,
  },
  '10,000 holders': {
    make: (name) => ({
      ...idleDocument('semaphore', name),
      ...{ limit: new Int32(10_000), holders: holders(10_000) },
    }),
    codes: /QUEUE_FULL|STORE_UNAVAILABLE|ACQUIRE_TIMEOUT/,
  },
  '16 MB of other data': {
    make: (name) => filled(idleDocument('mutex', name), 50),
    codes: /QUEUE_FULL/,
  },
  '16 MB of other data (as a semaphore)': {
    make: (name) => filled(idleDocument('semaphore', name), 50),
    codes: /QUEUE_FULL/,
  },
};

const STORE_TIMEOUT_MS = 2_000;

/** The most that one call may take: the bound of the store, its cancel, and what the machine adds. */
const BOUND_MS = STORE_TIMEOUT_MS + 15_000;

const requestsOf = (
  kind: unknown,
  locks: LockProvider,
  name: string,
): Readonly<Record<string, () => Promise<unknown>>> => {
  const lock = kind === 'mutex' ? locks.createMutex(name) : locks.createSemaphore(name, 10_000);
  return {
    try: () => lock.tryAcquire(),
    acquire: () => lock.acquire({ timeoutMs: 1_000 }),
    inspect: () => locks.inspect(name),
  };
};

useOwnServer();

describe('a document with', () => {
  it.each(Object.entries(GIANTS))(
    '%s is answered in a bounded time, and no request is granted',
    async (what, giant) => {
      const database = ownDatabase();
      const locks = database.client().provider({ storeTimeoutMs: STORE_TIMEOUT_MS, createIndexes: false });
      const stored: Locks = database.plain.db.collection('distributed.locks');
      const document = giant.make('x');
      await stored.insertOne(document as { _id: string });
      const sizeOf = async (): Promise<number> => {
        const [found] = await stored.aggregate([{ $project: { size: { $bsonSize: '$$ROOT' } } }]).toArray();
        return Number(found?.['size']);
      };
      const before = await sizeOf();
      const told: string[] = [];
      for (const [asked, ask] of Object.entries(requestsOf(document['kind'], locks, 'x'))) {
        const startedMs = performance.now();
        const answer = await within(BOUND_MS, `${asked} with ${what}`, ask()).catch(
          (error: unknown) => error,
        );
        told.push(
          `${asked} ${(performance.now() - startedMs).toFixed(0)} ms: ${answer instanceof Error ? answer.message.slice(0, 90) : typeof answer}`,
        );
        if (answer instanceof Error) expect(answer).toBeInstanceOf(LeaseholdError);
        else expect(answer ?? {}).not.toHaveProperty('release');
        if (asked === 'acquire') expect((answer as { code?: string }).code).toMatch(giant.codes);
      }
      console.log(`${what}, ${(before / 1e6).toFixed(1)} MB\n  ${told.join('\n  ')}`);
      expect(Math.abs((await sizeOf()) - before)).toBeLessThan(2_000);
      // A revocation marks every lease if there is time and room for that, and removes none.
      const revoked = await within(BOUND_MS, 'revoke', locks.revoke('x')).catch((error: unknown) => error);
      if (revoked instanceof Error) expect(revoked).toBeInstanceOf(LeaseholdError);
      expect((await sizeOf()) - before).toBeGreaterThan(-2_000);
      // Other locks still work.
      const startedMs = performance.now();
      await (await locks.acquireMutex('y')).release();
      expect(performance.now() - startedMs).toBeLessThan(BOUND_MS);
    },
  );

  it('no room for another byte can still be extended and released by its holder', async () => {
    const database = ownDatabase();
    const locks = database.client().provider({ createIndexes: false });
    const stored: Locks = database.plain.db.collection('distributed.locks');
    const hold = await locks.acquireMutex('x');
    const document = (await stored.findOne({ _id: 'x' }, { promoteValues: false })) as unknown as Json;
    // Two writes: one that replaces it is too large for the cache of a small server.
    await stored.deleteOne({ _id: 'x' });
    await stored.insertOne(filled(document, 0) as { _id: string });
    await within(BOUND_MS, 'the extension', hold.confirm());
    expect(await within(BOUND_MS, 'the release', hold.release())).toBe(true);
    expect((await stored.findOne({ _id: 'x' }, { projection: { holder: 1 } })) as unknown).toEqual({
      _id: 'x',
      holder: null,
    });
  });
});
