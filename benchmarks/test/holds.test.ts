import { describe, expect, test } from 'vitest';

import { grantsOf, handOversOf, msOf, waitsOf, writesPerHandOver } from '../processes/holds.js';
import type { Hold } from '../processes/holds.js';

const span = { fromMs: 0, toMs: 100 };

const hold = (askedMs: number, grantedMs: number, releasedMs: number): Hold => ({
  askedMs,
  grantedMs,
  releasedMs,
});

describe('a hand-over', () => {
  test('is between two processes of which the second was waiting when the first released', () => {
    expect(handOversOf([[hold(0, 1, 10)], [hold(5, 12, 20)]], span).map(msOf)).toEqual([2]);
  });

  test('is not to the same process, nor to one that asked later', () => {
    expect(handOversOf([[hold(0, 1, 10), hold(10, 12, 20)]], span)).toEqual([]);
    expect(handOversOf([[hold(0, 1, 10)], [hold(11, 12, 20)]], span)).toEqual([]);
  });

  test('does not end with a grant to a process that asked later', () => {
    const [handOver] = handOversOf([[hold(0, 1, 10), hold(11, 12, 20)], [hold(5, 22, 30)]], span);
    expect(handOver).toMatchObject({ isPassedOver: true, to: { grantedMs: 22 } });
  });

  test('counts if its release is within the span', () => {
    expect(handOversOf([[hold(0, 90, 99)], [hold(5, 101, 110)]], span)).toHaveLength(1);
    expect(handOversOf([[hold(0, 90, 100)], [hold(5, 101, 110)]], span)).toEqual([]);
  });
});

test('a wait counts if it ends after the warm-up, a grant if it is within the span', () => {
  const holdsEach = [[hold(-5, -1, 10)], [hold(5, 12, 20), hold(21, 101, 102)]];
  expect(waitsOf(holdsEach, span)).toEqual([7, 80]);
  expect(grantsOf(holdsEach, span)).toEqual([0, 1]);
});

test('writes are counted between a release and the grant that follows, unless a request came meanwhile', () => {
  const commands = [
    { name: 'findAndModify', atMs: 10.5 },
    { name: 'findAndModify', atMs: 50 },
    { name: 'getMore', atMs: 11 },
  ];
  const holdsEach = [[hold(0, 1, 10)], [hold(5, 12, 20)]];
  expect(writesPerHandOver(holdsEach, handOversOf(holdsEach, span), commands)).toBe(1);
  // The request at 11 disturbs the first of two hand-overs, and sends a write of its own.
  const disturbed = [...holdsEach, [hold(11, 60, 70)]];
  const all = [...commands, { name: 'findAndModify', atMs: 11.5 }];
  expect(writesPerHandOver(disturbed, handOversOf(disturbed, span), all)).toBe(1);
});
