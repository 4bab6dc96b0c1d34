import { expect, test } from 'vitest';

import { comparisonOf } from '../compare.js';
import type { Result } from '../findings.js';
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
