import { describe, expect, test } from 'vitest';

import { pictureOf } from '../picture.js';

const picture = pictureOf({
  ...{ title: 'Cycles', file: 'cycles.svg', y: 'per second' },
  x: { label: 'at once', values: [1, 16] },
  lines: [
    { name: 'ours', values: [400, 4_000] },
    { name: 'theirs', values: [300, 3_900] },
    { name: 'another', values: [5_000, 50_000] },
  ],
});

/** The heights at which the labels with these contents stand. */
const heightsOf = (...contents: readonly string[]): readonly number[] =>
  contents.map((content) => Number(new RegExp(`y="([\\d.]+)"[^>]*>${content}</text>`).exec(picture)?.[1]));

describe('a chart', () => {
  test('has a line and a label for each name, and a label for each step and each power of ten', () => {
    expect(picture.match(/<polyline/g)).toHaveLength(3);
    for (const label of ['Cycles', 'ours', 'theirs', 'another', '1', '16', '100', '1,000', '100,000']) {
      expect(picture).toContain(`>${label}</text>`);
    }
  });

  test('puts powers of ten at equal distances', () => {
    const [first, second, third] = heightsOf('100', '1,000', '10,000') as [number, number, number];
    expect(first - second).toBeCloseTo(second - third, 0);
  });

  test('keeps the labels of lines apart that end near each other', () => {
    const [ours, theirs] = heightsOf('ours', 'theirs') as [number, number];
    expect(Math.abs(ours - theirs)).toBeGreaterThanOrEqual(16);
  });
});
