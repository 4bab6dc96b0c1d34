import { describe, expect, test } from 'vitest';

import { distributionOf, jainIndex, median, percentile, ratioOf } from '../../lab/statistics.js';

describe('percentiles', () => {
  test('are computed by nearest rank, in any order of the values', () => {
    const values = [5, 1, 4, 2, 3];
    expect([0, 0.2, 0.21, 0.5, 1].map((share) => percentile(values, share))).toEqual([1, 1, 2, 3, 5]);
    expect(median([7, 3])).toBe(3);
  });

  test('are NaN without values', () => {
    expect(percentile([], 0.5)).toBeNaN();
    expect(distributionOf([])).toMatchObject({ count: 0, p50: NaN });
  });
});

test("Jain's index is 1 if all shares are equal, and 1/n if one share is everything", () => {
  expect(jainIndex([3, 3, 3])).toBe(1);
  expect(jainIndex([9, 0, 0])).toBeCloseTo(1 / 3);
});

describe('the ratio of a lock to its floor', () => {
  const block = (lock: number, floor: number) => ({ lockMs: [lock], floorMs: [floor] });

  test('is the ratio of the medians, and is steady if the middle half of the blocks agrees', () => {
    const blocks = [block(2, 1), block(2.1, 1), block(2.1, 1), block(9, 1)];
    expect(ratioOf(blocks)).toMatchObject({ ofMedians: 2.1, medianOfBlocks: 2.1, isSteady: true });
  });

  test('is unsteady if the middle half of the blocks disagrees', () => {
    expect(ratioOf([block(1, 1), block(2, 1), block(3, 1), block(4, 1)]).isSteady).toBe(false);
  });
});
