import { describe, expect, it } from 'vitest';

import { hasToken, lastTokenOf, overlapIn } from '../../src/testing/judge/token-blocks.js';

describe('blocks of tokens', () => {
  it('begin with the token of the lease, and include the tokens that it reserves', () => {
    expect([lastTokenOf({ token: 7 }), lastTokenOf({ token: 7, keeps: 3 })]).toEqual([7, 10]);
    expect([6, 7, 10, 11].map((token) => hasToken({ token: 7, keeps: 3 }, token))).toEqual([
      ...[false, true, true, false],
    ]);
  });

  it('have no more than the token of the lease in a reader-writer lock, whose kept reads share it', () => {
    expect(lastTokenOf({ token: 7, keeps: 1, mode: 'read' })).toBe(7);
  });

  it('overlap if two of them have a token in common, in any order', () => {
    const [low, high] = [
      { token: 1, keeps: 9 },
      { token: 10, keeps: 1 },
    ];
    expect(overlapIn([high, { token: 20 }, low])).toEqual([low, high]);
    expect(overlapIn([{ token: 11 }, low, { token: 12, keeps: 5 }])).toBeUndefined();
    expect(overlapIn([low, { ...low }])).toHaveLength(2);
    expect(overlapIn([])).toBeUndefined();
  });
});
