import { describe, expect, test } from 'vitest';

import { drawn, topOf } from '../plot.js';
import type { Plot } from '../plot.js';

const plot: Plot = {
  title: 'Waits & "hand-overs"',
  kind: 'lines',
  x: { label: 'processes', values: [2, 4, 8] },
  y: 'ms',
  series: [
    { name: 'p50 <', values: [1, 2, 3] },
    { name: 'p99', values: [2, NaN, 9] },
  ],
};

const count = (svg: string, element: string): number => svg.split(`<${element} `).length - 1;

describe('an axis', () => {
  test.each([
    [7, { end: 8, step: 2 }],
    [60, { end: 60, step: 10 }],
    [61, { end: 80, step: 20 }],
    [0.9, { end: 1, step: 0.2 }],
  ])('ends at a round number for values up to %d', (highest, { end, step }) => {
    const axis = topOf([0, highest]);
    expect(axis.end).toBeCloseTo(end);
    expect(axis.step).toBeCloseTo(step);
  });

  test('exists even without values', () => {
    expect(topOf([])).toEqual({ end: 1, step: 1 });
    expect(topOf([0, NaN])).toEqual({ end: 1, step: 1 });
  });
});

describe('a plot', () => {
  test('has a point for every figure, and none for NaN, if it has lines', () => {
    const svg = drawn(plot);
    expect(count(svg, 'polyline')).toBe(2);
    expect(count(svg, 'circle')).toBe(5);
    expect(svg).not.toContain('NaN');
  });

  test('has a bar for every figure, and one for each entry of the legend, if it has bars', () => {
    expect(count(drawn({ ...plot, kind: 'bars' }), 'rect')).toBe(5 + 2);
  });

  test('names its axes, its steps and its series, and escapes their names', () => {
    const svg = drawn(plot);
    for (const text of ['processes', 'ms', '8', 'p99', 'Waits &amp; &quot;hand-overs&quot;', 'p50 &lt;']) {
      expect(svg).toContain(`>${text}</text>`);
    }
  });

  test('has colours for light and for dark pages', () => {
    expect(drawn(plot)).toContain('prefers-color-scheme: dark');
  });
});
