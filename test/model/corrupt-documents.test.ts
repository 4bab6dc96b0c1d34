import { afterAll, describe, expect, inject, it } from 'vitest';

import { extension } from '../../src/protocol/pipeline/extension.js';
import { keeperProjection } from '../../src/protocol/pipeline/keeper-reads.js';
import { pollProjection } from '../../src/protocol/pipeline/polls.js';
import type { LockKind } from '../../src/protocol/lock-document.js';
import { fateOf, refusalOf } from '../../src/protocol/replies/reply.js';
import { byBreadth } from '../support/breadth.js';
import {
  corruptionsOf,
  idleDocument,
  lockDocument,
  strangeReservesOf,
  withValue,
} from './documents/corruptions.js';
import { DEMAND, UPDATES, inLanes, touch } from './documents/every-update.js';
import { LockDocumentDriver } from './documents/lock-document-driver.js';
import type { StoredDocument } from './documents/lock-document-driver.js';
import {
  ALL_SEATS,
  ELECTION,
  MUTEX,
  KINDS_BY_LEASE_FIELDS,
  READER_WRITER,
  SEMAPHORE,
} from './documents/lock-kinds.js';
import { enqueue, requestOf, tryOnce } from './documents/operations.js';
import { randomFrom } from '../../lab/random.js';
import { drawSeed } from '../support/seed.js';

const past = new Date(Date.now() - 60_000);
const dead = { holdersEnd: past, waitersEnd: past };

interface Base {
  readonly words: string;
  readonly make: (name: string) => StoredDocument;
}

/** The same lock with live members, with expired members, and with none. */
const basesOf = (kind: LockKind): readonly Base[] => [
  { words: 'with live members', make: (name) => lockDocument(kind, name) },
  { words: 'with expired members', make: (name) => lockDocument(kind, name, dead) },
  { words: 'without members', make: (name) => idleDocument(kind, name) },
];

/**
 * Each case of a path gets every ninth update, and the next case the updates after those. So the path gets all updates, but
 * in the quick run, which has fewer cases.
 */
const updatesOf = (index: number, cases: number): typeof UPDATES => {
  const stride = byBreadth(9, Math.min(9, cases));
  return UPDATES.filter((_, at) => at % stride === (index + seed) % stride);
};

const seed = drawSeed('corrupt documents');
const random = randomFrom(seed);

/** About one item in `oneIn`, and at least one. All are drawn. */
const sampled = <T>(all: readonly T[], oneIn: number): readonly T[] => {
  const drawn = all.filter(() => random.between(1, oneIn) === 1);
  if (drawn.length > 0) return drawn;
  const one = random.between(0, all.length - 1);
  return all.slice(one, one + 1);
};
const ONE_IN = byBreadth(160, 8);

describe.each([
  ['mutex', MUTEX],
  ['reader-writer', READER_WRITER],
  ['semaphore', SEMAPHORE],
  ['election', ELECTION],
] as const)('a corrupt %s document', (kind, { rules }) => {
  const driver = new LockDocumentDriver(inject('mongoUri'), rules);
  const every = corruptionsOf(kind);
  const corruptions = sampled(every, ONE_IN);
  const paths = [...new Set(every.map(({ path }) => path))];

  afterAll(() => driver[Symbol.asyncDispose]());

  it.each(paths)('is left untouched by every operation: %s', async (corrupted) => {
    const touched: string[] = [];
    const ofPath = every.filter(({ path }) => path === corrupted);
    const all = basesOf(kind).flatMap((base) => ofPath.map((corruption) => ({ base, ...corruption })));
    const cases = sampled(all, ONE_IN);
    await inLanes([...cases.entries()], async ([index, { base, path, value, words }]) => {
      const document = withValue(base.make(driver.newName()), path, value);
      const by = await touch(driver, document, updatesOf(index, cases.length));
      if (by !== undefined) touched.push(`${base.words}, ${words}: ${by}`);
    });
    expect(touched).toEqual([]);
  });

  it('grants no request the lock, and tells each request that it is corrupt', async () => {
    const healthy = driver.newName();
    await driver.put(lockDocument(kind, healthy));
    expect(await driver.isLegal(healthy)).toBe(true);
    const wrong: string[] = [];
    await inLanes(corruptions, async ({ path, value, words }) => {
      const name = driver.newName();
      await driver.put(withValue(lockDocument(kind, name, dead), path, value));
      for (const [type, request] of [
        ['enqueue', enqueue('w9', DEMAND)],
        ['try', tryOnce('w9', DEMAND)],
      ] as const) {
        const { reply } = await driver.apply(name, [request]);
        const fate = fateOf(reply, 'w9').type;
        const told = fate === 'absent' ? refusalOf(reply, rules, type, requestOf('w9', DEMAND)) : fate;
        const isLegal = await driver.isLegal(name);
        if (told !== 'corrupt' || isLegal) wrong.push(`${words}: ${type} is told ${told}, legal: ${isLegal}`);
      }
    });
    expect(wrong).toEqual([]);
  });

  it('does not keep the batched extension, or a poll, from the documents beside it', async () => {
    const good = [driver.newName(), driver.newName()];
    const names = [good[0] ?? '', ...corruptions.map(() => driver.newName()), good[1] ?? ''];
    const holdersEnd = new Date(Date.now() + 5_000);
    for (const name of good) await driver.put(lockDocument(kind, name, { holdersEnd }));
    await inLanes([...corruptions.entries()], ([index, { path, value }]) =>
      driver.put(withValue(lockDocument(kind, names[index + 1] ?? ''), path, value)),
    );
    const pipeline = extension(ALL_SEATS, ['wh'], 30_000, 0);
    const { modifiedCount } = await driver.collection.updateMany({ _id: { $in: names } }, [...pipeline]);
    expect(modifiedCount).toBe(2);
    const found = await driver.collection
      .find({ _id: { $in: names } }, { projection: pollProjection(KINDS_BY_LEASE_FIELDS, 'p0') })
      .toArray();
    expect(found).toHaveLength(names.length);
    const ofKept = driver.collection.find(
      { _id: { $in: names } },
      { projection: keeperProjection(KINDS_BY_LEASE_FIELDS, 'p0') },
    );
    expect(await ofKept.toArray()).toHaveLength(names.length);
    for (const name of good) {
      const leases = found.find(({ _id }) => _id === name)?.['leases'] as readonly { expiresAt: Date }[];
      expect(leases[0]?.expiresAt.getTime()).toBeGreaterThan(Date.now() + 20_000);
    }
  });

  it('has a wrong value in a field that is used: a strange `keeps` that no token is computed with does not count', async () => {
    const failures: string[] = [];
    const all = UPDATES.flatMap((update) =>
      strangeReservesOf(kind).map((strange) => ({ update, ...strange })),
    );
    await inLanes(
      sampled(all, ONE_IN),
      async ({ update: { operations, takingOver }, path, value, words }) => {
        const name = driver.newName();
        await driver.put(withValue(lockDocument(kind, name), path, value));
        const { reply } = await driver.apply(name, operations, { takingOver });
        for (const operation of operations) await driver.sendShort(name, operation);
        await driver.extend(name, ['wh'], 30_000, 0);
        if (!reply.isWellFormed || reply.leaseCount === 0)
          failures.push(`${words}, ${operations.map(({ type }) => type).join()}`);
      },
    );
    expect(failures).toEqual([]);
  });
});
