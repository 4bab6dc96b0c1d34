import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Result } from './findings.js';

const resultFolder = fileURLToPath(new URL('results/', import.meta.url));

/** Returns the path of the new file. */
export async function writeResult(result: Result): Promise<string> {
  await mkdir(resultFolder, { recursive: true });
  const name = `${result.scenario}-${result.members}-${result.at.replaceAll(':', '-')}.json`;
  const file = join(resultFolder, name);
  await writeFile(file, `${JSON.stringify(result, null, 2)}\n`);
  return file;
}

/** The newest whole run of each scenario on each size of a replica set. */
export async function newestWholeRuns(): Promise<readonly Result[]> {
  const results = await resultsIn(resultFolder).catch(() => []);
  return newestOf(results.filter(({ isTrial }) => !isTrial));
}

function newestOf(results: readonly Result[]): readonly Result[] {
  const newest = new Map<string, Result>();
  for (const result of results) {
    const key = `${result.scenario} ${result.members}`;
    if (result.at > (newest.get(key)?.at ?? '')) newest.set(key, result);
  }
  return [...newest.values()].sort((a, b) => a.members - b.members);
}

/** The results in one file, or in all files of a folder. */
export async function resultsIn(path: string): Promise<readonly Result[]> {
  const isFolder = (await stat(path)).isDirectory();
  const files = isFolder ? (await readdir(path)).map((name) => join(path, name)) : [path];
  // JSON has no NaN: a figure that was not measured is null in the file.
  const revive = (_: string, value: unknown): unknown => value ?? NaN;
  const read = async (file: string): Promise<Result> =>
    JSON.parse(await readFile(file, 'utf8'), revive) as Result;
  return await Promise.all(files.filter((name) => name.endsWith('.json')).map(read));
}
