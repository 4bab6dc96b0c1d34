import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { placeOf } from './findings.js';
import type { Result } from './findings.js';
import { drawn } from './plot.js';
import { newestResults } from './result.js';
import { gatesOf, inMarkdown, shown } from './table.js';

const pageFile = fileURLToPath(new URL('../docs/performance.md', import.meta.url));
const pictureFolder = fileURLToPath(new URL('../docs/performance/', import.meta.url));

/** `<!-- figures of: contention -->` … `<!-- end of figures -->`. */
const BLOCK = /(<!-- figures of: ([\w-]+) -->)[\s\S]*?(<!-- end of figures -->)/g;

/**
 * Writes the newest figures of these scenarios between their marks in docs/performance.md, and the pictures beside it.
 * Returns the paths of the written files.
 */
export async function writePage(scenarios: readonly string[]): Promise<readonly string[]> {
  const newest = await newestResults();
  const results = scenarios.flatMap((name) => newest.filter(({ scenario }) => scenario === name));
  const page = filled(await readFile(pageFile, 'utf8'), results);
  const options = await resolveConfig(pageFile);
  await writeFile(pageFile, await format(page, { ...options, filepath: pageFile }));
  return [pageFile, ...(await drawAll(results))];
}

/** The page with these results between its marks, as Markdown whose columns are not aligned yet. */
export const filled = (page: string, results: readonly Result[]): string =>
  page.replaceAll(BLOCK, (_, begin: string, subject: string, end: string) =>
    [begin, ...figuresOf(subject, results), end].join('\n\n'),
  );

/** Deletes the old pictures first, so that no picture outlives its scenario. */
async function drawAll(results: readonly Result[]): Promise<readonly string[]> {
  await mkdir(pictureFolder, { recursive: true });
  for (const file of await readdir(pictureFolder)) {
    if (file.endsWith('.svg')) await rm(join(pictureFolder, file));
  }
  const pictures = results.flatMap((result) =>
    result.plots.map((plot, index) => ({ file: join(pictureFolder, pictureOf(result, index)), plot })),
  );
  for (const { file, plot } of pictures) await writeFile(file, drawn(plot));
  return pictures.map(({ file }) => file);
}

const pictureOf = ({ scenario, members }: Result, index: number): string =>
  `${scenario}-${members}-${index + 1}.svg`;

function figuresOf(subject: string, results: readonly Result[]): readonly string[] {
  if (subject === 'gates') return [inMarkdown(gatesOf(results))];
  if (subject === 'runs') return runs(results);
  const own = results.filter(({ scenario }) => scenario === subject);
  if (own.length === 0) return ['_Not measured yet._'];
  return own.flatMap(section);
}

function section(result: Result): readonly string[] {
  const { tables, plots, notes } = result;
  return [
    `**${placeOf(result)}** (${result.at.slice(0, 10)})`,
    ...tables.flatMap((table) => [`${table.title}:`, inMarkdown(table)]),
    ...Object.entries(notes).map(([name, value]) => `- ${name}: ${shown(value)}`),
    ...plots.map((plot, index) => `![${plot.title}](performance/${pictureOf(result, index)})`),
  ];
}

/** When and where the figures were measured. */
function runs(results: readonly Result[]): readonly string[] {
  const rows = results.map((result) => {
    const { at, server, node, driver, processors, loadOfLastMinute } = result;
    const version = /mongod \S+/.exec(server)?.[0] ?? server;
    return [
      placeOf(result),
      at.slice(0, 16).replace('T', ' '),
      version,
      node,
      driver,
      processors,
      loadOfLastMinute,
    ];
  });
  const head = ['run', 'begun (UTC)', 'server', 'Node.js', 'driver', 'processors', 'load of its last minute'];
  return [inMarkdown({ head, rows })];
}
