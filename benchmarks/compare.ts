import { median } from '../lab/statistics.js';
import type { Cell, Result, Table } from './findings.js';
import { placeOf } from './findings.js';

/** The gates come first: they are ratios to a floor, so they can be compared between machines and busy hours. */
const GATE = 'gate: ';

/** The figures of two runs, one of each build. */
type Pair = readonly [a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>];

/**
 * One table for each scenario and size that both have: every figure of A, that of B, and B / A. Several runs are compared
 * in pairs, because two runs that followed one another saw the same machine. Then each figure is the median of the pairs.
 */
export function comparisonOf(before: readonly Result[], after: readonly Result[]): readonly Table[] {
  return [...new Set(before.map(placeOf))].flatMap((place): readonly Table[] => {
    const runsOfB = newestFirst(after, place);
    const runs = newestFirst(before, place).flatMap((a, index) => {
      const b = runsOfB[index];
      return b === undefined ? [] : [[a, b] as const];
    });
    const [newest] = runs;
    if (newest === undefined) return [];
    const [atA, atB] = newest.map(({ at }) => at.slice(0, 16));
    const several =
      runs.length === 1 ? '' : `, medians of ${runs.length} pairs of runs, of which the newest are`;
    const title = `${place}${several}: A of ${atA}, B of ${atB}`;
    const pairs = runs.map(([a, b]): Pair => [figuresOf(a), figuresOf(b)]);
    return [{ title, head: ['', 'A', 'B', 'B / A'], rows: rowsOf(pairs) }];
  });
}

const newestFirst = (results: readonly Result[], place: string): readonly Result[] =>
  results.filter((result) => placeOf(result) === place).toSorted((a, b) => (a.at < b.at ? 1 : -1));

/** One row for each figure, the gates first, of the pairs that have it: some runs may be of one part only. */
function rowsOf(pairs: readonly Pair[]): readonly (readonly Cell[])[] {
  const names = [...new Set(pairs.flatMap(([a]) => [...a.keys()]))];
  const isGate = (name: string): boolean => name.startsWith(GATE);
  const inOrder = [...names.filter(isGate), ...names.filter((name) => !isGate(name))];
  return inOrder.flatMap((name): readonly (readonly Cell[])[] => {
    const both = pairs.flatMap(([figuresOfA, figuresOfB]) => {
      const [a, b] = [figuresOfA.get(name), figuresOfB.get(name)];
      return a === undefined || b === undefined ? [] : [{ a, b, ratio: a === b ? 1 : b / a }];
    });
    if (both.length === 0) return [];
    const medians = (['a', 'b', 'ratio'] as const).map((key) => median(both.map((pair) => pair[key])));
    return [[name, ...medians]];
  });
}

function figuresOf({ gates, tables }: Result): ReadonlyMap<string, number> {
  const figures = new Map(gates.map(({ name, measured }) => [`${GATE}${name}`, measured]));
  for (const { title, head, rows } of tables) {
    for (const [name = '', ...cells] of rows) {
      for (const [index, cell] of cells.entries()) {
        if (typeof cell === 'number') figures.set(`${title}: ${name}, ${head[index + 1] ?? ''}`, cell);
      }
    }
  }
  return figures;
}
