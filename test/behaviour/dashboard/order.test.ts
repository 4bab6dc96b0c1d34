import fc from 'fast-check';
import { expect, it } from 'vitest';

import { staying } from '../../../src/dashboard/page/order.js';

it.each([
  [[], []],
  [[0], [0]],
  [
    [0, 1, 2],
    [0, 1, 2],
  ],
  [
    [3, 0, 1, 2],
    [0, 1, 2],
  ],
  [
    [1, 2, 3, 0],
    [1, 2, 3],
  ],
])('of the places %j, the rows at %j stay', (places, stay) => {
  expect([...staying(places)].toSorted()).toEqual(stay);
});

it('the rows that stay are in order, and no row can be added to them', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(200)), (places) => {
      const stay = staying(places);
      const kept = places.filter((place) => stay.has(place));
      expect(kept).toEqual(kept.toSorted((a, b) => a - b));
      expect(kept.length).toBe(longest(places));
    }),
  );
});

/** The length of the longest rising part, in quadratic time. */
function longest(places: readonly number[]): number {
  const lengths: number[] = [];
  for (const [at, place] of places.entries()) {
    const earlier = lengths.filter((_, index) => (places[index] ?? 0) < place && index < at);
    lengths.push(1 + Math.max(0, ...earlier));
  }
  return Math.max(0, ...lengths);
}
