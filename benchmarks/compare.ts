import type { Cell, Result, Table } from './findings.js';
import { placeOf } from './findings.js';

/** One table for each scenario and size that both have: every figure of A, that of B, and B / A. */
export function comparisonOf(before: readonly Result[], after: readonly Result[]): readonly Table[] {
  return before.flatMap((a) => {
    const b = after.find(({ scenario, members }) => scenario === a.scenario && members === a.members);
    if (b === undefined) return [];
    const figuresOfB = figuresOf(b);
    const rows = [...figuresOf(a)].flatMap(([name, valueA]): readonly (readonly Cell[])[] => {
      const valueB = figuresOfB.get(name);
      return valueB === undefined ? [] : [[name, valueA, valueB, valueA === valueB ? 1 : valueB / valueA]];
    });
    const title = `${placeOf(a)}: A of ${a.at.slice(0, 16)}, B of ${b.at.slice(0, 16)}`;
    return [{ title, head: ['', 'A', 'B', 'B / A'], rows }];
  });
}

/** The gates come first: they are ratios to a floor, so they can be compared between machines and busy hours. */
function figuresOf({ gates, tables }: Result): ReadonlyMap<string, number> {
  const figures = new Map(gates.map(({ name, measured }) => [`gate: ${name}`, measured]));
  for (const { title, head, rows } of tables) {
    for (const [name = '', ...cells] of rows) {
      for (const [index, cell] of cells.entries()) {
        if (typeof cell === 'number') figures.set(`${title}: ${name}, ${head[index + 1] ?? ''}`, cell);
      }
    }
  }
  return figures;
}
