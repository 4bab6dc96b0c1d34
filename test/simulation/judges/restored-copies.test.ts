import { describe, expect, it } from 'vitest';

import type { RunLine } from '../../faults/history.js';
import { at } from '../../judge/written-history.js';
import { VersionJudge } from '../../judge/oplog-checker.js';
import { lease, mutex } from '../../judge/written-versions.js';
import { beyondRestores, mayVanishIn, restoredIn } from './restored-copies.js';
import { changesIn, date, when } from './written-evidence.js';
import type { Written } from './written-evidence.js';

const vanished = null as unknown as Written[number][1];
const old = mutex(lease('wa', 5));
const newer = mutex(lease('wb', 7), { wake: ' -wa:5' });

/** The lock is given to another holder, and then an old copy of it is restored. Times are in ms. */
const restoredTo = (...after: Written): ReturnType<typeof changesIn> =>
  changesIn('m', [[0, old], [100, newer], [200, vanished], [250, old], ...after]);

function judged(changes: ReturnType<typeof changesIn>): readonly string[] {
  const restored = restoredIn([changes]);
  const judge = new VersionJudge({
    ...{ toleranceMs: 5_000, mayVanish: () => true },
    isFromOutside: (change) => restored.has(change),
  });
  for (const change of changes) judge.take(change);
  return judge.violations.map(({ invariant, what }) => `${invariant} ${what}`);
}

describe('an old copy of a document', () => {
  it('is known by what it has, and is no update of the library', () => {
    const changes = restoredTo();
    expect([...restoredIn([changes])]).toEqual([changes[3]]);
    expect(judged(changes)).toEqual([]);
    const made = changesIn('m', [
      [0, old],
      [200, vanished],
      [250, mutex(lease('wc', 9))],
    ]);
    expect(restoredIn([made]).size).toBe(0);
  });

  it('excuses no token: the next one is above all that were given before the restore', () => {
    const next = (token: number): Written => [[300, mutex(lease('wc', token), { wake: ' -wa:5' })]];
    expect(judged(restoredTo(...next(8)))).toEqual([]);
    expect(judged(restoredTo(...next(6)))).toEqual([expect.stringMatching(/^S3 m: wc has token 6 after 7/)]);
  });

  it('excuses a token that was given before only if the clock has not passed it since', () => {
    const token = date(100).getTime() * 1_000 + 1;
    const remade = (ms: number): readonly string[] =>
      judged(
        changesIn('m', [
          [100, mutex(lease('wa', token))],
          [100, vanished],
          [ms, mutex(lease('wb', token))],
        ]),
      );
    expect(remade(100)).toEqual([]);
    expect(remade(101)).toEqual([expect.stringMatching(/^S3 m: wb has token \d+ after \d+/)]);
  });

  it('excuses two holders of its own lock alone, from its loss until a lease after the restore', () => {
    const changes = restoredTo();
    const isBeyond = beyondRestores(changes, restoredIn([changes]), when, 600);
    const ns = (ms: number): bigint => BigInt(at(ms));
    const excused = [199, 200, 500, 850, 852].map((ms) => isBeyond('m', ns(ms), ns(ms)));
    expect(excused).toEqual([false, true, true, true, false]);
    expect(isBeyond('another', ns(500), ns(500))).toBe(false);
  });

  it('is there only in runs in which documents vanish', () => {
    const begins = (what: string): RunLine => ({ type: 'fault begins', atNs: at(1), fault: 1, what, set: 0 });
    expect(mayVanishIn([begins('an old copy is restored')], 0)).toBe(true);
    expect(mayVanishIn([begins('an old copy is restored')], 1)).toBe(false);
    expect(mayVanishIn([begins('change streams are silent')], 0)).toBe(false);
  });
});
