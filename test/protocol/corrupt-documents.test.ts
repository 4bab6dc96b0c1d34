import fc from 'fast-check';
import { BSONRegExp, Binary, Decimal128, Long, MaxKey, MinKey, ObjectId, Timestamp } from 'mongodb';
import { afterAll, describe, expect, inject, it } from 'vitest';

import { extension, leasesProjection } from '../../src/protocol/extension.js';
import { mutexSeats } from '../../src/protocol/mutex-seats.js';
import { fateOf, refusalOf } from '../../src/protocol/reply.js';
import type { Operation } from '../../src/protocol/transition.js';
import { CORRUPTIONS, MISSING, PATHS, lockDocument, withValue } from '../support/corruptions.js';
import type { Corruption } from '../support/corruptions.js';
import { LockDocumentDriver } from '../support/lock-document-driver.js';
import type { StoredDocument } from '../support/lock-document-driver.js';
import { ask, cancel, enqueue, evict, extend, leave, requestOf, tryOnce } from '../support/operations.js';
import { drawSeed } from '../support/seed.js';

const driver = new LockDocumentDriver(inject('mongoUri'));

afterAll(() => driver[Symbol.asyncDispose]());

const past = new Date(Date.now() - 60_000);

interface Update {
  readonly operations: readonly Operation[];
  readonly adopting: boolean;
}

/** Every operation there is, each in an update of its own; all of them together; and all that may adopt. */
const updates: readonly Update[] = ((): readonly Update[] => {
  const operations = [
    ...[enqueue('w9'), tryOnce('w9'), enqueue('w1'), cancel('w1'), cancel('w9'), leave('wh'), leave('w1')],
    ...[leave('w9'), extend('wh', 'w1', 'w2'), ask('wh', 'why'), evict('wh'), ask('w1'), evict('w1')],
  ];
  const apart = operations.map((operation) => [operation]);
  const adopting = [[], [enqueue('w9')], [leave('wh')]];
  return [
    ...[[], ...apart, operations].map((each) => ({ operations: each, adopting: false })),
    ...adopting.map((each) => ({ operations: each, adopting: true })),
  ];
})();

/** The same lock with everybody alive, with everybody dead, and with nobody. */
const bases: Readonly<Record<string, (name: string) => StoredDocument>> = {
  'of the living': (name) => lockDocument(name),
  'of the dead': (name) => lockDocument(name, past, past),
  'of nobody': (name) => ({ ...lockDocument(name), holder: null, queue: {} }),
};

/** Sends every update there is to the same document; gives, in words, what failed or that a byte changed. */
async function touch(document: StoredDocument): Promise<string | undefined> {
  await driver.put(document);
  const before = await driver.image(document._id);
  for (const { operations, adopting } of updates) {
    const words = `${operations.map(({ type }) => type).join(', ')}${adopting ? ', adopting' : ''}`;
    const failure = await driver.apply(document._id, operations, { adopting }).then(
      () => undefined,
      (error: unknown) => String(error),
    );
    if (failure !== undefined) return `[${words}] fails: ${failure}`;
  }
  await driver.extend(document._id, ['wh', 'w1', 'w2'], 30_000, 900 * 86_400_000);
  const after = await driver.read(document._id);
  return (await driver.image(document._id)) === before ? undefined : `now ${JSON.stringify(after)}`;
}

/** Runs these side by side, a few at a time, and gives what each found. */
async function inLanes<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const lane = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await run(next);
  };
  await Promise.all(Array.from({ length: 8 }, lane));
}

const paths = [...new Set(CORRUPTIONS.map(({ path }) => path))];

describe('a corrupt document', () => {
  it.each(paths)('is touched by no operation: %s', { timeout: 120_000 }, async (corrupted) => {
    const touched: string[] = [];
    const corruptions = CORRUPTIONS.filter(({ path }) => path === corrupted);
    const all = Object.entries(bases).flatMap(([base, make]) =>
      corruptions.map((corruption) => ({ base, make, ...corruption })),
    );
    await inLanes(all, async ({ base, make, path, value, words }) => {
      const by = await touch(withValue(make(driver.newName()), path, value));
      if (by !== undefined) touched.push(`${base}, ${words}: ${by}`);
    });
    expect(touched).toEqual([]);
  });

  it('gives nobody the lock, and whoever looks sees that it is corrupt', async () => {
    const healthy = driver.newName();
    await driver.put(lockDocument(healthy));
    expect(await driver.isLegal(healthy)).toBe(true);
    const wrong: string[] = [];
    await inLanes(CORRUPTIONS, async ({ path, value, words }: Corruption) => {
      const name = driver.newName();
      await driver.put(withValue(lockDocument(name, past, past), path, value));
      for (const [type, request] of [
        ['enqueue', enqueue('w9')],
        ['try', tryOnce('w9')],
      ] as const) {
        const { reply } = await driver.apply(name, [request]);
        const fate = fateOf(reply, 'w9').type;
        const told = fate === 'absent' ? refusalOf(reply, mutexSeats, type, requestOf('w9')) : fate;
        const isLegal = await driver.isLegal(name);
        const isKnown = told === 'corrupt' || told === 'unexplained';
        if (!isKnown || isLegal) wrong.push(`${words}: ${type} is told ${told}, legal: ${isLegal}`);
      }
    });
    expect(wrong).toEqual([]);
  });

  it('does not keep the batched extension from the documents beside it, nor the look at them', async () => {
    const good = [driver.newName(), driver.newName()];
    const names = [good[0] ?? '', ...CORRUPTIONS.map(() => driver.newName()), good[1] ?? ''];
    for (const name of good) await driver.put(lockDocument(name, new Date(Date.now() + 5_000)));
    await inLanes([...CORRUPTIONS.entries()], ([index, { path, value }]) =>
      driver.put(withValue(lockDocument(names[index + 1] ?? ''), path, value)),
    );
    const pipeline = extension([mutexSeats], ['wh'], 30_000, 0);
    const { modifiedCount } = await driver.collection.updateMany({ _id: { $in: names } }, [...pipeline]);
    expect(modifiedCount).toBe(2);
    const found = await driver.collection
      .find({ _id: { $in: names } }, { projection: leasesProjection([mutexSeats], 'p0') })
      .toArray();
    expect(found).toHaveLength(names.length);
    for (const name of good) {
      const leases = found.find(({ _id }) => _id === name)?.['leases'] as readonly { expiresAt: Date }[];
      expect(leases[0]?.expiresAt.getTime()).toBeGreaterThan(Date.now() + 20_000);
    }
  });
});

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

describe('whatever a document holds', () => {
  it(
    'no update fails on it, and what a reply calls corrupt has not been touched',
    { timeout: 120_000 },
    async () => {
      const property = fc.asyncProperty(
        fc.constantFrom(...Object.values(bases)),
        fc.array(fc.tuple(fc.constantFrom(...PATHS), anything), { minLength: 1, maxLength: 3 }),
        fc.constantFrom(...updates),
        async (make, values, update) => {
          const document = values.reduce(
            (changed, [path, value]) => withValue(changed, path, value),
            make(driver.newName()),
          );
          await driver.put(document);
          const before = await driver.image(document._id);
          const { reply } = await driver.apply(document._id, update.operations, update);
          const after = await driver.image(document._id);
          if (!reply.sound) expect(after).toBe(before);
          await driver.extend(document._id, ['wh', 'w1'], 30_000, 0);
          await driver.collection.findOne(
            { _id: document._id },
            { projection: leasesProjection([mutexSeats], 'p0') },
          );
        },
      );
      await fc.assert(property, { seed: drawSeed('corrupt documents'), numRuns: 1_500 });
    },
  );

  it('no update fails on whatever attempts stand in the queue', async () => {
    const failures: string[] = [];
    for (const attempt of KEYS) {
      for (const make of Object.values(bases)) {
        for (const { operations, adopting } of updates) {
          const document = make(driver.newName());
          const queue = document['queue'] as Readonly<Record<string, unknown>>;
          await driver.put({ ...document, queue: { [attempt]: queue['w1'], ...queue } });
          await driver.apply(document._id, operations, { adopting }).catch((error: unknown) => {
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
