import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Findings } from './report.js';
import type { Members } from './scenario.js';

/** The findings of one run of one scenario, with what is needed to compare them with others. */
export interface Result extends Findings {
  readonly scenario: string;
  readonly members: Members;
  /** When it began. */
  readonly at: string;
  readonly tookMs: number;
  readonly settings: Readonly<Record<string, number>>;
  /** A part of it only, or settings from the command line: not for the pages. */
  readonly isTrial: boolean;
  readonly node: string;
  readonly driver: string;
  readonly processors: number;
  readonly loadOfLastMinute: number;
}

type Run = Pick<Result, 'scenario' | 'members' | 'settings' | 'isTrial'>;

export function resultOf(run: Run, startedAt: Date, findings: Findings): Result {
  const driver = createRequire(import.meta.url)('mongodb/package.json') as { readonly version: string };
  const [loadOfLastMinute = NaN] = loadavg();
  return {
    ...run,
    at: startedAt.toISOString(),
    tookMs: Date.now() - startedAt.getTime(),
    node: process.version,
    driver: driver.version,
    processors: availableParallelism(),
    loadOfLastMinute,
    ...findings,
  };
}

/** In which run something was measured, in words for people. */
export const placeOf = ({ scenario, members }: Result): string =>
  `${scenario}, ${members === 1 ? 'one member' : 'three members'}`;

const folder = fileURLToPath(new URL('results/', import.meta.url));

/** Returns the file. */
export async function writeResult(result: Result): Promise<string> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, `${result.scenario}-${result.members}-${result.at.replaceAll(':', '-')}.json`);
  await writeFile(file, `${JSON.stringify(result, null, 2)}\n`);
  return file;
}

/** The newest whole run of each scenario on each size. */
export async function newestResults(): Promise<readonly Result[]> {
  const files = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.json'));
  const results = await Promise.all(
    files.map(async (name) => JSON.parse(await readFile(join(folder, name), 'utf8')) as Result),
  );
  const newest = new Map<string, Result>();
  for (const result of results) {
    // What an older benchmark has left has no such field.
    if ((result as Partial<Result>).isTrial !== false) continue;
    const key = `${result.scenario} ${result.members}`;
    if (result.at > (newest.get(key)?.at ?? '')) newest.set(key, result);
  }
  return [...newest.values()].sort((a, b) => a.members - b.members);
}
