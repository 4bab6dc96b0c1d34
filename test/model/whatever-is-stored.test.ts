import fc from 'fast-check';
import { BSONRegExp, Binary, Decimal128, Long, MaxKey, MinKey, ObjectId, Timestamp } from 'mongodb';
import { afterAll, describe, expect, inject, it } from 'vitest';

import { keeperProjection, readForKeeper } from '../../src/protocol/pipeline/keeper-reads.js';
import { pollProjection, readPoll } from '../../src/protocol/pipeline/polls.js';
import { byBreadth } from '../support/breadth.js';
import { MISSING, idleDocument, lockDocument, pathsOf, withValue } from './documents/corruptions.js';
import { UPDATES } from './documents/every-update.js';
import { LockDocumentDriver } from './documents/lock-document-driver.js';
import { ELECTION, MUTEX, KINDS_BY_LEASE_FIELDS, READER_WRITER, SEMAPHORE } from './documents/lock-kinds.js';
import { drawSeed } from '../support/seed.js';

const past = new Date(Date.now() - 60_000);

const scalar = fc.oneof(
  fc.constantFrom<unknown>('semaphore', 'reader-writer', 'election', 'mutex'),
  fc.constantFrom<unknown>(
    MISSING,
    null,
    true,
    '',
    'x',
    '$holder',
    '$$NOW',
    0,
    1,
    -1,
    1.5,
    NaN,
    Infinity,
    1e300,
  ),
  fc.constantFrom<unknown>(
    Long.MAX_VALUE,
    Long.MIN_VALUE,
    Long.ONE,
    new MinKey(),
    new MaxKey(),
    new ObjectId(),
  ),
  fc.constantFrom<unknown>(
    Decimal128.fromString('NaN'),
    Decimal128.fromString('30000'),
    new BSONRegExp('^w'),
  ),
  fc.constantFrom<unknown>(new Timestamp({ t: 1, i: 1 }), new Binary(new Uint8Array([1])), past),
  fc.constantFrom<unknown>(
    new Date(8.64e15),
    new Date(-8.64e15),
    new Date(Date.now() + 60_000),
    new Date(NaN),
  ),
);
const KEYS = [
  'k',
  'v',
  'id',
  'expiresAt',
  'leaseMs',
  'process',
  '$x',
  '$',
  'a.b',
  '',
  '0',
  '__proto__',
] as const;
const key = fc.constantFrom(...KEYS);
const anything = fc.oneof(
  { weight: 4, arbitrary: scalar },
  {
    weight: 1,
    arbitrary: fc.array(
      scalar.filter((value) => value !== MISSING),
      { maxLength: 3 },
    ),
  },
  {
    weight: 2,
    arbitrary: fc.dictionary(
      key,
      scalar.filter((value) => value !== MISSING),
      { maxKeys: 3 },
    ),
  },
);

/** Each attempt id meets one update in this many, on each base. No multiple of three, the number of bases. */
const ONE_IN = byBreadth(40, 8);

describe.each([
  ['mutex', MUTEX, byBreadth(25, 200)],
  ['reader-writer', READER_WRITER, byBreadth(25, 200)],
  ['semaphore', SEMAPHORE, byBreadth(25, 200)],
  ['election', ELECTION, byBreadth(25, 200)],
] as const)('a %s document with random values', (kind, { rules }, numRuns) => {
  const driver = new LockDocumentDriver(inject('mongoUri'), rules);
  const bases = [
    (name: string) => lockDocument(kind, name),
    (name: string) => lockDocument(kind, name, { holdersEnd: past, waitersEnd: past }),
    (name: string) => idleDocument(kind, name),
  ];

  afterAll(() => driver[Symbol.asyncDispose]());

  it('makes no update fail, and is left untouched if a reply calls it corrupt', async () => {
    const property = fc.asyncProperty(
      fc.constantFrom(...bases),
      fc.array(fc.tuple(fc.constantFrom(...pathsOf(kind)), anything), { minLength: 1, maxLength: 3 }),
      fc.constantFrom(...UPDATES),
      async (make, values, update) => {
        const document = values.reduce(
          (changed, [path, value]) => withValue(changed, path, value),
          make(driver.newName()),
        );
        await driver.put(document);
        const before = await driver.image(document._id);
        const { reply } = await driver.apply(document._id, update.operations, update);
        const after = await driver.image(document._id);
        if (!reply.isWellFormed) expect(after).toBe(before);
        await driver.extend(document._id, ['wh', 'w1'], 30_000, 0);
        const projection = pollProjection(KINDS_BY_LEASE_FIELDS, 'p0');
        const shown = await driver.collection.findOne({ _id: document._id }, { projection });
        if (shown !== null) readPoll(shown);
        const ofKept = keeperProjection(KINDS_BY_LEASE_FIELDS, 'p0');
        const leases = await driver.collection.findOne({ _id: document._id }, { projection: ofKept });
        if (leases !== null) readForKeeper(leases);
      },
    );
    await fc.assert(property, { seed: drawSeed(`corrupt documents, ${kind}`), numRuns });
  });

  it('makes no update fail, whatever attempt ids its queue has', async () => {
    const failures: string[] = [];
    let turn = drawSeed(`updates, ${kind}`) % ONE_IN;
    for (const attempt of KEYS) {
      for (const make of bases) {
        turn += 1;
        const first = turn % ONE_IN;
        for (const { operations, takingOver } of UPDATES.filter((_, index) => index % ONE_IN === first)) {
          const document = make(driver.newName());
          const queue = document['queue'] as Readonly<Record<string, unknown>>;
          await driver.put({ ...document, queue: { [attempt]: queue['w1'], ...queue } });
          await driver.apply(document._id, operations, { takingOver }).catch((error: unknown) => {
            failures.push(
              `${JSON.stringify(attempt)}, ${operations.map(({ type }) => type).join()}: ${String(error)}`,
            );
          });
        }
      }
    }
    expect(failures).toEqual([]);
  });
});
