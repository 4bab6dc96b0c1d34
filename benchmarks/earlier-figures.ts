// What a page already says of runs that were not repeated, so that one scenario can be renewed without the others.

/** `**handover, one member** (2026-11-22)` */
const HEADING = /^\*\*([^*\n]+)\*\* \(\d{4}-\d{2}-\d{2}\)$/m;

/** The sections of a block by their run, with the new ones in place of the old. New runs come last. */
export function sectionsWith(block: string, renewed: ReadonlyMap<string, string>): readonly string[] {
  const sections = new Map<string, string>();
  const parts = block.split(new RegExp(`(?=${HEADING.source})`, 'm'));
  for (const part of parts) {
    const run = HEADING.exec(part)?.[1];
    if (run !== undefined) sections.set(run, part.trim());
  }
  for (const [run, section] of renewed) sections.set(run, section);
  return [...sections.values()];
}

/** The rows of the table in a block, as cells, without those of these runs. */
export const rowsWithout = (
  block: string,
  runs: ReadonlySet<string>,
  runOf: (cells: readonly string[]) => string | undefined,
): readonly (readonly string[])[] =>
  block
    .split('\n')
    .filter((line) => line.startsWith('|'))
    // The head, and the line below it.
    .slice(2)
    .map((line) =>
      line
        .replace(/^\|/, '')
        .replace(/\|$/, '')
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim().replaceAll(String.raw`\|`, '|')),
    )
    .filter((cells) => !runs.has(runOf(cells) ?? ''));
