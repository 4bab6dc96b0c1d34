import { describe, expect, it } from 'vitest';

import { LaterWalls } from './later-walls.js';
import type { Change } from './oplog-entry.js';
import { TS } from './written-versions.js';

/** What is reported of entries with one change each, before the end and after it. */
function reported(entries: readonly (readonly [term: number, wallMs: number])[]): readonly string[] {
  const seen: string[] = [];
  const walls = new LaterWalls(({ name, wallMs, laterWallMs }: Change) =>
    seen.push(`${name} ${wallMs} < ${String(laterWallMs)}`),
  );
  for (const [index, [term, wallMs]] of entries.entries()) {
    walls.entry(term, wallMs);
    walls.take({ name: `#${index}`, before: null, after: null, term, wallMs, ts: TS });
  }
  seen.push('the end');
  walls.end();
  return seen;
}

describe('the later wall of a change', () => {
  it('is the next one that is greater, and the changes keep their order', () => {
    expect(
      reported([
        [1, 10],
        [1, 10],
        [1, 9],
        [1, 20],
        [1, 31],
      ]),
    ).toEqual(['#0 10 < 20', '#1 10 < 20', '#2 9 < 20', '#3 20 < 31', 'the end', '#4 31 < Infinity']);
  });

  it('is not that of another primary', () => {
    expect(
      reported([
        [1, 10],
        [2, 20],
        [2, 21],
      ]),
    ).toEqual(['#0 10 < Infinity', '#1 20 < 21', 'the end', '#2 21 < Infinity']);
  });
});
