import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { surroundingsOf } from '../../../src/surroundings.js';
import { Fleet } from './fleet.js';

interface Trace {
  readonly hash: string;
  readonly lines: number;
}

/** Twenty seconds of three processes under several faults: every event and every version, with its time. */
async function traceOf(seed: number): Promise<Trace> {
  const fleet = new Fleet(seed, 3_000);
  const { set, members } = fleet;
  const hash = createHash('sha256');
  let lines = 0;
  const note = (...what: readonly unknown[]): void => {
    lines += 1;
    hash.update(`${set.now().toISOString()} ${JSON.stringify(what)}\n`);
  };
  for (const [index, { locks }] of members.entries()) {
    locks.on('acquired', (event) => {
      note(index, 'acquired', event);
    });
    locks.on('released', (event) => {
      note(index, 'released', event);
    });
    locks.on('lost', ({ lockName, id }) => {
      note(index, 'lost', lockName, id);
    });
    locks.on('storeError', ({ during, error }) => {
      note(index, during, String(error));
    });
  }
  const working = fleet.work(15, async (member) => {
    const { db, locks } = member;
    const { chance } = surroundingsOf(db).clock;
    const name = chance.number() < 0.5 ? 'a' : 'b';
    await locks.createMutex(name, { keepMs: 500 }).use(() => member.sleep(400 * chance.number()));
  });
  const [first, second] = members;
  if (first === undefined || second === undefined) throw new Error('no process');
  await set.advance(2_000);
  set.stepDown({ losesUnacknowledged: true });
  await set.advance(2_500);
  set.freeze(first.db);
  set.cut(second.db);
  await set.advance(4_000);
  set.loseReplies(2);
  set.thaw(first.db);
  set.heal(second.db);
  await fleet.until(working);
  await fleet.close();
  for (const version of set.versions) note('version', version);
  expect(set.violations()).toEqual([]);
  return { hash: hash.digest('hex'), lines };
}

it('the same seed has the same events and versions at the same times; another seed has others', async () => {
  const first = await traceOf(5);
  expect(first.lines).toBeGreaterThan(150);
  expect(await traceOf(5)).toEqual(first);
  expect(await traceOf(5)).toEqual(first);
  expect((await traceOf(6)).hash).not.toBe(first.hash);
});
