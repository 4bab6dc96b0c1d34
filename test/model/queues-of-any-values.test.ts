import fc from 'fast-check';
import { BSONRegExp, BSONSymbol, Binary, Code, Decimal128, Double, Int32, Long } from 'mongodb';
import { MaxKey, MinKey, ObjectId, Timestamp } from 'mongodb';
import { afterAll, describe, expect, inject, it } from 'vitest';

import { STORED_WAITERS } from '../../src/protocol/expressions.js';
import { withPlaces } from '../../src/protocol/pipeline/places.js';
import { transition } from '../../src/protocol/pipeline/transition.js';
import { isWellFormed, isWellFormedWithPlaces } from '../../src/protocol/pipeline/verdict.js';
import type { KindRules } from '../../src/protocol/kind-rules.js';
import { byBreadth } from '../support/breadth.js';
import { MISSING, lockDocument, withValue } from './documents/corruptions.js';
import { LockDocumentDriver } from './documents/lock-document-driver.js';
import type { StoredDocument } from './documents/lock-document-driver.js';
import { KINDS } from './documents/lock-kinds.js';
import { cancel } from './documents/operations.js';
import { haveWaitersOneByOne } from './documents/waiters-one-by-one.js';
import { drawSeed } from '../support/seed.js';

const far = new Date(Date.now() + 3_600_000);

/** Values for any field of a waiter: right ones, the ends of ranges, and every type that the driver can write. */
const VALUES: readonly unknown[] = [
  ...[MISSING, null, '', 'p0', 'read', 'write', 'upgradeable', 'Read', true, false],
  ...[new BSONSymbol(''), new BSONSymbol('p0'), new BSONSymbol('read'), new Code('p0'), new BSONRegExp('p0')],
  ...[-1, 0, 1, 99, 100, 30_000, 1_000, 1_001, 86_399_999, 86_400_000, 86_400_001].flatMap((value) => [
    new Int32(value),
    new Double(value),
    Long.fromNumber(value),
    Decimal128.fromString(String(value)),
  ]),
  ...[0.5, 30_000.5, 1e300, NaN, Infinity, -Infinity].map((value) => new Double(value)),
  ...['NaN', '-Infinity', '1E+6144'].map((text) => Decimal128.fromString(text)),
  ...[new Int32(2_147_483_647), new Int32(-2_147_483_648), Long.MAX_VALUE, Long.MIN_VALUE],
  ...[far, new Date(0), new Date(-1), new Date(8.64e15), new Date(-8.64e15), new Timestamp({ t: 1, i: 1 })],
  ...[new Binary(new Uint8Array(4)), new ObjectId(), new MinKey(), new MaxKey()],
  ...[[], [null], ['p0'], [new Int32(30_000)], [far], [[]], {}, { process: 'p0' }, { $date: far }],
];

/** Values in place of a whole waiter. */
const WHOLE: readonly unknown[] = [
  ...[null, 'x', new Int32(7), true, far, [], {}, ['x'], [[]], [{}, {}], { v: { process: 'p0' } }],
  [{ process: 'p0', leaseMs: new Int32(30_000), expiresAt: far }],
];

const FIELDS = [
  ...(['process', 'leaseMs', 'expiresAt', 'since', 'keeps', 'mode', 'permits'] as const),
  ...(['candidateId', 'value', 'transitionMs', 'foreign'] as const),
];

interface Change {
  /** The field of the waiter; null: the whole waiter. */
  readonly field: string | null;
  readonly value: unknown;
}

const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({ field: fc.constantFrom(...FIELDS), value: fc.constantFrom(...VALUES) }),
  },
  { weight: 1, arbitrary: fc.record({ field: fc.constant(null), value: fc.constantFrom(...WHOLE) }) },
);

/** A queue of some length, and changes of some places. */
const queue = fc
  .integer({ min: 0, max: 30 })
  .chain((length) =>
    fc.tuple(
      fc.constant(length),
      fc.array(fc.tuple(fc.nat(Math.max(0, length - 1)), change), { maxLength: length === 0 ? 0 : 4 }),
    ),
  );

/** A text that no transition leaves in `wake`. */
const UNTOUCHED = 'untouched';

/** How one document is judged: in a read, in an update, and by a transition, which changes it if it is well-formed. */
interface Judged {
  readonly _id: string;
  readonly inRead: Readonly<Record<'oneByOne' | 'asBuilt', boolean>>;
  readonly inUpdate: Readonly<Record<'oneByOne' | 'asBuilt' | 'inTransition', boolean>>;
  readonly isChanged: boolean;
}

/** The server optimizes the expressions of a read, and runs those of an update as they are. */
async function judge(driver: LockDocumentDriver, rules: KindRules): Promise<readonly Judged[]> {
  const verdicts = { oneByOne: haveWaitersOneByOne(rules.kind), asBuilt: isWellFormed(rules) };
  const inTransition = withPlaces(STORED_WAITERS, isWellFormedWithPlaces(rules));
  await driver.collection.updateMany({}, [
    { $set: { inUpdate: { ...verdicts, inTransition }, wake: UNTOUCHED } },
  ]);
  await driver.collection.updateMany({}, [...transition(rules, [cancel('wother')])]);
  const isChanged = { $ne: ['$wake', UNTOUCHED] };
  const projection = { inRead: verdicts, inUpdate: 1, isChanged };
  return (await driver.collection.find({}, { projection }).toArray()) as unknown as readonly Judged[];
}

const NUM_QUEUES = byBreadth(250, 5_000);

/** The documents that are judged at a time. */
const BATCH = 500;

describe.each(KINDS)('the queue of a $rules.kind document', ({ rules }) => {
  const driver = new LockDocumentDriver(inject('mongoUri'), rules);

  afterAll(() => driver[Symbol.asyncDispose]());

  function documentWith(length: number, changes: readonly (readonly [number, Change])[]): StoredDocument {
    const document = lockDocument(rules.kind, driver.newName());
    const waiters: readonly unknown[] = Object.values(document['queue'] as object);
    const places = Array.from({ length }, (_, at) => [`w${at}`, waiters[at % waiters.length]] as const);
    return changes.reduce<StoredDocument>(
      (changed, [at, { field, value }]) =>
        withValue(changed, field === null ? `queue.w${at}` : `queue.w${at}.${field}`, value),
      { ...document, queue: Object.fromEntries(places) },
    );
  }

  /** Returns how many of the documents are well-formed. */
  async function compare(documents: readonly StoredDocument[]): Promise<number> {
    let legal = 0;
    const wrong: string[] = [];
    for (let from = 0; from < documents.length; from += BATCH) {
      const batch = documents.slice(from, from + BATCH);
      await driver.collection.deleteMany({});
      await driver.collection.insertMany([...batch]);
      for (const { _id, inRead, inUpdate, isChanged } of await judge(driver, rules)) {
        const isLegal = inUpdate.oneByOne;
        const others = [inRead.oneByOne, inRead.asBuilt, inUpdate.asBuilt, inUpdate.inTransition, isChanged];
        if (isLegal) legal += 1;
        if (others.every((verdict) => verdict === isLegal)) continue;
        const stored = batch.find((document) => document._id === _id);
        wrong.push(`${String(isLegal)} but ${others.join()}: ${JSON.stringify(stored?.['queue'])}`);
      }
    }
    expect(wrong).toEqual([]);
    return legal;
  }

  it('is well-formed exactly if each of its places is, whatever is stored', async () => {
    const seed = drawSeed(`queues, ${rules.kind}`);
    const drawn = fc.sample(queue, { seed, numRuns: NUM_QUEUES });
    const legal = await compare(drawn.map(([length, changes]) => documentWith(length, changes)));
    // Otherwise the comparison would prove little.
    expect(legal).toBeGreaterThan(NUM_QUEUES / 20);
    expect(legal).toBeLessThan((NUM_QUEUES * 19) / 20);
  });

  it('is well-formed exactly if one place among 40 is, for every value in every field', async () => {
    const changes = [
      ...FIELDS.flatMap((field) => VALUES.map((value): Change => ({ field, value }))),
      ...WHOLE.map((value): Change => ({ field: null, value })),
    ];
    const legal = await compare(changes.map((each) => documentWith(40, [[23, each]])));
    expect(legal).toBeGreaterThan(0);
    expect(legal).toBeLessThan(changes.length);
  });
});
