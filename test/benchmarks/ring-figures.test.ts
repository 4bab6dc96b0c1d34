import { describe, expect, test } from 'vitest';

import { countCommands, flightsOf, handOversOf } from '../../benchmarks/processes/ring-figures.js';
import type { Hold } from '../../benchmarks/processes/ring-process.js';

const span = { fromMs: 0, toMs: 100 };

const hold = (token: number, askedMs: number, grantedMs: number, releasedMs: number): Hold => ({
  token,
  askedMs,
  grantedMs,
  releasedMs,
});

/** What one process did. */
const did = (holds: readonly Hold[], commands: readonly [string, number][] = []) => ({
  holds,
  commands: commands.map(([name, atMs]) => ({ name, atMs })),
});

describe('a hand-over', () => {
  test('is between two processes of which the second was waiting when the first released', () => {
    const { handOvers } = handOversOf([did([hold(1, 0, 1, 10)]), did([hold(2, 5, 12, 20)])], span);
    expect(handOvers.map(({ from, to }) => to.grantedMs - from.releasedMs)).toEqual([2]);
  });

  test('is not to the same process, nor to one that asked later', () => {
    const again = [hold(1, 0, 1, 10), hold(2, 10, 12, 20)];
    expect(handOversOf([did(again)], span).handOvers).toEqual([]);
    expect(handOversOf([did([hold(1, 0, 1, 10)]), did([hold(2, 11, 12, 20)])], span).handOvers).toEqual([]);
  });

  test('counts if its grant is within the span', () => {
    const outside = [did([hold(1, 0, 90, 99)]), did([hold(2, 5, 101, 110)])];
    expect(handOversOf(outside, span).handOvers).toEqual([]);
  });
});

test('commands are counted between a release and the grant that follows', () => {
  const contended = [
    did(
      [hold(1, 0, 1, 10)],
      [
        ['findAndModify', 10.5],
        ['findAndModify', 50],
        ['getMore', 11],
      ],
    ),
    did([hold(2, 5, 12, 20)], [['find', 30]]),
  ];
  const { handOvers } = handOversOf(contended, span);
  const count = countCommands(contended, handOvers, span);
  expect(count).toMatchObject({ handOvers: 1, writesBetween: 1, polls: 1 });
  expect(count.perHandOver).toBe('find 1.00, findAndModify 2.00, getMore 1.00');
});

test('a flight is from the write of a turn to its event elsewhere', () => {
  const bounced = [
    { passed: [{ n: 0, atMs: 1 }], received: [{ n: 1, atMs: 9 }] },
    {
      passed: [{ n: 1, atMs: 6 }],
      received: [
        { n: 0, atMs: 3 },
        { n: 2, atMs: 200 },
      ],
    },
  ];
  expect(flightsOf(bounced, span)).toEqual([3, 2]);
});
