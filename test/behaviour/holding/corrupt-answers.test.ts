import fc from 'fast-check';
import { Double, Int32, Long } from 'mongodb';
import { describe, expect, it } from 'vitest';
import type { LockProvider, Semaphore } from '../../../src/index.js';
import { wellFormedProjection } from '../../../src/protocol/pipeline/verdict.js';
import { corruptionsOf, idleDocument, lockDocument, withValue } from '../../model/documents/corruptions.js';
import type { StoredDocument } from '../../model/documents/lock-document-driver.js';
import { ELECTION, MUTEX, READER_WRITER, SEMAPHORE } from '../../model/documents/lock-kinds.js';
import { OwnDatabase, randomName } from '../../support/test-provider.js';
import { rejection, within } from '../../../lab/patience.js';
import { drawSeed } from '../../support/seed.js';

const OPTIONS = { leaseMs: 60_000, createIndexes: false };
const CORRUPT = { code: 'CORRUPT_LOCK_DOCUMENT' };
const past = new Date(Date.now() - 60_000);
const dead = { holdersEnd: past, waitersEnd: past };

type Call = (locks: LockProvider, name: string) => Promise<unknown>;

const semaphore = (locks: LockProvider, name: string): Semaphore => locks.createSemaphore(name, 3);
const follower = (locks: LockProvider, name: string): Semaphore =>
  locks.createSemaphore(name, 7, { whenLimitDiffers: 'follow' });
const candidate = (locks: LockProvider, name: string): Promise<void> =>
  locks.createLeaderElection(name, { candidateId: 'z' }).start();

const CALLS = {
  mutex: {
    acquire: (locks, name) => locks.acquireMutex(name),
    tryAcquire: (locks, name) => locks.tryAcquireMutex(name),
    inspect: (locks, name) => locks.inspect(name),
    revoke: (locks, name) => locks.revoke(name),
  },
  'reader-writer': {
    acquireRead: (locks, name) => locks.createReaderWriterLock(name).acquireRead(),
    acquireWrite: (locks, name) => locks.createReaderWriterLock(name).acquireWrite(),
    tryAcquireRead: (locks, name) => locks.createReaderWriterLock(name).tryAcquireRead(),
    tryAcquireUpgradeableRead: (locks, name) =>
      locks.createReaderWriterLock(name).tryAcquireUpgradeableRead(),
    tryAcquireWrite: (locks, name) => locks.createReaderWriterLock(name).tryAcquireWrite(),
  },
  semaphore: {
    acquire: (locks, name) => semaphore(locks, name).acquire(),
    tryAcquire: (locks, name) => semaphore(locks, name).tryAcquire(),
    follow: (locks, name) => follower(locks, name).tryAcquire({ permits: 2 }),
    overwrite: (locks, name) =>
      locks.createSemaphore(name, 9, { whenLimitDiffers: 'resize' }).tryAcquire({ permits: 2 }),
    available: (locks, name) => semaphore(locks, name).available(),
    resizeToTheSame: (locks, name) => semaphore(locks, name).resize(3),
    resize: (locks, name) => semaphore(locks, name).resize(4),
  },
  election: { start: candidate },
} satisfies Readonly<Record<string, Readonly<Record<string, Call>>>>;

/** The same lock with live leases and places, with expired ones, and with none. */
const BASES = [
  (kind: keyof typeof CALLS, name: string) => lockDocument(kind, name),
  (kind: keyof typeof CALLS, name: string) => lockDocument(kind, name, dead),
  (kind: keyof typeof CALLS, name: string) => idleDocument(kind, name),
];

describe.each([
  ['mutex', MUTEX],
  ['reader-writer', READER_WRITER],
  ['semaphore', SEMAPHORE],
  ['election', ELECTION],
] as const)('a corrupt document of a %s', (kind, { rules }) => {
  it('makes every call fail with CORRUPT_LOCK_DOCUMENT, whichever part of it is corrupt', async () => {
    await using database = new OwnDatabase();
    const locks = database.client().provider(OPTIONS);
    const stored = database.plain.db.collection<StoredDocument>('distributed.locks');
    const calls: readonly (readonly [string, Call])[] = Object.entries(CALLS[kind]);
    const property = fc.asyncProperty(
      fc.constantFrom(...corruptionsOf(kind)),
      fc.constantFrom(...BASES),
      fc.constantFrom(...calls),
      async ({ path, value, words }, make, [what, call]) => {
        const name = randomName('lock');
        await stored.insertOne(withValue(make(kind, name), path, value));
        const found = await stored.findOne({ _id: name }, { projection: wellFormedProjection(rules) });
        // Some values that corrupt a document with holders or waiters are harmless in an idle one.
        if (found?.['isWellFormed'] === true) return;
        const asked = within(20_000, what, call(locks, name));
        expect(await rejection(asked), `${words}: ${what}`).toMatchObject(CORRUPT);
      },
    );
    await fc.assert(property, { seed: drawSeed(`corrupt answers, ${kind}`), numRuns: 150 });
  });
});

describe('a semaphore', () => {
  it.each([-1, 0, NaN, 2.5])('learns nothing from a stored limit of %s', async (limit) => {
    await using database = new OwnDatabase();
    const locks = database.client().provider(OPTIONS);
    const stored = database.plain.db.collection<StoredDocument>('distributed.locks');
    await stored.insertOne(withValue(idleDocument('semaphore', 's'), 'limit', new Double(limit)));
    for (const whenLimitDiffers of ['throw', 'follow', 'resize'] as const) {
      const permits = locks.createSemaphore('s', 3, { whenLimitDiffers });
      expect(await rejection(permits.tryAcquire())).toMatchObject(CORRUPT);
      expect(await rejection(permits.acquire())).toMatchObject(CORRUPT);
      expect(await rejection(permits.acquire({ permits: 2 }))).toMatchObject(CORRUPT);
      expect(await rejection(permits.available())).toMatchObject(CORRUPT);
      expect(await rejection(permits.resize(5))).toMatchObject(CORRUPT);
      expect(permits.limit).toBe(3);
    }
    const permits = locks.createSemaphore('s', 3);
    expect(await rejection(permits.tryAcquire())).toMatchObject(CORRUPT);
    await stored.updateOne({ _id: 's' }, { $set: { limit: new Int32(3) } });
    const permit = await permits.acquire({ permits: 2 });
    expect(await permits.available()).toBe(1);
    await permit.release();
  });

  it.each([
    ['negative permits', { permits: new Int32(-1) }],
    ['permits that are no number', { permits: new Double(NaN) }],
    ['a token that is no long', { token: new Double(5_000_000) }],
  ])('with holders of %s is no busy one', async (_, corrupt) => {
    await using database = new OwnDatabase();
    const locks = database.client().provider(OPTIONS);
    const stored = database.plain.db.collection<StoredDocument>('distributed.locks');
    const healthy = lockDocument('semaphore', 's');
    const [first, second] = healthy['holders'] as readonly object[];
    const holders = [first, { ...second, ...corrupt }];
    await stored.insertOne({ ...healthy, fence: Long.fromNumber(6_000_000), holders, queue: {} });
    const permits = locks.createSemaphore('s', 3);
    expect(await rejection(permits.tryAcquire())).toMatchObject(CORRUPT);
    expect(await rejection(permits.tryAcquire({ timeoutMs: 60_000 }))).toMatchObject(CORRUPT);
  });
});
