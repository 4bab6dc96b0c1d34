import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { placeOf } from './findings.js';
import type { Chart, Plot, Result, Table } from './findings.js';
import { rowsWithout, sectionsWith } from './earlier-figures.js';
import { pictureOf } from './picture.js';
import { newestWholeRuns } from './result.js';
import { gatesOf, inMarkdown, shown } from './table.js';

const PAGES = ['../docs/performance.md', 'gates.md'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

/** `<!-- figures of: handover -->` … `<!-- end of figures -->`. */
const BLOCK = /(<!-- figures of: ([\w-]+) -->)([\s\S]*?)(<!-- end of figures -->)/g;

/**
 * Writes the newest figures of these scenarios between their marks. What the pages say of other runs stays. Returns the
 * paths of the written pages.
 */
export async function writePages(scenarios: readonly string[]): Promise<readonly string[]> {
  const newest = await newestWholeRuns();
  const results = scenarios.flatMap((name) => newest.filter(({ scenario }) => scenario === name));
  for (const file of PAGES) {
    const page = filled(await readFile(file, 'utf8'), results);
    await writeFile(file, await format(page, { ...(await resolveConfig(file)), filepath: file }));
  }
  const pictures = results
    .flatMap(({ charts }) => charts)
    .map((chart) => ({ chart, path: picturePath(chart) }));
  for (const { chart, path } of pictures) await writeFile(path, pictureOf(chart));
  return [...PAGES, ...pictures.map(({ path }) => path)];
}

const picturePath = ({ file }: Chart): string => fileURLToPath(new URL(`../docs/${file}`, import.meta.url));

/** The page with these results between its marks, as Markdown whose columns are not aligned yet. */
export const filled = (page: string, results: readonly Result[]): string =>
  page.replaceAll(BLOCK, (_, begin: string, subject: string, old: string, end: string) =>
    [begin, ...figuresOf(subject, old, results), end].join('\n\n'),
  );

function figuresOf(subject: string, old: string, results: readonly Result[]): readonly string[] {
  if (subject === 'gates') return [renewed(old, gatesOf(results), results, (cells) => cells.at(-1))];
  if (subject === 'runs') return [renewed(old, runs(results), results, (cells) => cells[0])];
  const own = results.filter(({ scenario }) => scenario === subject);
  const sections = sectionsWith(old, new Map(own.map((result) => [placeOf(result), sectionOf(result)])));
  return sections.length === 0 ? ['_Not measured yet._'] : sections;
}

/** The table, after the rows of an older one about runs that were not repeated. */
function renewed(
  old: string,
  table: Omit<Table, 'title'>,
  results: readonly Result[],
  runOf: (cells: readonly string[]) => string | undefined,
): string {
  const kept = rowsWithout(old, new Set(results.map(placeOf)), runOf);
  return inMarkdown({ ...table, rows: [...kept, ...table.rows] });
}

const sectionOf = (result: Result): string =>
  [
    `**${placeOf(result)}** (${result.at.slice(0, 10)})`,
    ...result.tables.flatMap((table) => [`${table.title}:`, inMarkdown(table)]),
    Object.entries(result.notes)
      .map(([name, value]) => `- ${name}: ${shown(value)}`)
      .join('\n'),
    ...result.plots.map(drawn),
    ...result.charts.map(({ title, file }) => `![${title}](${file})`),
  ].join('\n\n');

/** The axis begins at 0, because a bar that begins elsewhere shows a wrong ratio. */
function drawn({ title, kind, x, y, series }: Plot): string {
  return [
    '```mermaid',
    'xychart-beta',
    `    title "${title}"`,
    `    x-axis "${x.label}" [${x.values.map((value) => `"${value}"`).join(', ')}]`,
    `    y-axis "${y}" 0 --> ${Math.ceil(Math.max(...series.flat()))}`,
    ...series.map((values) => `    ${kind} [${values.map((value) => value.toFixed(2)).join(', ')}]`),
    '```',
  ].join('\n');
}

/** When and where the figures were measured. */
const runs = (results: readonly Result[]): Omit<Table, 'title'> => ({
  head: ['run', 'begun (UTC)', 'server', 'Node.js', 'driver', 'processors', 'load of its last minute'],
  rows: results.map((result) => {
    const { at, server, node, driver, processors, loadOfLastMinute } = result;
    const version = /mongod \S+/.exec(server)?.[0] ?? server;
    const begun = at.slice(0, 16).replace('T', ' ');
    return [placeOf(result), begun, version, node, driver, processors, loadOfLastMinute];
  }),
});
