import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { ROOT } from '../../../lab/processes/program.js';

/** The page that has the table of planted bugs. */
export const PAGE: string = join(ROOT, 'docs/simulation.md');

/** The line before the table, and the line after it. */
const [BEGIN, END] = ['<!-- planted bugs -->', '<!-- end of planted bugs -->'];

/** One planted bug in the table. */
export interface Row {
  readonly name: string;
  readonly breaks: string;
  readonly foundBy: string;
  readonly seed: number;
}

function tableIn(page: string): { readonly before: string; readonly table: string; readonly after: string } {
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`${PAGE} must have ${BEGIN} and ${END}`);
  return {
    before: page.slice(0, from + BEGIN.length),
    table: page.slice(from + BEGIN.length, to),
    after: page.slice(to),
  };
}

export async function rowsOfPage(): Promise<readonly Row[]> {
  const { table } = tableIn(await readFile(PAGE, 'utf8'));
  return table.split('\n').flatMap((line) => {
    const [, name = '', breaks = '', foundBy = '', seed = ''] = line.split('|').map((cell) => cell.trim());
    const [, bare] = /^`([\w-]+)`$/.exec(name) ?? [];
    return bare === undefined ? [] : [{ name: bare, breaks, foundBy, seed: Number(seed) }];
  });
}

/** Puts this table in the place of the old one. */
export async function writeTable(lines: readonly string[]): Promise<void> {
  const { before, after } = tableIn(await readFile(PAGE, 'utf8'));
  await writeFile(PAGE, `${before}\n\n${lines.join('\n')}\n\n${after}`);
}
