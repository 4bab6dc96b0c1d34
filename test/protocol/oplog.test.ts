import { BSON } from 'mongodb';
import { afterAll, describe, expect, inject, it } from 'vitest';

import { versionOf } from '../support/invariants.js';
import { LockDocumentDriver } from '../support/lock-document-driver.js';
import { cancel, enqueue, extend, leave } from '../support/operations.js';

const driver = new LockDocumentDriver(inject('mongoUri'));

afterAll(() => driver[Symbol.asyncDispose]());

const WAITERS = 500;
const KILOBYTE = 1_024;

const idOf = (index: number): string => `w${index.toString(16).padStart(24, '0')}`;

/** A lock whose holder has five hundred waiters, each with words of its own. */
async function crowded(): Promise<string> {
  const name = driver.newName();
  const words = {
    why: 'a reason of some length',
    label: 'worker',
    process: 'host-name:12345:0123456789abcdef',
  };
  for (let first = 0; first <= WAITERS; first += 100) {
    const ids = Array.from({ length: Math.min(100, WAITERS + 1 - first) }, (_, index) => idOf(first + index));
    await driver.apply(
      name,
      ids.map((id) => enqueue(id, words)),
    );
  }
  return name;
}

/** What the oplog got by the last write, in bytes. */
async function lastEntryBytes(name: string): Promise<number> {
  const entry = (await driver.oplog(name)).at(-1);
  if (entry === undefined) throw new Error('nothing was written');
  return BSON.calculateObjectSize(entry);
}

describe('with 500 waiters', () => {
  it(
    'a hand-off writes at most 1 KB to the oplog, from the first to the last',
    { timeout: 60_000 },
    async () => {
      const name = await crowded();
      expect(versionOf(await driver.read(name)).queue).toHaveLength(WAITERS);
      const sizes: number[] = [];
      for (let index = 0; index < 20; index += 1) {
        await driver.apply(name, [leave(idOf(index))]);
        sizes.push(await lastEntryBytes(name));
      }
      expect(versionOf(await driver.read(name)).leases).toMatchObject([{ id: idOf(20) }]);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(KILOBYTE);
    },
  );

  it('so does a cancel in the middle, a newcomer, and the extension of a place', async () => {
    const name = await crowded();
    for (const operation of [cancel(idOf(250)), enqueue('wnew'), extend(idOf(300))]) {
      await driver.apply(name, [operation]);
      expect(await lastEntryBytes(name)).toBeLessThanOrEqual(KILOBYTE);
    }
  });
});
