import { describe, expect, it } from 'vitest';

import { checkBeliefs } from './belief-checker.js';
import {
  LOCK,
  MUTEX,
  READ,
  UPGRADEABLE,
  WRITE,
  asked,
  at,
  changed,
  granted,
  held,
  history,
  permits,
  released,
} from './written-history.js';
import type { Lines } from './written-history.js';

const found = (...workers: readonly Lines[]): readonly string[] =>
  checkBeliefs(history(workers)).map(({ invariant, what }) => `${invariant}: ${what}`);

type Case = readonly [words: string, ...workers: readonly Lines[]];

const cases = (all: readonly Case[]): readonly Case[] => all;

/** Expects exactly one violation, whose text matches these words. */
function expectOne(all: readonly string[], ...words: readonly (string | RegExp)[]): void {
  expect(all).toHaveLength(1);
  for (const word of words) expect(all[0]).toMatch(word);
}

describe('the belief checker', () => {
  for (const [words, ...workers] of cases([
    ['take turns', held(MUTEX, 1, 10, 20), held(MUTEX, 2, 20, 30), held(MUTEX, 3, 31, 40)],
    ['read together', held(READ, 1, 10, 50), held(UPGRADEABLE, 2, 15, 40), held(READ, 3, 20, 60)],
    ['share one read in one process', [...held(READ, 1, 10, 50), ...held(READ, 1, 15, 40, 7)]],
    ['write alone', held(WRITE, 1, 10, 20), held(READ, 2, 20, 30), held(WRITE, 3, 30, 40)],
    [
      'share permits up to the limit',
      held(permits(2), 1, 10, 50),
      held(permits(1), 2, 20, 30),
      held(permits(1), 3, 30, 40),
    ],
    [
      'begin to write when the reader is gone, and admit readers before the answer to the downgrade',
      [
        asked(9, 1, UPGRADEABLE),
        granted(10, 1, 1, 90),
        ...changed(30, 1, 3, 'write'),
        ...changed(60, 1, 4, 'read'),
        ...released(70, 1),
      ],
      held(READ, 2, 15, 29),
      held(READ, 5, 59, 65),
    ],
    [
      'end with their loss',
      [asked(1, 1), granted(2, 1, 1, 900), [50, { type: 'lost', ask: 1, why: 'gone' }]],
      held(MUTEX, 2, 50, 60),
    ],
    ['end with their promise', [asked(1, 1), granted(2, 1, 1, 40)], held(MUTEX, 2, 40, 60)],
    [
      'end with a look that finds no hold',
      [asked(1, 1), granted(2, 1, 1, 900), [50, { type: 'not held', ask: 1 }]],
      held(MUTEX, 2, 50, 60),
    ],
  ])) {
    it(`accepts beliefs that ${words}`, () => {
      expect(found(...workers)).toEqual([]);
    });
  }
});

describe('the belief checker', () => {
  for (const [words, ...workers] of cases([
    ['two holders of a mutex', held(MUTEX, 1, 10, 20), held(MUTEX, 2, 19, 30)],
    ['a belief and another one within it', held(MUTEX, 1, 10, 50), held(MUTEX, 2, 20, 30)],
    ['a reader and a later writer', held(READ, 1, 10, 20), held(WRITE, 2, 19, 30)],
    ['a writer and a later reader', held(WRITE, 1, 10, 20), held(READ, 2, 19, 30)],
    ['two upgradeable readers', held(UPGRADEABLE, 1, 10, 20), held(UPGRADEABLE, 2, 19, 30)],
    [
      'permits beyond the limit',
      held(permits(2), 1, 10, 20),
      held(permits(1), 2, 11, 30),
      held(permits(1), 3, 19, 30),
    ],
    ['a mutex and a semaphore of the same name', held(MUTEX, 1, 10, 20), held(permits(1), 2, 19, 30)],
    [
      'the promise of a dead worker and a later holder',
      [asked(1, 1), granted(2, 1, 1, 40)],
      held(MUTEX, 2, 39, 60),
    ],
    [
      'a prolonged promise and a later holder',
      [asked(1, 1), granted(2, 1, 1, 40), [30, { type: 'promised', ask: 1, untilNs: at(80) }]],
      held(MUTEX, 2, 79, 90),
    ],
    [
      'an upgrade and an earlier reader',
      [asked(9, 1, UPGRADEABLE), granted(10, 1, 1, 90), ...changed(30, 1, 3, 'write'), ...released(70, 1)],
      held(READ, 2, 15, 31),
    ],
    [
      'a writer and a reader that came before the downgrade',
      [asked(9, 1, WRITE), granted(10, 1, 1, 90), ...changed(60, 1, 3, 'read'), ...released(70, 1)],
      held(READ, 2, 58, 65),
    ],
  ])) {
    it(`finds a conflict: ${words}`, () => {
      expectOne(
        found(...workers),
        /^S2: /,
        LOCK,
        /worker [01].* while .*worker [012]/,
        /token [12],.*token [23],/,
      );
    });
  }

  it('does not judge conflicts beyond the bounds', () => {
    const conflict = history([held(MUTEX, 1, 10, 20), held(MUTEX, 2, 19, 30)]);
    const within = (lock: string, fromNs: bigint, untilNs: bigint): boolean =>
      lock === LOCK && fromNs === BigInt(at(19)) && untilNs === BigInt(at(20));
    expect(checkBeliefs(conflict, within)).toEqual([]);
    expect(checkBeliefs(conflict, (lock) => lock !== LOCK)).toHaveLength(1);
  });
});

describe('the belief checker', () => {
  const promised = (atMs: number, untilMs: number): Lines[number] => [
    atMs,
    { type: 'promised', ask: 1, untilNs: at(untilMs) },
  ];
  const begun = [asked(1, 1), granted(2, 1, 1, 40)];

  it('finds a hold that is held again after it was not held at the end of its promise', () => {
    const revived = [...begun, [45, { type: 'not held', ask: 1 }], promised(50, 90)] as const;
    expectOne(found([...revived, ...released(60, 1)]), /^S2: .*held again at 5\d.0 ms/);
  });

  it('accepts a hold that is held again after it was not held before the end of its promise', () => {
    const confirmed = [...begun, [20, { type: 'not held', ask: 1 }], promised(50, 90)] as const;
    expect(found([...confirmed, ...released(60, 1)])).toEqual([]);
  });
});

describe('the belief checker', () => {
  it('finds tokens that fall from hold to hold', () => {
    expectOne(found(held(MUTEX, 2, 10, 20), held(MUTEX, 1, 20, 30)), /^S3: .*is followed by/);
    expectOne(found(held(READ, 2, 10, 20), held(WRITE, 1, 20, 30)), /^S3: .*is followed by/);
  });

  it('accepts the tokens of two readers in any order, because they may hear of their grants in any order', () => {
    expect(found(held(READ, 2, 10, 20), held(READ, 1, 20, 30))).toEqual([]);
  });

  it('accepts a token that two readers have from different deployments, and not one of a third reader', () => {
    const [first, second, third] = [1, 2, 3].map((ask) => held(READ, 7, 10 * ask, 50, ask));
    const judged = (...workers: readonly (Lines | undefined)[]): number =>
      checkBeliefs(
        history(workers.map((lines = []) => lines)),
        () => false,
        () => 2,
      ).length;
    expect(judged(first, second)).toBe(0);
    expect(judged(first, second, third)).toBe(1);
  });

  it('finds a token that two holds have which exclude each other, although two deployments have given it', () => {
    const lines = [held(WRITE, 7, 10, 20), held(WRITE, 7, 30, 40)];
    const [violation] = checkBeliefs(
      history(lines),
      () => false,
      () => 2,
    );
    expect(violation?.what).toMatch(/has the token of/);
  });

  it('finds a token that two holds have', () => {
    expectOne(found(held(READ, 1, 10, 20), held(READ, 1, 15, 30)), /^S3: .*has the token of/);
  });
});

/** The time of the processor that the judge takes for so many turns of four workers, each of four lines, in ms. */
function tookMs(count: number): number {
  const turns = Array.from({ length: count }, (_, turn) =>
    held(MUTEX, turn + 1, turn * 10 + 2, turn * 10 + 9),
  );
  const workers = [0, 1, 2, 3].map((worker) => turns.filter((_, turn) => turn % 4 === worker).flat());
  const written = history(workers);
  const start = process.cpuUsage();
  expect(checkBeliefs(written)).toEqual([]);
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}

it('the belief checker takes no more than proportionally longer for thirty times as many lines', () => {
  const leastMs = (count: number): number => Math.min(...[1, 2, 3].map(() => tookMs(count)));
  const [few, many] = [leastMs(1_000), leastMs(30_000)];
  console.log(`4,000 lines: ${few.toFixed(0)} ms, 120,000 lines: ${many.toFixed(0)} ms`);
  // A linear one takes 20 to 30 times as long, on a busy machine up to three times that: it needs more memory. If a
  // quadratic part is a fifth of the linear part for the few lines, the many take more than 150 times as long.
  expect(many / few).toBeLessThan(150);
});
