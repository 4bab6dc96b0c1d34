import { describe, expect, test } from 'vitest';

import { verdictOn } from '../findings.js';
import { inMarkdown, shown } from '../table.js';

describe('a figure', () => {
  test('is shown with as many digits as are significant', () => {
    const figures = [1.23456, 12.3456, 123.456, 12345.6, 0.0004, 5, 10_000, NaN];
    expect(figures.map(shown)).toEqual(['1.235', '12.35', '123.5', '12,346', '0.000', '5', '10,000', '–']);
  });
});

test('a table becomes Markdown, with its figures aligned to the right', () => {
  const table = { head: ['', 'p50'], rows: [['a | b', 1.5]] };
  expect(inMarkdown(table)).toBe(['|  | p50 |', '| --- | --: |', String.raw`| a \| b | 1.500 |`].join('\n'));
});

describe('a gate', () => {
  const gate = { name: '', measured: 1.2, bound: 1.2 } as const;

  test('is passed at its bound', () => {
    for (const must of ['≤', '≥', '='] as const) expect(verdictOn({ ...gate, must })).toBe('pass');
  });

  test('is missed beyond its bound, and if it could not be measured', () => {
    expect(verdictOn({ ...gate, must: '≤', measured: 1.201 })).toBe('missed');
    expect(verdictOn({ ...gate, must: '≥', measured: 1.199 })).toBe('missed');
    expect(verdictOn({ ...gate, must: '=', measured: 1.201 })).toBe('missed');
    expect(verdictOn({ ...gate, must: '≤', measured: NaN })).toBe('missed');
  });

  test('says if the machine was too busy for a clear result', () => {
    expect(verdictOn({ ...gate, must: '≤', isSteady: false })).toBe('pass, unsteady');
  });
});
