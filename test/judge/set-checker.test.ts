import { describe, expect, it } from 'vitest';

import type { RunLine, SetName } from '../faults/history.js';
import { checkSets } from './set-checker.js';
import type { SetResult } from './set-checker.js';
import { LOCK, asked, at, granted, history } from './written-history.js';
import type { Lines } from './written-history.js';

type Outcome = 'ok' | 'fail' | 'unknown';

const adding = (set: SetName, value: string, fromMs: number): Lines => [
  [fromMs, { type: 'adding', ask: 1, set, lock: LOCK, value }],
];

const added = (set: SetName, value: string, outcome: Outcome, fromMs = 10, isLate = false): Lines => [
  ...adding(set, value, fromMs),
  [fromMs + 2, { type: 'added', ask: 1, set, lock: LOCK, value, outcome, isLate }],
];

const first: Lines = [asked(1, 1), granted(2, 1, 1, 900)];

const judged = (
  set: SetName,
  values: readonly string[],
  adds: readonly Lines[],
  run: readonly (readonly [number, Omit<Extract<RunLine, { worker: number }>, 'atNs'>])[] = [],
): SetResult => checkSets(history([[...first, ...adds.flat()]], run), [{ set, lock: LOCK, values }]);

const wrongIn = ({ violations }: SetResult): readonly string[] =>
  violations.map(({ invariant, what }) => `${invariant} ${what}`);

describe('a fenced set', () => {
  it('is accepted with every confirmed value, no refused value, and any of the unknown ones', () => {
    const adds = [
      ...[added('fenced', 'a', 'ok'), added('fenced', 'b', 'fail', 20), added('fenced', 'c', 'unknown', 30)],
      ...[added('fenced', 'd', 'unknown', 40), adding('fenced', 'e', 50)],
    ];
    expect(wrongIn(judged('fenced', ['a', 'c'], adds))).toEqual([]);
    expect(wrongIn(judged('fenced', ['e', 'a', 'd'], adds))).toEqual([]);
  });

  it.each<readonly [string, readonly string[], readonly Lines[], RegExp]>([
    ['has lost a confirmed value', [], [added('fenced', 'a', 'ok')], /^S4 lock: a of worker 0 .*is lost/],
    [
      'has lost a confirmed value, even if the add was late',
      [],
      [added('fenced', 'a', 'ok', 10, true)],
      /^S4 .*is lost/,
    ],
    ['has a refused value', ['a'], [added('fenced', 'a', 'fail')], /^S4 lock: a .*refused/],
    [
      'has a value that was never added',
      ['x', 'a'],
      [added('fenced', 'a', 'ok')],
      /^S4 lock: x .*never added/,
    ],
    ['has a value twice', ['a', 'a'], [added('fenced', 'a', 'ok')], /^S4 lock: a .*twice/],
  ])('is rejected if it %s', (_, values, adds, words) => {
    const wrong = wrongIn(judged('fenced', values, adds));
    expect(wrong).toHaveLength(1);
    expect(wrong[0]).toMatch(words);
  });

  it('counts as empty if it was not read at the end', () => {
    const { violations, fenced } = checkSets(history([[...first, ...added('fenced', 'a', 'ok')]]), []);
    expect(violations).toHaveLength(1);
    expect(fenced).toEqual({ acknowledged: 1, lost: 1, late: 0 });
  });
});

describe('a set in memory', () => {
  const both = [added('memory', 'a', 'ok'), added('memory', 'b', 'ok', 20)];

  it('is accepted with every confirmed value', () => {
    const { violations, memory } = judged('memory', ['a', 'b'], both);
    expect(violations).toEqual([]);
    expect(memory).toEqual({ acknowledged: 2, lost: 0, late: 0 });
  });

  it('is rejected if a value is lost although the lock protected every add (S2)', () => {
    const result = judged('memory', ['b'], both);
    expect(wrongIn(result)).toEqual([expect.stringMatching(/^S2 lock: a .*is lost/)]);
    expect(result.memory).toEqual({ acknowledged: 2, lost: 1, late: 0 });
  });

  it('may lose values if an add was late, and the loss is counted', () => {
    const { violations, memory } = judged('memory', ['c'], [...both, added('memory', 'c', 'ok', 30, true)]);
    expect(violations).toEqual([]);
    expect(memory).toEqual({ acknowledged: 3, lost: 2, late: 1 });
  });

  it('may lose values if a worker was paused during an add', () => {
    const [stands, goesOn] = ['worker stands', 'worker goes on'] as const;
    const during = [
      [11, { type: stands, worker: 0 }],
      [11.5, { type: goesOn, worker: 0 }],
    ] as const;
    expect(wrongIn(judged('memory', ['b'], both, during))).toEqual([]);
    const before = [
      [5, { type: stands, worker: 0 }],
      [9, { type: goesOn, worker: 0 }],
    ] as const;
    expect(wrongIn(judged('memory', ['b'], both, before))).toHaveLength(1);
  });

  it('may lose values if an add was never answered, or beyond the bounds', () => {
    expect(wrongIn(judged('memory', ['b'], [...both, adding('memory', 'c', 30)]))).toEqual([]);
    const lost = history([[...first, ...both.flat()]]);
    const beyond = (_: string, fromNs: bigint): boolean => fromNs === BigInt(at(20));
    expect(checkSets(lost, [{ set: 'memory', lock: LOCK, values: ['b'] }], beyond).violations).toEqual([]);
  });

  it('is rejected with a value that was never added', () => {
    expect(wrongIn(judged('memory', ['a', 'b', 'x'], both))).toEqual([expect.stringMatching(/never added/)]);
  });
});
