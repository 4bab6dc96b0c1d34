import { expect, test } from 'vitest';

import { comparisonOf } from '../compare.js';
import type { Result } from '../findings.js';
import { CROWD_HEAD, rowsOf } from '../crowd-figures.js';
import type { Cycles } from '../processes/many-names.js';
import { resultWith } from './result.js';

const resultOf = (members: 1 | 3, p50: number, measured: number): Result =>
  resultWith({
    members,
    tables: [{ title: 'Times', head: ['ms', 'p50', 'max'], rows: [['hand-over', p50, NaN]] }],
    gates: [{ name: 'ratio', measured, must: '≤', bound: 2 }],
  });

test('two results are compared figure by figure, with the gates first', () => {
  const [table] = comparisonOf([resultOf(1, 2, 1.5)], [resultOf(1, 3, 1.5)]);
  expect(table?.rows.slice(0, 2)).toEqual([
    ['gate: ratio', 1.5, 1.5, 1],
    ['Times: hand-over, p50', 2, 3, 1.5],
  ]);
});

test('results of different scenarios or sizes are not compared', () => {
  expect(comparisonOf([resultOf(1, 2, 1)], [resultOf(3, 2, 1)])).toEqual([]);
});

test('several runs are compared in pairs, the newest with the newest, and the median of the ratios counts', () => {
  const runs = (...measured: readonly number[]): readonly Result[] =>
    measured.map((value, day) => ({ ...resultOf(1, 2, value), at: `2026-03-1${day}T09:26:53.589Z` }));
  // The first run of A has no partner.
  const [table] = comparisonOf(runs(100, 1, 2, 10), runs(2, 2, 15));
  expect(table?.title).toContain('medians of 3 pairs of runs');
  expect(table?.rows[0]).toEqual(['gate: ratio', 2, 2, 1.5]);
});

test('a figure that only some of the runs have is compared by these', () => {
  const withGates = (...gates: Result['gates']): Result => resultWith({ gates });
  const gate = (measured: number) => ({ name: 'a', measured, must: '≤', bound: 2 }) as const;
  const [table] = comparisonOf([withGates(), withGates(gate(1))], [withGates(gate(2)), withGates(gate(2))]);
  expect(table?.rows).toEqual([['gate: a', 1, 2, 2]]);
});

test('the loads of many names are compared figure by figure', () => {
  const block: Cycles = { count: 100, ms: 50, tookMs: [1, 2, 9], clientMs: 20, serverMs: 30 };
  const resultOfNames = (count: number): Result => {
    const crowded = new Map([['leasehold', new Map([[64, [{ ...block, count }]]])]] as const);
    return resultWith({ tables: [{ title: 'Names', head: CROWD_HEAD, rows: rowsOf(crowded) }] });
  };
  const [table] = comparisonOf([resultOfNames(100)], [resultOfNames(200)]);
  expect(table?.rows).toEqual(
    expect.arrayContaining([
      ['Names: leasehold, 64 at once, cycles/s', 2_000, 4_000, 2],
      ['Names: leasehold, 64 at once, p99, ms', 9, 9, 1],
      ['Names: leasehold, 64 at once, client CPU a cycle, µs', 200, 100, 0.5],
      ['Names: leasehold, 64 at once, server CPU a cycle, µs', 300, 150, 0.5],
    ]),
  );
});
