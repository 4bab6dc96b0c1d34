import CliTable from 'cli-table3';
import pc from 'picocolors';
import { placeOf, verdictOn } from './findings.js';
import type { Cell, Result, Table } from './findings.js';

/** One row for each gate. */
export const gatesOf = (results: readonly Result[]): Table => ({
  title: 'Gates',
  head: ['gate', 'measured', 'bound', '', 'run'],
  rows: results.flatMap((result) =>
    result.gates.map((gate) => {
      const { name, measured, must, bound } = gate;
      return [name, shown(measured), `${must} ${shown(bound)}`, verdictOn(gate), placeOf(result)];
    }),
  ),
});

/** For a terminal. */
export function inColumns({ title, head, rows }: Table): string {
  const colAligns = head.map((_, column) => (column === 0 ? ('left' as const) : ('right' as const)));
  const table = new CliTable({ head: [...head], style: { head: [], border: [], compact: true }, colAligns });
  for (const row of rows) table.push(row.map((cell) => coloured(shown(cell))));
  return `${title}\n${table.toString()}`;
}

/** For a page; prettier aligns the columns later. */
export function inMarkdown({ head, rows }: Omit<Table, 'title'>): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`)).join(' | ')} |`;
  return [
    line(head),
    line(head.map((_, column) => (column === 0 ? '---' : '--:'))),
    ...rows.map((row) => line(row.map(shown))),
  ].join('\n');
}

/** About four digits: enough to see a change, and not more than the precision of a figure. */
export function shown(cell: Cell): string {
  if (typeof cell === 'string') return cell;
  if (!Number.isFinite(cell)) return '–';
  if (Number.isInteger(cell)) return cell.toLocaleString('en');
  const size = Math.abs(cell);
  if (size >= 1_000) return Math.round(cell).toLocaleString('en');
  return cell.toFixed(size >= 100 ? 1 : size >= 10 ? 2 : 3);
}

function coloured(text: string): string {
  if (text.startsWith('missed')) return pc.bold(pc.red(text));
  if (text.startsWith('pass,')) return pc.yellow(text);
  return text === 'pass' ? pc.green(text) : text;
}
