import { describe, expect, test } from 'vitest';

import { filled } from '../page.js';
import { resultWith } from './result.js';

const result = resultWith({
  tables: [{ title: 'Hand-overs', head: ['waiters', 'p50'], rows: [[8, 1.5]] }],
  plots: [
    {
      ...{ title: 'A plot', kind: 'line', x: { label: 'waiters', values: [8, 50] }, y: 'ms' },
      series: [[1.5, 2.6]],
    },
  ],
  notes: { 'worth knowing': 'yes' },
  gates: [{ name: 'p50', measured: 1.5, must: '≤', bound: 2 }],
});

const block = (subject: string, content: string): string =>
  `before\n<!-- figures of: ${subject} -->${content}<!-- end of figures -->\nafter`;

describe('a block of the page', () => {
  test('gets the tables, the notes and the pictures of its scenario in place of its old content', () => {
    const page = filled(block('queue', ' what stood there '), [result]);
    for (const part of [
      'before\n<!-- figures of: queue -->',
      '**queue, three members** (2026-03-14)',
      '| 8 | 1.500 |',
      '- worth knowing: yes',
      '```mermaid\nxychart-beta\n    title "A plot"',
      'x-axis "waiters" ["8", "50"]',
      'y-axis "ms" 0 --> 3\n    line [1.50, 2.60]',
      '<!-- end of figures -->\nafter',
    ]) {
      expect(page).toContain(part);
    }
    expect(page).not.toContain('what stood there');
  });

  test('says that nothing was measured if there are no figures', () => {
    expect(filled(block('streams', ''), [result])).toContain('_Not measured yet._');
  });

  test('lists every gate with its verdict if it is the block of the gates', () => {
    expect(filled(block('gates', ''), [result])).toContain(
      '| p50 | 1.500 | ≤ 2 | pass | queue, three members |',
    );
  });

  test('tells where the figures come from if it is the block of the runs', () => {
    const page = filled(block('runs', ''), [result]);
    expect(page).toContain(
      '| queue, three members | 2026-03-14 09:26 | mongod 6.0.5 | v20.0.0 | 7.0.0 | 2 | 0.500 |',
    );
  });

  test('keeps the figures and the rows of runs that were not repeated', () => {
    const earlier = resultWith({ ...result, scenario: 'handover', members: 1 });
    const both = ['handover', 'queue', 'gates', 'runs'].map((subject) => block(subject, '')).join('\n');
    const page = filled(filled(both, [earlier, result]), [resultWith({ ...result, gates: [] })]);
    expect(page).toContain('**handover, one member** (2026-03-14)');
    expect(page).toContain('| p50 | 1.500 | ≤ 2 | pass | handover, one member |');
    expect(page).not.toContain('| p50 | 1.500 | ≤ 2 | pass | queue, three members |');
    expect(page.match(/\| handover, one member \| 2026-03-14 09:26 /g)).toHaveLength(1);
    expect(page.match(/\*\*queue, three members\*\*/g)).toHaveLength(1);
  });

  test('stays as it is if it is filled again with the same results', () => {
    const once = filled(block('queue', ''), [result]);
    expect(filled(once, [result])).toBe(once);
  });
});
