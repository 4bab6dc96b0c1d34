import { describe, expect, test } from 'vitest';

import { msOf } from '../processes/contended.js';
import type { Hold } from '../processes/contended.js';
import { countCommands, flightsOf, handOversOf } from '../processes/ring-figures.js';

const span = { fromMs: 0, toMs: 100 };

const hold = (askedMs: number, grantedMs: number, releasedMs: number): Hold => ({
  askedMs,
  grantedMs,
  releasedMs,
});

/** The holds and the commands of one process. */
const did = (holds: readonly Hold[], commands: readonly [string, number][] = []) => ({
  holds,
  commands: commands.map(([name, atMs]) => ({ name, atMs })),
});

describe('a hand-over', () => {
  test('is between two processes, of which the second waited when the first released', () => {
    expect(handOversOf([[hold(0, 1, 10)], [hold(5, 12, 20)]], span).map(msOf)).toEqual([2]);
  });

  test('is not to the same process, nor to a process that asked later', () => {
    expect(handOversOf([[hold(0, 1, 10), hold(10, 12, 20)]], span)).toEqual([]);
    expect(handOversOf([[hold(0, 1, 10)], [hold(11, 12, 20)]], span)).toEqual([]);
  });

  test('counts if its grant is within the span', () => {
    expect(handOversOf([[hold(0, 90, 99)], [hold(5, 101, 110)]], span)).toEqual([]);
  });
});

test('commands are counted between a release and the next grant', () => {
  const contended = [
    did(
      [hold(0, 1, 10)],
      [
        ['findAndModify', 10.5],
        ['findAndModify', 50],
        ['getMore', 11],
      ],
    ),
    did([hold(5, 12, 20)], [['find', 30]]),
  ];
  const handOvers = handOversOf(
    contended.map(({ holds }) => holds),
    span,
  );
  const count = countCommands(contended, handOvers, span);
  expect(count).toMatchObject({ handOvers: 1, writesBetween: 1, polls: 1 });
  expect(count.perHandOver).toBe('find 1.00, findAndModify 2.00, getMore 1.00');
});

test('a flight lasts from the write of a turn to its event in another process', () => {
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
