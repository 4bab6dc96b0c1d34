import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Findings, Result } from './findings.js';

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

const resultFolder = fileURLToPath(new URL('results/', import.meta.url));

/** Returns the path of the new file. */
export async function writeResult(result: Result): Promise<string> {
  await mkdir(resultFolder, { recursive: true });
  const name = `${result.scenario}-${result.members}-${result.at.replaceAll(':', '-')}.json`;
  const file = join(resultFolder, name);
  await writeFile(file, `${JSON.stringify(result, null, 2)}\n`);
  return file;
}

/** The results in one file, or in all files of a folder. */
export async function readResults(path: string): Promise<readonly Result[]> {
  const isFolder = (await stat(path)).isDirectory();
  const files = isFolder ? (await readdir(path)).map((name) => join(path, name)) : [path];
  // JSON has no NaN: a figure that was not measured is null in the file.
  const revive = (_: string, value: unknown): unknown => value ?? NaN;
  const read = async (file: string): Promise<Result> =>
    JSON.parse(await readFile(file, 'utf8'), revive) as Result;
  return await Promise.all(files.filter((name) => name.endsWith('.json')).map(read));
}

/** The newest of these results for each scenario and each size of a replica set. */
export function newestOf(results: readonly Result[]): readonly Result[] {
  const newest = new Map<string, Result>();
  for (const result of results) {
    const key = `${result.scenario} ${result.members}`;
    if (result.at > (newest.get(key)?.at ?? '')) newest.set(key, result);
  }
  return [...newest.values()].sort((a, b) => a.members - b.members);
}

/** The newest whole run of each scenario on each size of a replica set. */
export async function newestResults(): Promise<readonly Result[]> {
  const results = await readResults(resultFolder).catch(() => []);
  // Files of an older benchmark do not have this field.
  return newestOf(results.filter(({ isTrial }: Partial<Result>) => isTrial === false));
}
