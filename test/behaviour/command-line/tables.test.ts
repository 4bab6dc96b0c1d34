import { expect, it } from 'vitest';

import { Output } from '../../../src/cli/output.js';

it('a table may have more rows than a function may have arguments', () => {
  const rows = Array.from({ length: 200_000 }, (_, at) => [
    { text: `lock-${String(at)}` },
    { text: 'mutex' },
  ]);
  const lines = new Output({}).tableLines(['NAME', 'KIND'], rows);
  expect(lines).toHaveLength(200_001);
  expect(lines[1]).toBe('lock-0       mutex');
});

it('a long text is cut at the bound of its column; without a bound it stays whole and moves no other row', () => {
  const long = '\u001b'.repeat(1_024);
  const rows = [
    [{ text: long }, { text: 'mutex' }],
    [{ text: 'short' }, { text: 'mutex' }],
  ];
  const output = new Output({});
  expect(output.tableLines(['NAME', 'KIND'], rows, { bounds: [10] })).toEqual([
    'NAME        KIND',
    '\\u{1b}\\u{…  mutex',
    'short       mutex',
  ]);
  expect(output.tableLines(['NAME', 'KIND'], rows)).toEqual([
    `NAME${' '.repeat(38)}KIND`,
    `${'\\u{1b}'.repeat(1_024)}  mutex`,
    `short${' '.repeat(37)}mutex`,
  ]);
});

it('a wide character takes two columns, and a mark none: neither moves the columns, nor makes a line too long', () => {
  const names = ['漢字', 'かな', 'ﾊﾝ', '한글', '🔒', 'e\u0301', '漢字漢字'];
  const rows = names.map((text) => [{ text }, { text: 'mutex' }]);
  const output = new Output({});
  expect(output.tableLines(['NAME', 'KIND'], rows, { bounds: [6] })).toEqual([
    'NAME   KIND',
    '漢字   mutex',
    'かな   mutex',
    'ﾊﾝ     mutex',
    '한글   mutex',
    '🔒     mutex',
    'e\u0301      mutex',
    '漢字…  mutex',
  ]);
  expect(output.tableLines(['漢字漢字', 'KIND'], [], { width: 5 })).toEqual(['漢字']);
});
