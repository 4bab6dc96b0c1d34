import fc from 'fast-check';
import { MongoServerError } from 'mongodb';
import { describe, expect, test } from 'vitest';

import { fencedTransaction, fencedUpdateOne, StaleTokenError } from '../../../src/index.js';
import { drawSeed } from '../../support/seed.js';
import { FencedWorld } from './fenced-world.js';

const HOLDERS = 4;

/** One write: by which holder, to which document, and how. */
interface Call {
  readonly holder: number;
  readonly id: string;
  readonly how: 'operators' | 'pipeline' | 'upsert' | 'transaction';
}

const call: fc.Arbitrary<Call> = fc.record({
  holder: fc.nat({ max: HOLDERS - 1 }),
  id: fc.constantFrom('a', 'b'),
  how: fc.constantFrom('operators', 'pipeline', 'upsert', 'transaction'),
});

/** Calls of one group are made at once, the groups one after the other. */
const history = fc.array(fc.array(call, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 6 });

class History extends FencedWorld {
  /** Appends the token of the holder to the log of the document. Returns whether the write was accepted. */
  async make(
    { holder, id, how }: Call,
    holders: Awaited<ReturnType<FencedWorld['holders']>>,
  ): Promise<boolean> {
    const lock = holders[holder];
    if (lock === undefined) throw new Error('no such holder');
    const token = lock.fencingToken;
    const log = this.own.db.collection<{ _id: string; log: number[] }>('accounts');
    const push = { $push: { log: token } };
    const options = { upsert: how === 'upsert' };
    const concat = [{ $set: { log: { $concatArrays: [{ $ifNull: ['$log', []] }, [token]] } } }];
    try {
      if (how === 'transaction') {
        await fencedTransaction(
          this.own.client,
          lock,
          async (session) => {
            await fencedUpdateOne(log, { _id: id }, push, lock, { session });
          },
          { databaseName: this.name },
        );
        return true;
      }
      const result = await fencedUpdateOne(
        log,
        { _id: id },
        how === 'pipeline' ? concat : push,
        lock,
        options,
      );
      return result.matchedCount + result.upsertedCount > 0;
    } catch (error) {
      if (error instanceof StaleTokenError && error.storedToken > error.token) return false;
      throw error instanceof MongoServerError ? new Error(error.message, { cause: error }) : error;
    }
  }

  async logs(): Promise<readonly (readonly number[])[]> {
    const stored = await this.plain.db.collection('accounts').find().toArray();
    for (const { log, fencingToken } of stored) expect((log as number[]).at(-1)).toBe(fencingToken);
    return stored.map(({ log }) => log as number[]);
  }
}

const rises = (log: readonly number[]): boolean =>
  log.every((token, index) => index === 0 || token >= (log[index - 1] ?? 0));

describe('concurrent fenced writes of several holders', () => {
  test('are never accepted with a smaller token after a greater one', async () => {
    await using world = new History();
    const holders = await world.holders(HOLDERS);
    const property = fc.asyncProperty(history, async (groups) => {
      await world.plain.db.collection('accounts').deleteMany({});
      await world.plain.db.collection('distributed.fences').deleteMany({});
      let accepted = 0;
      for (const group of groups) {
        const ends = await Promise.all(group.map((each) => world.make(each, holders)));
        accepted += ends.filter(Boolean).length;
      }
      const logs = await world.logs();
      for (const log of logs) expect(rises(log)).toBe(true);
      // The logs have each accepted write once, and nothing else.
      const pushed = logs.reduce((sum, log) => sum + log.length, 0);
      expect(pushed).toBeLessThanOrEqual(accepted);
      expect(pushed).toBeGreaterThanOrEqual(
        accepted - groups.flat().filter(({ how }) => how === 'transaction').length,
      );
    });
    await fc.assert(property, { seed: drawSeed('fenced writes'), numRuns: 60 });
  });
});
